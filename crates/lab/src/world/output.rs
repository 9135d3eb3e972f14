//! What came out of a run.

use std::time::Duration;

use airlane_abr::PlayerModel;
use airlane_base::Time;
use airlane_minerva::Update;
use airlane_net::network::{NodeId, Series};
use airlane_net::{Counters, LinkReport};

use crate::plan::RunKey;

/// What came out of a run.
#[derive(Clone, Debug)]
pub struct RunOutput {
    /// Which run.
    pub key: RunKey,
    /// When it ended.
    pub ended: Time,
    /// The viewers, in the order of the scenario.
    pub viewers: Vec<ViewerOutput>,
    /// The bulk transfers, in the order of the scenario.
    pub bulk: Vec<BulkOutput>,
    /// Web traffic, in the order of the scenario.
    pub web: Vec<WebOutput>,
    /// The bottleneck over time.
    pub link_rows: Vec<LinkSampleRow>,
    /// What the bottleneck carried, from [`Options::settle`](super::Options) to the end.
    pub link: Option<LinkReport>,
    /// What went through the bottleneck; `None` if nobody counted.
    pub drops: Option<Counters>,
    /// Hash over what happened to every packet.
    pub packet_hash: u64,
    /// Packets that hosts sent.
    pub packets: u64,
}

/// A viewer's session.
#[derive(Clone, Debug)]
pub struct ViewerOutput {
    /// Name.
    pub name: String,
    /// The buffer and all chunks; `model.setting()` has the video.
    pub model: PlayerModel,
    /// Why it ended early, if it did.
    pub failure: Option<String>,
    /// Minerva's updates.
    pub updates: Vec<Update>,
    /// The server's side of the connection over time.
    pub samples: Vec<FlowSample>,
}

/// A bulk transfer.
#[derive(Clone, Debug)]
pub struct BulkOutput {
    /// Name.
    pub name: String,
    /// When it started.
    pub start: Time,
    /// Application bytes received and found right.
    pub bytes: u64,
    /// When it ended: by itself or with the run.
    pub end: Time,
    /// Why it ended early, if it did.
    pub failure: Option<String>,
    /// The sender's side of the connection over time.
    pub samples: Vec<FlowSample>,
}

/// Web traffic.
#[derive(Clone, Debug, PartialEq)]
pub struct WebOutput {
    /// Name.
    pub name: String,
    /// Transfers that were begun.
    pub started: u64,
    /// Bytes of bodies that these are of.
    pub offered_bytes: u64,
    /// Bytes of bodies received and found right.
    pub received_bytes: u64,
    /// Seconds that each finished transfer took, handshake included, in the order of their ends.
    pub took_s: Vec<f64>,
}

/// A connection at one moment; counts since it began, in bytes of UDP payload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowSample {
    /// When.
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
    /// How many plain flows it counts for.
    pub weight: f64,
    /// Time with data to send or in flight.
    pub busy: Duration,
}

/// The bottleneck at one moment; counts since the start, in IP bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkSampleRow {
    /// When.
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

pub(super) fn link_rows(series: Option<Series>, link: NodeId) -> Vec<LinkSampleRow> {
    let Some(series) = series else { return Vec::new() };
    let sample =
        |row: &Vec<airlane_net::network::LinkSample>| row.iter().find(|s| s.node == link).copied();
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
