//! The signals that stop a daemon.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::error::CommandError;

/// Listens for a signal.
pub(super) fn listen(kind: SignalKind) -> Result<Signal, CommandError> {
    signal(kind).map_err(|e| CommandError::fault(format!("no signals: {e}")))
}

/// The signals that stop a daemon.
pub(super) struct Stopping {
    interrupt: Signal,
    terminate: Signal,
}

impl Stopping {
    /// From now on they do not end the process by themselves.
    pub(super) fn new() -> Result<Self, CommandError> {
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
        })
    }

    /// Waits for a signal to stop; the exit code that it means.
    pub(super) async fn stopped(&mut self) -> u8 {
        tokio::select! {
            _ = self.interrupt.recv() => 130,
            // Service managers stop a server like this, and expect a clean exit.
            _ = self.terminate.recv() => 0,
        }
    }
}
