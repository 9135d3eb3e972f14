//! Plum: the bitrates of a call.

use airlane_plum::{ContentBound, Optimality, OptimiserConfig, Problem, solver_for};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Options of the optimiser; rates are in bits/s.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct PlumOptions {
    max_rate_bps: f64,
    rho: f64,
    qoe: String,
    relaxed: bool,
    server_bps: Option<f64>,
}

/// Rates and scores of a solution: downlinks and uplinks in bits/s, utility, mean QoE, fairness and optimality.
type Solved = (Vec<f64>, Vec<f64>, (f64, f64, f64), &'static str);

/// Downlink and uplink of each client of a call, for channels of these capacities, bits/s.
#[pyfunction]
pub(crate) fn plum_solve(capacities_bps: Vec<f64>, options: PlumOptions) -> PyResult<Solved> {
    let refused = |e: String| PyValueError::new_err(e);
    let config = OptimiserConfig {
        max_rate: options.max_rate_bps / 1e3,
        rho: options.rho,
        qoe: options.qoe.parse().map_err(|e: airlane_plum::UnknownQoe| refused(e.to_string()))?,
        content: if options.relaxed { ContentBound::Relaxed } else { ContentBound::Written },
        server: options.server_bps.map(|bps| bps / 1e3),
        ..OptimiserConfig::default()
    };
    let capacities: Vec<f64> = capacities_bps.iter().map(|bps| bps / 1e3).collect();
    let problem = Problem::new(&capacities, &config).map_err(|e| refused(e.to_string()))?;
    let solved = solver_for(&problem).solve(&problem, None).map_err(|e| refused(e.to_string()))?;
    let bps = |rates: Vec<f64>| rates.into_iter().map(|kbps| kbps * 1e3).collect();
    let optimality = match solved.optimality {
        Optimality::Certified { .. } => "certified",
        Optimality::Global => "global",
        Optimality::Local => "local",
    };
    let score = solved.score;
    Ok((
        bps(solved.down),
        bps(solved.up),
        (score.utility, score.performance, score.fairness),
        optimality,
    ))
}

/// Downlink and uplink, bits/s, of each client where the smallest channel gives `up_share` of its capacity to its
/// uplink; infinite for all others.
#[pyfunction]
pub(crate) fn plum_fixed_share(
    capacities_bps: Vec<f64>,
    up_share: f64,
) -> PyResult<Vec<(f64, f64)>> {
    let is_rate = |bps: &f64| bps.is_finite() && *bps >= 0.0;
    if capacities_bps.is_empty() || !capacities_bps.iter().all(is_rate) {
        return Err(PyValueError::new_err("capacities: expected one or more rates, not negative"));
    }
    if !(0.0..=1.0).contains(&up_share) {
        return Err(PyValueError::new_err(format!("up_share: found {up_share}; expected 0 to 1")));
    }
    let rates = airlane_plum::fixed_share(&capacities_bps, up_share);
    Ok(rates.into_iter().map(|(up, down)| (down, up)).collect())
}
