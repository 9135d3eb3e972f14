//! Why a session ended early.

use super::wire::WireError;
use airlane_multipath::MultipathError;

/// Error that ended a session early.
#[derive(Clone, Debug, thiserror::Error)]
pub enum TilesError {
    /// The stream failed.
    #[error("the stream failed: {0}")]
    Stream(#[from] MultipathError),
    /// The peer's bytes are no messages of the session.
    #[error("the peer's bytes: {0}")]
    Wire(#[from] WireError),
    /// The peer sent a message that does not fit the session.
    #[error("the peer broke the protocol: {0}")]
    Protocol(&'static str),
    /// The server does not have the title.
    #[error("the server has no title \"{0}\"")]
    NoTitle(String),
    /// The stream ended before the session did.
    #[error("the stream ended before the session did")]
    Ended,
}
