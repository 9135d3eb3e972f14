//! Why a stream ended.

use airlane_fbdt::wire::WireError;
use airlane_fbdt::{AckError, ReceiverError};
use airlane_quic::QuicError;

/// Why a stream over several paths ended, or why a path of it did.
#[derive(Clone, Debug, thiserror::Error)]
pub enum MultipathError {
    /// A connection failed: a path ended.
    #[error("a path ended: {0}")]
    Path(#[from] QuicError),
    /// The peer sent what is no frame.
    #[error("the peer {0}")]
    Wire(#[from] WireError),
    /// The peer sent segments that do not fit.
    #[error("the peer's data: {0}")]
    Segment(#[from] ReceiverError),
    /// The peer acknowledged what it cannot have.
    #[error("the peer's acknowledgement: {0}")]
    Ack(#[from] AckError),
    /// The peer does not keep to the protocol, or asks for what is not given.
    #[error("the peer broke the protocol: {0}")]
    Protocol(&'static str),
    /// The peer is gone: it ended a path before the stream was over.
    #[error("the peer ended a path before the stream was over")]
    Ended,
    /// No path was there for too long.
    #[error("no path was there for {0} s")]
    NoPath(u64),
    /// This end gave the stream up.
    #[error("the stream was given up")]
    GivenUp,
}

impl MultipathError {
    /// Whether the peer broke the protocol, so that the whole stream must end.
    pub(super) fn is_fatal(&self) -> bool {
        !matches!(self, Self::Path(_) | Self::Ended)
    }
}
