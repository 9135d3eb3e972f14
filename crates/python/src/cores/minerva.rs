//! Minerva: what a rate is worth to a viewer, and the weight that follows.

use std::sync::Arc;
use std::time::Duration;

use airlane_abr::{AbrKind, PlayerConfig, TitleModel};
use airlane_media::{Metric, Perceptual, table};
use airlane_minerva::{Form, Normalisation, RateCurve, fixed_rate_optimum, utility};
use airlane_quality::QoeParams;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors;

/// Options of a title: its player and what its QoE counts.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct TitleOptions {
    metric: String,
    abr: String,
    buffer_s: f64,
    overhead_s: f64,
    beta: f64,
    gamma: f64,
    session_s: f64,
}

/// Title as a player of it knows it.
#[pyclass(frozen, module = "airlane._airlane")]
pub(crate) struct Title {
    model: TitleModel,
    curve: RateCurve,
}

fn seconds(key: &str, value: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(value)
        .map_err(|_| PyValueError::new_err(format!("{key}: found {value}; expected seconds")))
}

#[pymethods]
impl Title {
    /// The title of a table of segments (`docs/reference/chunk-tables.md`), as JSON.
    #[new]
    fn new(py: Python<'_>, json: &str, options: TitleOptions) -> PyResult<Self> {
        let refused = |e| errors::of_input(py, &e);
        let video = Arc::new(table::parse(json.as_bytes()).map_err(refused)?.video);
        let metric = Metric::ALL.into_iter().find(|metric| metric.name() == options.metric);
        let unknown = || PyValueError::new_err(format!("no metric \"{}\"", options.metric));
        let view = Perceptual::new(video, metric.ok_or_else(unknown)?).map_err(refused)?;
        let qoe = QoeParams { beta: options.beta, gamma: options.gamma, ..QoeParams::default() };
        let player = PlayerConfig {
            buffer_cap: seconds("buffer_s", options.buffer_s)?,
            chunk_overhead: seconds("overhead_s", options.overhead_s)?,
        };
        let abr: AbrKind = options.abr.parse().map_err(refused)?;
        let session = seconds("session_s", options.session_s)?;
        let model = TitleModel::new(view, qoe, player).map_err(refused)?;
        let curve = py.detach(|| RateCurve::simulate(&model, &abr, session));
        Ok(Self { model, curve })
    }

    /// QoE of a session at each of these constant rates, bits/s.
    fn qoe(&self, rates_bps: Vec<f64>) -> Vec<f64> {
        rates_bps.into_iter().map(|bps| self.curve.qoe().eval(bps)).collect()
    }

    /// Utility of equation 2 at each of these rates, bits/s.
    fn utility(&self, rates_bps: Vec<f64>) -> Vec<f64> {
        rates_bps.into_iter().map(|bps| utility::basic(&self.model, bps)).collect()
    }

    /// Mean rate of each rung, bits/s.
    fn mean_rate_bps(&self) -> Vec<f64> {
        self.model.mean_rate_bps().to_vec()
    }
}

/// Rates, bits/s, at which the worst of these viewers has the best QoE, and that QoE.
#[pyfunction]
pub(crate) fn minerva_optimum(
    titles: Vec<Py<Title>>,
    capacity_bps: f64,
) -> PyResult<(Vec<f64>, f64)> {
    if titles.is_empty() || !(capacity_bps.is_finite() && capacity_bps > 0.0) {
        let expected = "expected one or more titles, and a capacity above 0";
        return Err(PyValueError::new_err(expected));
    }
    let curves: Vec<&RateCurve> = titles.iter().map(|title| &title.get().curve).collect();
    let best = fixed_rate_optimum(&curves, capacity_bps);
    Ok((best.rates_bps, best.worst_qoe))
}

/// The function f that makes weights comparable (section 5.4), over titles that are equally popular.
#[pyclass(frozen, module = "airlane._airlane")]
pub(crate) struct Normaliser(Normalisation);

#[pymethods]
impl Normaliser {
    #[new]
    fn new(titles: Vec<Py<Title>>, alpha: f64) -> PyResult<Self> {
        let curves = titles.iter().map(|title| title.get().curve.qoe());
        let f = Normalisation::uniform(Form::FixedRate, alpha, curves);
        f.map(Self).map_err(|e| PyValueError::new_err(e.to_string()))
    }

    /// f of each of these utilities, bits/s.
    fn eval(&self, utilities: Vec<f64>) -> Vec<f64> {
        utilities.into_iter().map(|u| self.0.eval(u)).collect()
    }
}
