//! Sources of utilisation where there is no monitor.
//!
//! Each gives a [`Reading`], which the same rate rule takes. None of them charges for contention as the
//! estimator does, so a saturated channel reads less than 1. Whoever goes by one of
//! them aims lower than at 0.8, or brings it up with [`Reading::with_contention`].

mod access_point;
mod bss_load;
mod survey;

pub use access_point::{StationAirtime, of_access_point};
pub use bss_load::{BssLoad, BssLoadError};
pub use survey::{MAX_SURVEYS, Survey, SurveyError};

use std::time::Duration;

/// Reading of a source. What it cannot tell is `None`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    /// The share of time in which the air was taken, without contention.
    pub without_contention: Option<f64>,
    /// Stations. Of a BSS Load those that are associated, which is more than are active.
    pub stations: Option<u32>,
    /// Shares of stations, where they are known apart.
    pub shares: Vec<f64>,
}

impl Reading {
    /// Utilisation with what contention costs, where exchanges keep the air for `exchange` on average and
    /// contending for it costs `contention`: 0 to 1.
    pub fn with_contention(&self, exchange: Duration, contention: Duration) -> Option<f64> {
        let exchange = exchange.as_secs_f64().max(1e-6);
        let charged = self.without_contention? * (exchange + contention.as_secs_f64()) / exchange;
        Some(charged.clamp(0.0, 1.0))
    }
}
