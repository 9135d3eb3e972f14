//! Why a role ended early.

use airlane_quic::QuicError;

/// Error that ended a role early.
#[derive(Debug, thiserror::Error)]
pub enum RoleError {
    /// The transport failed.
    #[error("the connection to {peer} failed: {source}")]
    Transport {
        /// Peer of the role.
        peer: String,
        /// Cause of the failure.
        source: QuicError,
    },
    /// Something could not be fetched: what, and why.
    #[error("{0}")]
    Fetch(String),
    /// The peer answered with something else than what was asked for.
    #[error("{path}: {problem}")]
    Answer {
        /// Path that was asked for.
        path: String,
        /// Fault of the answer.
        problem: String,
    },
}

impl RoleError {
    pub(crate) fn transport(peer: impl ToString) -> impl FnOnce(QuicError) -> Self {
        move |source| Self::Transport { peer: peer.to_string(), source }
    }
}
