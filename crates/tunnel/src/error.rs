//! Errors at which an end of a tunnel cannot start.

use airlane_base::InputError;
use airlane_quic::QuicError;

/// An error at which an end of a tunnel cannot start.
#[derive(Debug, thiserror::Error)]
pub enum TunnelError {
    /// The configuration: a file, an address, a key.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The transport.
    #[error(transparent)]
    Transport(#[from] QuicError),
}
