//! Errors of the server's and the player's start.

use airlane_base::InputError;
use airlane_capture::CaptureError;
use airlane_certificate::CertificateError;
use airlane_cupid_agent::AgentError;
use airlane_http_client::FetchError;
use airlane_quic::QuicError;

/// Reason why a daemon cannot start, or had to stop.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// Bad input: a folder, a file, an address.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The transport failed.
    #[error(transparent)]
    Transport(#[from] QuicError),
    /// A server did not give what it was asked for.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// The interface on the air cannot be listened to.
    #[error(transparent)]
    Air(#[from] CaptureError),
}

impl From<CertificateError> for DaemonError {
    fn from(error: CertificateError) -> Self {
        match error {
            CertificateError::Input(e) => Self::Input(e),
            CertificateError::Transport(e) => Self::Transport(e),
        }
    }
}

impl From<AgentError> for DaemonError {
    fn from(error: AgentError) -> Self {
        match error {
            AgentError::Input(e) => Self::Input(e),
            AgentError::Capture(e) => Self::Air(e),
        }
    }
}
