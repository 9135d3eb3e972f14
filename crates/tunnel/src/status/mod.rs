//! A tunnel's figures: as JSON, for Prometheus, and on a page.

mod clients;
mod metrics;
mod server;

use serde::Serialize;

pub use clients::ClientStatus;
pub(crate) use clients::ConnectionCounts;
pub(crate) use server::serve;

/// Status of an end of a tunnel: counts of what it has done and is doing.
#[derive(Clone, Debug, Default, Serialize)]
pub struct TunnelStatus {
    /// Name of the end: `connect` or `serve`.
    pub end: &'static str,
    /// Seconds since it started.
    pub uptime_s: f64,
    /// Connections and associations that are open.
    pub streams: usize,
    /// Sockets to targets, open or connecting; 0 at the connecting end.
    pub target_sockets: usize,
    /// Connections and associations so far.
    pub connections_total: u64,
    /// Those that the serving end refused or could not reach.
    pub refused_total: u64,
    /// Bytes of connections into the tunnel at this end.
    pub into_bytes: u64,
    /// Bytes of connections out of the tunnel at this end.
    pub out_bytes: u64,
    /// Datagrams into the tunnel at this end.
    pub datagrams_into: u64,
    /// Datagrams out of the tunnel at this end.
    pub datagrams_out: u64,
    /// Datagrams that were dropped as they were late or too many.
    pub datagrams_dropped: u64,
    /// Datagrams that were refused.
    pub datagrams_refused: u64,
    /// The clients, at the serving end.
    pub clients: Vec<ClientStatus>,
    /// The subflows.
    #[serde(rename = "lines")]
    pub subflows: Vec<SubflowStatus>,
    /// Warnings, and the number of times that each was given.
    pub warnings: Vec<(&'static str, u64)>,
}

/// A subflow, or an interface without one.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SubflowStatus {
    /// The path at the connecting end; client, session and interface at the serving end.
    pub name: String,
    /// `up`, `silent` (others are tried beside it), `spent` (its cap is reached) or `down`.
    pub state: &'static str,
    /// Reason why it is down, or was the last time; empty if it never was.
    pub problem: String,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Bytes received.
    pub received_bytes: u64,
    /// The last round trip in seconds.
    pub rtt_s: Option<f64>,
    /// Subflows that the interface has had; `None` at the serving end.
    #[serde(rename = "lines")]
    pub subflows: Option<u64>,
    /// True if it is a backup.
    pub is_backup: bool,
    /// Its price.
    pub price: u32,
    /// Bits per second that each end sends over it at most.
    #[serde(rename = "most_bps")]
    pub max_bps: Option<u64>,
    /// Data cap, and what of it was used.
    pub cap: Option<CapStatus>,
}

/// A cap, and what of it was used.
#[derive(Clone, Debug, Default, Serialize)]
pub struct CapStatus {
    /// Bytes in both directions together, as counted on the air.
    pub bytes: u64,
    /// Bytes used.
    pub used_bytes: u64,
    /// In which time: `day 2026-11-30`, `month 2026-11` or `ever`.
    pub period: String,
}
