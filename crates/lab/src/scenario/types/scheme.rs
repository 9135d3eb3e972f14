//! Schemes: how the servers send.

pub use airlane_congestion::{Algorithm, ControllerConfig, CubicConfig, WeightRule};

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
    pub control: ControllerConfig,
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
