//! From a utility to a weight, by what the provider wants to be equal.

use std::sync::Arc;

use airlane_abr::TitleModel;

use crate::config::{Config, Fairness};
use crate::curve::sustaining_rate_bps;
use crate::normalise::Normalisation;
use crate::proportional::LogSlope;

/// f, and what it is taken of.
#[derive(Clone, Debug)]
pub(crate) struct Objective {
    f: Arc<Normalisation>,
    /// The rate that holds the top rung, bits per second.
    top_bps: f64,
    /// C and P'/q of appendix D, where Z is what f is taken of.
    slope: Option<(f64, LogSlope)>,
}

impl Objective {
    pub(crate) fn new(setting: &TitleModel, f: Arc<Normalisation>, config: &Config) -> Self {
        let slope = match config.fairness {
            Fairness::MaxMin => None,
            Fairness::Proportional => f.constant().zip(LogSlope::of(setting).ok()),
        };
        Self { f, top_bps: sustaining_rate_bps(setting, setting.rungs() - 1), slope }
    }

    /// f(U), or f(Z), at a rate where the utility is `total`.
    ///
    /// U grows in proportion beyond the top rung's rate. Z there is that of the top rung's rate, and
    /// f of it grows in proportion instead.
    pub(crate) fn normalised_bps(&self, rate_bps: f64, total: f64) -> f64 {
        let Some((constant, slope)) = &self.slope else { return self.f.eval(total) };
        let over = (rate_bps / self.top_bps).max(1.0);
        self.f.eval(constant - slope.at(total / over)) * over
    }

    /// The rate over that. Beyond the top rung's rate it is the least quotient from there to the
    /// rate, so that no weight grows with a rate that buys nothing: U goes on in proportion to the
    /// rate, but f in proportion to U only beyond its table.
    pub(crate) fn weight(&self, rate_bps: f64, total: f64) -> f64 {
        let weight = rate_bps / self.normalised_bps(rate_bps, total);
        if rate_bps <= self.top_bps {
            return weight;
        }
        let at_top = total * self.top_bps / rate_bps;
        let quotient = |rate: f64| rate / self.normalised_bps(rate, at_top * rate / self.top_bps);
        // Between two points of its table f is a line, and the quotient rises or falls.
        let between = self.f.points().map(|(u, _)| u).filter(|u| at_top < *u && *u < total);
        let rates = between.map(|u| self.top_bps * u / at_top);
        let least = rates.map(quotient).fold(quotient(self.top_bps), f64::min);
        weight.min(least)
    }
}
