//! Schemes: how the servers send.

use airlane_base::Rate;

use super::Queue;
use crate::workload::SchemeParts;

/// One of the things compared: how the servers send.
#[derive(Clone, Debug)]
pub struct Scheme {
    /// Name, of rows and files.
    pub name: String,
    /// Name, for people.
    pub title: String,
    /// One sentence for people who do not know it.
    pub note: String,
    /// The congestion controller and its weight.
    pub control: Control,
    /// A queue that is another one under this scheme.
    pub queue: Option<SchemeQueue>,
    /// What it says of workloads.
    pub parts: SchemeParts,
}

/// The queue in front of the way down of an access, under one scheme.
#[derive(Clone, Debug, PartialEq)]
pub struct SchemeQueue {
    /// The number of the access.
    pub access: usize,
    /// The queue.
    pub queue: Queue,
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
