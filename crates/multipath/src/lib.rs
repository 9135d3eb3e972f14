#![doc = include_str!("../README.md")]
//!
//! The end that connects, the [`Session`], has several interfaces: WiFi and 5G, say. Each interface has
//! one **subflow**, a pair of connections that all streams share, so that a new stream costs no
//! handshake. On a subflow a stream has a path of its own. A stream's **engine** decides which path
//! sends what: FBDT (`airlane_fbdt`), or one from outside, as MPTCP's meta level (`airlane_mptcp`).
//!
//! ```text
//! streams    1  2  3 ...     each a MultipathStream with an engine
//!            |\/|\/|
//! subflows   interface 0, interface 1, ...
//!            low-latency channel: acknowledgements, streams with little under way
//!            bulk channel:        everything else, a turn of 64 KiB at most for each stream
//! ```
//!
//! A subflow consists of two [`Channels`], reliable streams of bytes, each over a connection of its own,
//! TCP or QUIC: in one that both shared, what must not wait would wait for the bulk transfers'
//! congestion window. The other end, the [`SessionServer`], accepts the connections and joins those of a
//! session by its id. `docs/reference/wire/multipath.md` has what is on the wire.

mod config;
mod engine;
mod error;
mod session;
mod stream;
mod subflow;
mod terms;

pub use airlane_fbdt::{Options as FbdtOptions, Preference, Redundancy as FbdtRedundancy};
pub use config::{StreamConfig, path_transport};
pub use engine::{
    Arrival, ControlEvent, Engine, EngineFactory, MAX_PATHS, Outgoing, PathLoad, PathLoads, Scheme,
    SentCounts, Turn,
};
pub use error::{MultipathError, Reason};
pub use session::{
    AcceptedStream, DataCap, InterfaceConfig, InterfaceStatus, Session, SessionHello, SessionId,
    SessionLimits, SessionServer, SessionStatus,
};
pub use stream::{MultipathStream, PathCounts, StreamCounts};
pub use subflow::{
    Body, Channel, ChannelFuture, ChannelKind, ChannelReceiver, ChannelSender, Channels, Connect,
    MAX_REQUEST_BYTES, PeerId, PendingConnections, SubflowConnection, SubflowFrame, SubflowFuture,
    SubflowNonce, accept_quic, accept_quic_subflows, connect_quic, open_quic,
};
pub use terms::{Protocol, Terms};
