//! Errors of an agent's start.

use airlane_base::InputError;
use airlane_capture::CaptureError;

/// Reason why an agent cannot listen to an interface.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// Bad input: an interface without an address.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The interface cannot be listened to.
    #[error(transparent)]
    Capture(#[from] CaptureError),
}
