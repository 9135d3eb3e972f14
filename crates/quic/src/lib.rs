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
mod driver;
mod endpoint;
mod error;
mod fair;
mod http3;
mod non_quic;
mod priority;
mod qlog;
mod reports;
mod shards;
mod stream;

pub use config::{
    ALPN_AIRLANE, ALPN_H3, AckPolicy, Admission, ControllerFactory, ETHERNET_PAYLOAD_BYTES,
    FirstPacketAuthorization, MAX_STREAM_WINDOW_BYTES, MIN_PAYLOAD_BYTES, NewController,
    TransportConfig,
};
pub use connection::Connection;
pub use control::{ControlHandle, ControlProgress, ControlStats};
pub use crypto::{Certificates, Cipher, Identity, PinnedKeys, PublicKey, Security, Tls, Trust};
pub use non_quic::NonQuicSocket;
/// Panics that end what they belong to, and nothing else.
pub mod panics {
    pub use crate::driver::{Panic, caught, message, report};
}
pub use connection_limiter::{
    ActivityHandle, ConnectionLimiter, IdlePermit, LimitExceeded, Permit,
};
pub use endpoint::Endpoint;
pub use error::QuicError;
pub use fair::SendOrder;
pub use http3::{
    Body, ControlFault, ControlFrames, H3_NO_ERROR, H3Client, H3Server, Malformed, MessageKind,
    MessageReader, RequestBounds, Responder,
};
pub use priority::Priority;
pub use reports::{ReportReader, ReportSink, ReportSource, Reporter};
pub use stream::{RecvStream, SendStream};
