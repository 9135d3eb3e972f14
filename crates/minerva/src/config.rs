//! How a flow's weight is found: what a provider may set.

use serde::{Deserialize, Serialize};

use crate::utility::Blend;

/// Alpha per plain connection of the baseline for content without a calibrated value: that of the
/// embedded corpus, at which viewers under Minerva take the share of as many viewers of the same
/// videos under the baseline (`docs/design/minerva.md`, Alpha).
pub const ALPHA_PER_CONNECTION: f64 = 1.065;

/// Utility that the weight follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UtilityKind {
    /// Section 5.3: past, current and expected QoE; belongs to an f of
    /// [`Form::FixedRate`](crate::Form::FixedRate).
    #[default]
    ClientAware,
    /// Equation 2: quality at the rate; belongs to an f of
    /// [`Form::Equation2`](crate::Form::Equation2).
    Basic,
}

/// Quantity that is to be equal among flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fairness {
    /// Utility: the worst viewer is as well off as can be.
    #[default]
    MaxMin,
    /// Relative gain of more rate: the sum of the logarithms of QoE is the largest (appendix D).
    /// Belongs to an f of [`Form::Proportional`](crate::Form::Proportional); with one of another
    /// form the weight is that of [`Fairness::MaxMin`].
    Proportional,
}

/// Configuration of a flow's weight.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Config {
    /// Plain RFC 9438 connections that one flow of the baseline counts as, n_e: 2 for the paper's
    /// QUIC Cubic. The weight before the first update, and what `mu` is relative to.
    pub baseline_connections: f64,
    /// Utility that the weight follows.
    pub utility: UtilityKind,
    /// Quantity that is to be equal.
    pub fairness: Fairness,
    /// Weights of the parts of the client-aware utility.
    pub blend: Blend,
    /// Keep the weight within `n_e / mu` and `n_e * mu` (section 5.5); none by default.
    pub mu: Option<f64>,
    /// The interval T between updates, in round trips, at least 1: 25 (section 6.2). A transport
    /// that reaches its new rate sooner can do with less (section 5.6).
    pub interval_round_trips: u32,
    /// Take the rate at its conservative form; off only to show what it is for.
    pub conservative: bool,
    /// Smooth rates and weights over updates; off only to show what it is for.
    pub smoothed: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            baseline_connections: 2.0,
            utility: UtilityKind::ClientAware,
            fairness: Fairness::default(),
            blend: Blend::default(),
            mu: None,
            interval_round_trips: 25,
            conservative: true,
            smoothed: true,
        }
    }
}
