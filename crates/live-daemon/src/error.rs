//! Errors of senders and receivers of live video.

use airlane_base::InputError;
use airlane_certificate::CertificateError;
use airlane_live::LiveError;
use airlane_quic::QuicError;
use airlane_vpx::VpxError;

/// Reason why a sender or a receiver cannot start, or had to stop.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// Bad input: a file, an address.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The transport failed.
    #[error(transparent)]
    Transport(#[from] QuicError),
    /// A session of live video ended with a fault.
    #[error(transparent)]
    Live(#[from] LiveError),
    /// The peer answers at none of its addresses.
    #[error("{0}")]
    Unreachable(String),
    /// The encoder failed.
    #[error(transparent)]
    Vpx(#[from] VpxError),
}

impl From<CertificateError> for DaemonError {
    fn from(error: CertificateError) -> Self {
        match error {
            CertificateError::Input(e) => Self::Input(e),
            CertificateError::Transport(e) => Self::Transport(e),
        }
    }
}
