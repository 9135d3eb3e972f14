//! Samples of every link at equal distances in time.

use std::time::Duration;

use airlane_base::Time;

use super::NodeId;
use crate::meter::LinkStats;
use crate::node::{Counters, Port};

/// A link at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkSample {
    /// The link.
    pub node: NodeId,
    /// The port of it that this is about.
    pub port: Port,
    /// Packets inside, the one in service included.
    pub packets: u64,
    /// IP bytes inside, the packet in service included.
    pub bytes: u64,
    /// IP bytes that left since the start.
    pub carried_bytes: u64,
    /// IP bytes that it could have carried since the start.
    pub capacity_bytes: f64,
    /// Packets dropped since the start, whatever the reason.
    pub dropped: u64,
}

impl LinkSample {
    pub(super) fn new(node: NodeId, port: Port, stats: &LinkStats, counters: Counters) -> Self {
        Self {
            node,
            port,
            packets: counters.held.0,
            bytes: counters.held.1,
            carried_bytes: stats.carried_bytes,
            capacity_bytes: stats.capacity_bytes,
            dropped: counters.dropped_total().0,
        }
    }
}

/// Samples of every link, the first at time zero.
#[derive(Clone, Debug)]
pub struct Series {
    interval: Duration,
    next: Time,
    /// The time of each row.
    pub times: Vec<Time>,
    /// Per time, one sample of each port of each link, in the order of the nodes.
    pub rows: Vec<Vec<LinkSample>>,
}

impl Series {
    pub(super) fn new(interval: Duration) -> Self {
        let interval = interval.max(Duration::from_micros(1));
        Self { interval, next: Time::ZERO, times: Vec::new(), rows: Vec::new() }
    }

    #[inline]
    pub(super) fn next(&self) -> Time {
        self.next
    }

    pub(super) fn add(&mut self, samples: impl Iterator<Item = LinkSample>) {
        self.times.push(self.next);
        self.rows.push(samples.collect());
        self.next += self.interval;
    }
}
