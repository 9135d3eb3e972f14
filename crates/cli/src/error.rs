//! Why a command did not come to its end, and the exit code that tells it.

use airlane_base::InputError;
#[cfg(feature = "call")]
use airlane_call_daemon::CallError;
#[cfg(feature = "video")]
use airlane_sim::LabError;
#[cfg(feature = "tunnel")]
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
    #[cfg(any(feature = "video", feature = "call"))]
    #[error("{0}")]
    Peer(String),
    /// The command was stopped: exit code 130.
    #[cfg(feature = "video")]
    #[error("stopped")]
    Stopped,
    /// A fault of Airlane: exit code 70.
    #[error("{}", .0.what)]
    Fault(Box<Fault>),
}

/// Fault of Airlane.
#[derive(Debug)]
pub(crate) struct Fault {
    /// Description of what happened.
    pub(crate) what: String,
    /// Run of the laboratory in which it happened, if it was one.
    pub(crate) run: Option<FaultyRun>,
}

/// Run of the laboratory in which a fault showed.
#[derive(Debug)]
pub(crate) struct FaultyRun {
    /// Scenario, case, scheme and seed.
    pub(crate) label: String,
    /// Command that repeats it.
    pub(crate) command: String,
}

impl CommandError {
    /// Fault of Airlane outside of any run.
    pub(crate) fn fault(what: impl Into<String>) -> Self {
        Self::Fault(Box::new(Fault { what: what.into(), run: None }))
    }

    /// Failure of the machine.
    pub(crate) fn machine(reason: &dyn std::error::Error) -> Self {
        Self::Machine(reason.to_string())
    }

    /// Exit code of the command.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Input(_) | Self::Machine(_) => 2,
            #[cfg(any(feature = "video", feature = "call"))]
            Self::Peer(_) => 1,
            #[cfg(feature = "video")]
            Self::Stopped => 130,
            Self::Fault(_) => 70,
        }
    }
}

#[cfg(feature = "video")]
impl From<LabError> for CommandError {
    fn from(error: LabError) -> Self {
        match error {
            LabError::Input(e) => Self::Input(e),
            LabError::Stopped => Self::Stopped,
            LabError::Fault(fault) => {
                let run = fault.run.map(|run| FaultyRun { label: run.label, command: run.command });
                Self::Fault(Box::new(Fault { what: fault.what, run }))
            }
        }
    }
}

#[cfg(feature = "video")]
impl From<airlane_live_daemon::DaemonError> for CommandError {
    fn from(error: airlane_live_daemon::DaemonError) -> Self {
        match error {
            airlane_live_daemon::DaemonError::Input(e) => Self::Input(e),
            other => Self::machine(&other),
        }
    }
}

#[cfg(feature = "video")]
impl From<airlane_origin_daemon::DaemonError> for CommandError {
    fn from(error: airlane_origin_daemon::DaemonError) -> Self {
        match error {
            airlane_origin_daemon::DaemonError::Input(e) => Self::Input(e),
            other => Self::machine(&other),
        }
    }
}

#[cfg(feature = "call")]
impl From<CallError> for CommandError {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Input(e) => Self::Input(e),
            CallError::Peer(what) => Self::Peer(what),
            other => Self::machine(&other),
        }
    }
}

#[cfg(feature = "tunnel")]
impl From<TunnelError> for CommandError {
    fn from(error: TunnelError) -> Self {
        match error {
            TunnelError::Input(e) => Self::Input(e),
            TunnelError::Transport(e) => Self::machine(&e),
        }
    }
}
