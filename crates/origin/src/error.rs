//! Why a role ended early.

use airlane_quic::QuicError;

/// Why a role ended early.
#[derive(Debug, thiserror::Error)]
pub enum RoleError {
    /// The transport failed.
    #[error("the connection to {peer} failed: {source}")]
    Transport {
        /// Whom the role talked to.
        peer: String,
        /// What happened.
        source: QuicError,
    },
    /// Something could not be fetched: what, and why.
    #[error("{0}")]
    Fetch(String),
    /// The peer answered with something else than what was asked for.
    #[error("{path}: {problem}")]
    Answer {
        /// What was asked for.
        path: String,
        /// What is wrong with the answer.
        problem: String,
    },
}

impl RoleError {
    pub(crate) fn transport(peer: impl ToString) -> impl FnOnce(QuicError) -> Self {
        move |source| Self::Transport { peer: peer.to_string(), source }
    }
}
