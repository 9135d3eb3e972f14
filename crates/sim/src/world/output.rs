//! What came out of a run.

use std::time::Duration;

use airlane_base::Time;
use airlane_net::network::{LinkSample, Series};
use airlane_net::{Carrier, Counters, Direction, LinkReport};

use super::air::AirOutput;
use crate::plan::RunKey;
use crate::workload::Parts;

/// Output of a run.
#[derive(Debug)]
pub struct RunOutput {
    /// Key of the run.
    pub key: RunKey,
    /// End of the run.
    pub ended: Time,
    /// Output of each workload.
    pub parts: Parts,
    /// Every direction of every access, in the order of the scenario, down before up; empty if
    /// it was not measured.
    pub ways: Vec<DirectionOutput>,
    /// Use of the air of each WiFi.
    pub airs: Vec<AirOutput>,
    /// Hash over what happened to every packet; `None` of what was measured elsewhere than in the
    /// laboratory.
    pub packet_hash: Option<u64>,
    /// Packets that hosts sent.
    pub packets: u64,
}

impl RunOutput {
    /// The way down of the only access. `None` if there are several, if it is air or half-duplex, or if
    /// it was not measured.
    pub fn bottleneck(&self) -> Option<&DirectionOutput> {
        let mut down = self.ways.iter().filter(|way| way.direction == Direction::Down);
        let only = down.next().filter(|_| down.next().is_none());
        only.filter(|way| way.air.is_none() && !way.is_half_duplex)
    }
}

/// One direction of an access.
#[derive(Clone, Debug)]
pub struct DirectionOutput {
    /// The access.
    pub access: String,
    /// The direction.
    pub direction: Direction,
    /// True if its capacity is that of both directions of its access, whose use adds up.
    pub is_half_duplex: bool,
    /// Report of the link, from [`Options::settle`](super::Options) to the end.
    pub report: LinkReport,
    /// Counts of the packets that went through it.
    pub counters: Counters,
    /// It over time.
    pub rows: Vec<LinkSampleRow>,
    /// The air that it took, if it crosses that of a WiFi.
    pub air: Option<DirectionAirtime>,
}

impl DirectionOutput {
    /// The share of the time that its packets are charged with the air for, from
    /// [`Options::settle`](super::Options) to the end. `None` of what crosses no air.
    pub fn air_share(&self) -> Option<f64> {
        let span = self.report.span.as_secs_f64();
        self.air.as_ref().filter(|_| span > 0.0).map(|air| air.charged.as_secs_f64() / span)
    }
}

/// The air that the packets of one direction of a station are charged with: their attempts, and what
/// contending for these costs.
#[derive(Clone, Debug, PartialEq)]
pub struct DirectionAirtime {
    /// The air, from [`Options::settle`](super::Options) to the end.
    pub charged: Duration,
    /// The air since the start, over time.
    pub rows: Vec<(Time, Duration)>,
}

/// A connection at one moment; counts since it began, in bytes of UDP payload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowSample {
    /// Time of the sample.
    pub at: Time,
    /// Bytes acknowledged.
    pub acked_bytes: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Bytes declared lost.
    pub lost_bytes: u64,
    /// The congestion window in bytes.
    pub window_bytes: u64,
    /// Smoothed round-trip time in seconds, once there is one.
    pub rtt_s: Option<f64>,
    /// Weight: the number of plain flows that it counts for.
    pub weight: f64,
    /// Time with data to send or in flight.
    pub busy: Duration,
}

/// A direction of an access at one moment; counts since the start, in IP bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkSampleRow {
    /// Time of the sample.
    pub at: Time,
    /// Packets inside.
    pub queue_packets: u64,
    /// Bytes inside.
    pub queue_bytes: u64,
    /// Bytes that left.
    pub carried_bytes: u64,
    /// Bytes that it could have carried.
    pub capacity_bytes: f64,
    /// Packets dropped.
    pub dropped_packets: u64,
}

/// Samples of one link in a series.
pub(super) fn link_rows(series: Option<&Series>, link: Carrier) -> Vec<LinkSampleRow> {
    let Some(series) = series else { return Vec::new() };
    let sample = |row: &[LinkSample]| {
        row.iter().find(|s| (s.node, s.port) == (link.node, link.port)).copied()
    };
    series
        .times
        .iter()
        .zip(&series.rows)
        .filter_map(|(&at, row)| {
            let s = sample(row)?;
            Some(LinkSampleRow {
                at,
                queue_packets: s.packets,
                queue_bytes: s.bytes,
                carried_bytes: s.carried_bytes,
                capacity_bytes: s.capacity_bytes,
                dropped_packets: s.dropped,
            })
        })
        .collect()
}
