//! Errors of transfers.

use airlane_quic::QuicError;

/// Reason why a transfer ended early.
#[derive(Debug, thiserror::Error)]
pub enum TrafficError {
    /// The transport failed.
    #[error("the connection to {peer} failed: {source}")]
    Transport {
        /// Peer of the connection.
        peer: String,
        /// Fault of the transport.
        source: QuicError,
    },
    /// The peer did not answer, or its address cannot be used.
    #[error("{0}")]
    Unreachable(String),
    /// The peer sent something else than what was asked for.
    #[error("{path}: {problem}")]
    Answer {
        /// Path that was asked for.
        path: String,
        /// Fault of the answer.
        problem: String,
    },
}

impl TrafficError {
    pub(crate) fn transport(peer: impl ToString) -> impl FnOnce(QuicError) -> Self {
        move |source| Self::Transport { peer: peer.to_string(), source }
    }
}
