//! Schemes: how the servers send.

use serde::Serialize;
use std::time::Duration;

pub use airlane_congestion::{
    Algorithm, BbrConfig, ControllerConfig, CubicConfig, Fallback, WeightRule,
};
pub use airlane_cupid::{Charging, RuleKind};

use super::Queue;
use crate::participants::SchemeParts;

/// One of the things compared: how the servers send.
#[derive(Clone, Debug, Serialize)]
pub struct Scheme {
    /// Name, of rows and files.
    pub name: String,
    /// Name, for people.
    pub title: String,
    /// One sentence for people who do not know it.
    pub note: String,
    /// The congestion controller and its weight.
    pub control: ControllerConfig,
    /// A queue that is another one under this scheme.
    pub queue: Option<SchemeQueue>,
    /// Settings of the agents of Cupid on hosts on a WiFi.
    pub cupid: Cupid,
    /// Settings by workload.
    pub parts: SchemeParts,
}

/// The queue in front of the way down of an access, under one scheme.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SchemeQueue {
    /// The number of the access.
    pub access: usize,
    /// The queue.
    pub queue: Queue,
}

/// Settings of Cupid's agents, which report to senders under the controller `cupid`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Cupid {
    /// The rule's form.
    pub rule: RuleKind,
    /// Charge of airtime.
    pub charging: Charging,
    /// The utilisation that is aimed at.
    pub eta: f64,
    /// Time for which a station counts as active after its last frame above 200 bytes.
    pub memory: Duration,
    /// Time between reports.
    pub interval: Duration,
}

impl Default for Cupid {
    fn default() -> Self {
        Self {
            rule: RuleKind::default(),
            charging: Charging::default(),
            eta: 0.8,
            memory: Duration::from_secs(1),
            interval: Duration::from_millis(40),
        }
    }
}
