#![doc = include_str!("../README.md")]
//!
//! Roles see [`Endpoint`], [`Connection`], streams and the
//! [`ControlHandle`] of each connection.

mod clock;
mod config;
mod connection;
mod connection_limiter;
mod control;
mod crypto;
mod datagram_counts;
mod driver;
mod endpoint;
mod error;
mod fair;
mod http3;
mod non_quic;
pub mod panics;
mod priority;
mod qlog;
mod reports;
mod run_queue;
mod shards;
mod stream;

pub use config::{
    ALPN_AIRLANE, ALPN_H3, AcceptConfig, AckPolicy, Admission, ControllerFactory, DebugFiles,
    ETHERNET_PAYLOAD_BYTES, FirstPacketAuthorization, FlowControl, MAX_STREAM_WINDOW_BYTES,
    MIN_PAYLOAD_BYTES, NewController, PacketConfig, Timers, TransportConfig,
};
pub use connection::Connection;
pub use connection_limiter::{
    ActivityHandle, ConnectionLimiter, IdlePermit, LimitExceeded, Permit,
};
pub use control::{ControlHandle, ControlProgress, ControlStats};
pub use crypto::{Certificates, Cipher, Identity, PinnedKeys, PublicKey, Security, Tls, Trust};
pub use datagram_counts::DatagramCounts;
pub use endpoint::Endpoint;
pub use error::QuicError;
pub use fair::SendOrder;
pub use http3::{
    Body, ControlFault, ControlFrames, H3_NO_ERROR, H3Client, H3Server, Malformed, MessageKind,
    MessageReader, RequestBounds, Responder,
};
pub use non_quic::NonQuicSocket;
pub use priority::Priority;
pub use reports::{ReportReader, ReportSink, ReportSource, Reporter, Reports};
pub use stream::{RecvStream, SendStream};
