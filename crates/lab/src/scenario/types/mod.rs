//! What a scenario says, checked and in units that cannot be confused.

mod link;
mod scheme;
mod traffic;

use std::path::PathBuf;
use std::time::Duration;

use airlane_media::Metric;
use airlane_quality::Smoothness;

pub use link::*;
pub use scheme::*;
pub use traffic::*;

/// Videos with fewer chunks are not drawn, unless a scenario says otherwise.
pub const MIN_CHUNKS: u64 = 50;

/// A scenario: who shares which link, under which schemes, for how long.
///
/// Read one with [`Scenario::from_file`](super::Scenario::from_file) or
/// [`Scenario::from_bytes`](super::Scenario::from_bytes); the keys of the file are described in
/// `docs/scenarios.md`.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// Name, of files and rows.
    pub name: String,
    /// Title, for people.
    pub title: String,
    /// What the reader of the report should look at.
    pub story: String,
    /// Length of a run in virtual time.
    pub duration: Duration,
    /// One run of every case and scheme per seed; distinct, at least one.
    pub seeds: Vec<u64>,
    /// Videos with fewer chunks are not drawn.
    pub min_chunks: usize,
    /// The shared bottleneck.
    pub link: Link,
    /// The hosts.
    pub host: Host,
    /// The QUIC connections.
    pub transport: Transport,
    /// The players.
    pub player: Player,
    /// What is compared, in order; at least one, names distinct.
    pub schemes: Vec<Scheme>,
    /// Who watches.
    pub viewers: Vec<Viewer>,
    /// How those viewers come that have no time of their own. `None`: all at the start.
    pub arrivals: Option<Arrivals>,
    /// How many draws of videos.
    pub cases: Cases,
    /// Transfers beside the viewers.
    pub bulk: Vec<Bulk>,
    /// Web traffic beside the viewers.
    pub web: Vec<Web>,
    /// Where it was read from.
    pub source: Source,
}

/// Where a scenario came from.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// The file, or the name of an embedded scenario.
    pub name: PathBuf,
    /// The folder that paths in the scenario are relative to.
    pub folder: Option<PathBuf>,
    /// The text as it was read, before `--set`.
    pub text: String,
    /// What `--set` changed, in order, as given.
    pub set: Vec<String>,
}

/// The hosts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Host {
    /// Each packet leaves up to so many packet times of the bottleneck late (seeded): without it,
    /// a droptail queue picks its victims by phase.
    pub send_jitter_packets: f64,
}

/// The QUIC connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transport {
    /// UDP payload of a full packet in bytes.
    pub payload_bytes: u64,
    /// When the receiver acknowledges.
    pub ack: AckPolicy,
    /// What seals the packets.
    pub cipher: Cipher,
}

/// When a receiver acknowledges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckPolicy {
    /// Every second packet (RFC 9000, section 13.2.2).
    Every2,
    /// Rarely on fast connections, as Chromium does.
    Decimated,
}

/// What seals packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cipher {
    /// Nothing, with the sizes of the real one.
    Null,
    /// TLS 1.3.
    Tls,
}

/// The players; the same in every scheme.
#[derive(Clone, Debug, PartialEq)]
pub struct Player {
    /// What chooses the rungs.
    pub abr: Abr,
    /// Chunks that MPC looks ahead.
    pub horizon: usize,
    /// Most that the player holds.
    pub buffer_cap: Duration,
    /// Idle time between a response and the next request.
    pub overhead: Duration,
    /// Sizes of what is fetched before the first chunk, one after the other.
    pub opening_bytes: Vec<u64>,
    /// Cost of a second of rebuffering in equation 1.
    pub beta: f64,
    /// Cost of a point of change in equation 1.
    pub gamma: f64,
    /// The measure of quality.
    pub metric: Metric,
    /// What a change of quality is taken from.
    pub smoothness: Smoothness,
    /// Beta and gamma are for a measure from 0 to 100: for others they are multiplied by the
    /// measure's span over 100 ([`Metric::span`]).
    pub scaled_penalties: bool,
    /// Longer videos are cut to so many chunks.
    pub max_chunks: Option<usize>,
}

/// What chooses the rungs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Abr {
    /// RobustMPC.
    RobustMpc,
    /// MPC.
    Mpc,
    /// BOLA.
    Bola,
    /// Buffer-based.
    Buffer,
    /// The highest rung below the predicted throughput.
    Rate,
    /// Always the same rung, from 0.
    Fixed(usize),
}
