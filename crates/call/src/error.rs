//! The reason for which a call ended early.

use airlane_quic::QuicError;
use thiserror::Error;

use crate::wire::WireError;

/// The reason for which a call ended early.
#[derive(Clone, Debug, Error)]
pub enum CallError {
    /// The connection failed.
    #[error("the connection failed: {0}")]
    Quic(#[from] QuicError),
    /// The media transport failed.
    #[error("the media transport failed: {0}")]
    Media(String),
    /// The peer's bytes are no messages of a call.
    #[error("the peer's bytes: {0}")]
    Wire(#[from] WireError),
    /// The peer sent a message that does not fit the call.
    #[error("the peer broke the protocol: {0}")]
    Protocol(&'static str),
    /// The server has as many participants as it takes.
    #[error("the call is full")]
    Full,
}
