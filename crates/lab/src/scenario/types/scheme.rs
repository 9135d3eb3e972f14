//! Schemes: how the servers send.

use std::path::PathBuf;

use airlane_base::Rate;

use super::Queue;

/// One of the things compared: how the servers send.
#[derive(Clone, Debug, PartialEq)]
pub struct Scheme {
    /// Name, of rows and files.
    pub name: String,
    /// Name, for people.
    pub title: String,
    /// One sentence for people who do not know it.
    pub note: String,
    /// The congestion controller and its weight.
    pub control: Control,
    /// The queue under this scheme, if it is not the link's.
    pub queue: Option<Queue>,
    /// Minerva sets the weights while the viewers watch.
    pub minerva: Option<Minerva>,
}

/// A congestion controller and its setting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Control {
    /// NewReno (RFC 9002).
    Reno,
    /// Cubic (RFC 9438).
    Cubic {
        /// How many plain connections it counts for.
        weight: f64,
        /// How the weight acts.
        rule: WeightRule,
    },
    /// FAST.
    Fast {
        /// How many plain connections it counts for.
        weight: f64,
    },
    /// BBR, the first version.
    Bbr,
    /// Sends at a given rate.
    Explicit(Rate),
}

impl Control {
    /// How many plain connections it counts for.
    pub fn weight(&self) -> f64 {
        match self {
            Self::Cubic { weight, .. } | Self::Fast { weight } => *weight,
            _ => 1.0,
        }
    }
}

/// How a weight acts on Cubic's growth and cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WeightRule {
    /// By how synchronised the losses are; holds under droptail and PIE.
    Synchronised,
    /// As if losses were independent.
    Textbook,
}

/// Minerva's parameters; what is `None` has the default of the algorithm.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Minerva {
    /// Factor on every weight.
    pub alpha: Option<f64>,
    /// Weights stay within n_e/mu and n_e*mu.
    pub mu: Option<f64>,
    /// What is made equal.
    pub utility: Option<Utility>,
    /// What the normalisation averages.
    pub normalisation: Option<Normalisation>,
    /// How popular each title is, which the normalisation averages with: a file, as the scenario
    /// names it. `None`: all the same.
    pub popularity: Option<PathBuf>,
    /// A normalisation that was computed before: a file, as the scenario names it.
    pub normalisation_file: Option<PathBuf>,
    /// What is to be equal among viewers.
    pub fairness: Option<Fairness>,
    /// How the value function is had.
    pub value: Option<Value>,
    /// Weight of the past in the utility, beside 1 for the current chunk.
    pub past: Option<f64>,
    /// Weight of the value function.
    pub future: Option<f64>,
    /// Chunks that the value function looks ahead.
    pub horizon: Option<usize>,
    /// Round trips between updates.
    pub interval_rtts: Option<u32>,
    /// Whether rates are taken at their conservative form.
    pub conservative: Option<bool>,
    /// Whether rates and weights are smoothed.
    pub smoothed: Option<bool>,
}

/// What Minerva makes equal among viewers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Utility {
    /// Past QoE, the current chunk and the value function over the player's own ABR.
    ClientAware,
    /// Equation 2: the quality at the current rate.
    Basic,
}

/// What the normalisation averages over the corpus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Normalisation {
    /// The QoE of the player at a constant rate.
    FixedRate,
    /// The mean quality curve.
    MeanCurve,
    /// The QoE of the player at a constant rate, as the exponential of appendix C that fits it.
    Fitted,
    /// Nothing: weights go with rate over utility.
    None,
}

/// What is to be equal among viewers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fairness {
    /// Utility.
    MaxMin,
    /// What more rate brings, over what is there: the sum of the logarithms is the largest.
    Proportional,
}

/// How the value function is had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// The player's algorithm is simulated with every update.
    OnDemand,
    /// It was simulated beforehand, on a grid.
    Table,
    /// That grid, as the exponentials of appendix C that fit it.
    Fitted,
    /// What the best algorithm could reach (appendix C).
    Optimal,
    /// The player sends it with its requests.
    Sent,
}
