//! Cupid: the rate that is fair in airtime.

use airlane_base::Rate;
use airlane_cupid::{Air, RateRule, RuleKind, RuleOptions};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Rate rule of one station.
#[pyclass(module = "airlane._airlane")]
pub(crate) struct CupidRule(RateRule);

#[pymethods]
impl CupidRule {
    #[new]
    fn new(eta: f64, hysteresis: f64, as_published: bool) -> PyResult<Self> {
        if !((0.0..=1.0).contains(&eta) && (0.0..=1.0).contains(&hysteresis)) {
            return Err(PyValueError::new_err("eta, hysteresis: expected shares from 0 to 1"));
        }
        let kind = if as_published { RuleKind::Paper } else { RuleKind::Default };
        Ok(Self(RateRule::new(RuleOptions { kind, eta, hysteresis })))
    }

    /// The rate for the next report, bits/s.
    #[pyo3(signature = (utilisation, stations, delta_bps, goodput_bps, left, reserved))]
    fn update(
        &mut self,
        utilisation: f64,
        stations: u32,
        delta_bps: f64,
        goodput_bps: f64,
        left: Option<f64>,
        reserved: f64,
    ) -> PyResult<f64> {
        let sound = |x: f64| x.is_finite() && x >= 0.0;
        if ![utilisation, delta_bps, goodput_bps, left.unwrap_or(0.0), reserved]
            .into_iter()
            .all(sound)
        {
            return Err(PyValueError::new_err("expected finite numbers, none of them negative"));
        }
        let (delta, goodput) = (Rate::from_bps_f64(delta_bps), Rate::from_bps_f64(goodput_bps));
        let air = Air { utilisation, stations, delta, goodput, left, reserved, own: None };
        Ok(self.0.update(&air).as_f64())
    }

    /// The last rate, bits/s; none before the first update.
    fn rate_bps(&self) -> Option<f64> {
        self.0.rate().map(Rate::as_f64)
    }

    fn restart(&mut self) {
        self.0.restart();
    }
}
