//! Why a daemon cannot start.

use airlane_apps::live::LiveError;
use airlane_base::InputError;
use airlane_capture::CaptureError;
use airlane_quic::QuicError;
use airlane_vpx::VpxError;

use crate::client::FetchError;

/// Why a daemon cannot start, or had to stop.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// What it was given: a folder, a file, an address.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The transport.
    #[error(transparent)]
    Transport(#[from] QuicError),
    /// A server that was asked for something.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// A session of live video.
    #[error(transparent)]
    Live(#[from] LiveError),
    /// A peer that does not answer, at none of its addresses.
    #[error("{0}")]
    Unreachable(String),
    /// The interface that hears the air.
    #[error(transparent)]
    Air(#[from] CaptureError),
    /// The encoder of live video.
    #[error(transparent)]
    Vpx(#[from] VpxError),
}
