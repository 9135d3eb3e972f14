//! Why a command did not come to its end, and the exit code that tells it.

use airlane_base::InputError;
use airlane_daemon::DaemonError;
use airlane_lab::{Fault, LabError};
use airlane_tunnel::TunnelError;

/// Reason for which a command did not come to its end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandError {
    /// Bad input: exit code 2.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A failure of the machine, such as an address that is in use or a disk that is full: exit code
    /// 2.
    #[error("{0}")]
    Machine(String),
    /// A failure of a peer: exit code 1.
    #[error("{0}")]
    Peer(String),
    /// The command was stopped: exit code 130.
    #[error("stopped")]
    Stopped,
    /// A fault of Airlane: exit code 70.
    #[error(transparent)]
    Fault(Box<Fault>),
}

impl CommandError {
    /// Fault of Airlane outside of any run.
    pub(crate) fn fault(what: impl Into<String>) -> Self {
        LabError::fault(what).into()
    }

    /// Failure of the machine.
    pub(crate) fn machine(reason: &dyn std::error::Error) -> Self {
        Self::Machine(reason.to_string())
    }

    /// Exit code of the command.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Input(_) | Self::Machine(_) => 2,
            Self::Peer(_) => 1,
            Self::Stopped => 130,
            Self::Fault(_) => 70,
        }
    }
}

impl From<LabError> for CommandError {
    fn from(error: LabError) -> Self {
        match error {
            LabError::Input(e) => Self::Input(e),
            LabError::Stopped => Self::Stopped,
            LabError::Fault(fault) => Self::Fault(fault),
        }
    }
}

impl From<DaemonError> for CommandError {
    fn from(error: DaemonError) -> Self {
        match error {
            DaemonError::Input(e) => Self::Input(e),
            other => Self::machine(&other),
        }
    }
}

impl From<TunnelError> for CommandError {
    fn from(error: TunnelError) -> Self {
        match error {
            TunnelError::Input(e) => Self::Input(e),
            TunnelError::Transport(e) => Self::machine(&e),
        }
    }
}
