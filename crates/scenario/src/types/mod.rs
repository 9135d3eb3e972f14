//! What a scenario says, checked and in units that cannot be confused.

mod link;
mod scheme;
mod wifi;

use serde::Serialize;
use std::path::PathBuf;
use std::time::Duration;

use crate::participants::AllParticipants;

pub use link::*;
pub use scheme::*;
pub use wifi::*;

/// A scenario: who shares which network, under which schemes, for how long.
///
/// Read one with [`Scenario::from_file`](super::Scenario::from_file) or
/// [`Scenario::from_bytes`](super::Scenario::from_bytes); the keys of the file are described in
/// `docs/reference/scenarios.md`.
#[derive(Clone, Debug, Serialize)]
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
    /// The network that they share.
    pub network: Network,
    /// The hosts.
    pub host: Host,
    /// The QUIC connections.
    pub transport: Transport,
    /// What is compared, in order; at least one, names distinct.
    pub schemes: Vec<Scheme>,
    /// How many draws, and how.
    pub cases: Cases,
    /// Who takes part, by workload.
    pub participants: AllParticipants,
    /// Where it was read from.
    pub source: Source,
}

/// Draws of what scenarios leave open: of titles, say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Cases {
    /// How many.
    pub count: usize,
    /// What they are drawn with.
    pub seed: u64,
    /// How what is drawn for one case goes together.
    pub draw: Draw,
}

/// How what is drawn for one case goes together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Draw {
    /// All different.
    Distinct,
    /// Each drawn from all.
    Independent,
    /// One for all.
    Identical,
}

/// What is the same for all workloads of a scenario while their tables are read.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// Length of a run.
    pub duration: Duration,
    /// The draws.
    pub cases: Cases,
    /// The network.
    pub network: &'a Network,
}

/// Where a scenario came from.
#[derive(Clone, Debug, PartialEq, Serialize)]
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
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Host {
    /// Each packet leaves up to so many packet times of the bottleneck late (seeded): without it,
    /// a droptail queue picks its victims by phase.
    pub send_jitter_packets: f64,
}

/// The QUIC connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Transport {
    /// UDP payload of a full packet in bytes.
    pub payload_bytes: u64,
    /// When the receiver acknowledges.
    pub ack: AckPolicy,
    /// What seals the packets.
    pub cipher: Cipher,
    /// Whether packets may be marked instead of dropped (ECN), and senders answer marks.
    pub ecn: bool,
}

/// When a receiver acknowledges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum AckPolicy {
    /// Every second packet (RFC 9000, section 13.2.2).
    Every2,
    /// Rarely on fast connections, as Chromium does.
    Decimated,
}

/// What seals packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Cipher {
    /// Nothing, with the sizes of the real one.
    Null,
    /// TLS 1.3.
    Tls,
}
