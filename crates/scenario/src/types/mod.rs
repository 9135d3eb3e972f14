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
    /// Text for the reader of the report: what to look at.
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
    /// Schemes that are compared, in order; at least one, names distinct.
    pub schemes: Vec<Scheme>,
    /// Draws: their number and kind.
    pub cases: Cases,
    /// Participants, by workload.
    pub participants: AllParticipants,
    /// Origin of the scenario.
    pub source: Source,
}

/// Draws of what scenarios leave open: of titles, say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Cases {
    /// Number of draws.
    pub count: usize,
    /// Seed of the draws.
    pub seed: u64,
    /// Dependence among the items drawn for one case.
    pub draw: Draw,
}

/// Dependence among the items drawn for one case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Draw {
    /// All different.
    Distinct,
    /// Each drawn from all.
    Independent,
    /// One for all.
    Identical,
}

/// Properties of a scenario that all its workloads share while their tables are read.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// Length of a run.
    pub duration: Duration,
    /// The draws.
    pub cases: Cases,
    /// The network.
    pub network: &'a Network,
}

/// Origin of a scenario.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Source {
    /// The file, or the name of an embedded scenario.
    pub name: PathBuf,
    /// The folder that paths in the scenario are relative to.
    pub folder: Option<PathBuf>,
    /// The text as it was read, before `--set`.
    pub text: String,
    /// Changes by `--set`, in order, as given.
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
    /// Policy by which the receiver acknowledges.
    pub ack: AckPolicy,
    /// Cipher that protects the packets.
    pub cipher: Cipher,
    /// True if packets may be marked instead of dropped (ECN), and senders answer marks.
    pub ecn: bool,
}

/// Policy by which a receiver acknowledges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum AckPolicy {
    /// Every second packet (RFC 9000, section 13.2.2).
    Every2,
    /// Rarely on fast connections, as Chromium does.
    Decimated,
}

/// Cipher that protects packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Cipher {
    /// Nothing, with the sizes of the real one.
    Null,
    /// TLS 1.3.
    Tls,
}
