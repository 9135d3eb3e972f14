//! Errors of certificates.

use airlane_base::InputError;
use airlane_quic::QuicError;

/// Reason why a certificate cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// Bad input: a file or a folder.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The transport refuses it.
    #[error(transparent)]
    Transport(#[from] QuicError),
}
