//! Settings of the optimiser that do not change with the capacities.

use serde::{Deserialize, Serialize};

use super::qoe::Qoe;

/// Content source bound of section III-C.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ContentBound {
    /// As written: `d_i <= sum over j != i of u_j`, with `u_j <= min(B_j - d_j, M/V)`.
    #[default]
    Written,
    /// Equation 3, which leaves the maximum rate of an uplink out: `sum d_i <= sum B_i - max B_i`.
    Relaxed,
}

/// V, the number of views that share a client's downlink: an uplink carries M/V at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Views {
    /// n - 1, and 1 for a single participant.
    #[default]
    Others,
    /// n, as in the authors' code.
    Participants,
    /// A fixed number.
    Fixed(f64),
}

impl Views {
    /// V for so many participants.
    pub(super) fn number(self, participants: usize) -> f64 {
        match self {
            Self::Others => participants.saturating_sub(1).max(1) as f64,
            Self::Participants => participants as f64,
            Self::Fixed(views) => views,
        }
    }
}

/// Rates that every target of a valid solution exceeds, kbit/s. They are no constraints of the
/// problem: a solution below them is discarded.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Floors {
    /// Floor of a downlink, kbit/s.
    pub min_down: f64,
    /// Floor of an uplink, kbit/s.
    pub min_up: f64,
}

impl Floors {
    /// Floors of the authors' code.
    pub const AUTHORS: Self = Self { min_down: 2000.0, min_up: 1000.0 };
}

/// Settings of the optimiser. Rates are in kbit/s.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OptimiserConfig {
    /// M, the maximum rate of a client's whole downlink.
    pub max_rate: f64,
    /// V.
    pub views: Views,
    /// Weight of fairness, 0 to 1.
    pub rho: f64,
    /// QoE function of every client.
    pub qoe: Qoe,
    /// Content source bound.
    pub content: ContentBound,
    /// Limit of the sum of all downlinks, if the server has one.
    pub server: Option<f64>,
    /// Floors of a valid solution.
    pub floors: Option<Floors>,
}

impl Default for OptimiserConfig {
    /// The authors' M of 30 Mbit/s and rho of 0.5, linear QoE, V = n - 1, no floors.
    fn default() -> Self {
        Self {
            max_rate: 30_000.0,
            views: Views::Others,
            rho: 0.5,
            qoe: Qoe::Linear,
            content: ContentBound::Written,
            server: None,
            floors: None,
        }
    }
}
