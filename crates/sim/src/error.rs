//! Why a command of the laboratory did not come to its end.

use airlane_base::InputError;

/// Reason for which a command of the laboratory did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// Bad input: exit code 2.
    #[error(transparent)]
    Input(#[from] InputError),
    /// It was stopped: exit code 130.
    #[error("stopped")]
    Stopped,
    /// A fault of ours: exit code 70.
    #[error(transparent)]
    Fault(#[from] Box<Fault>),
}

/// A fault of ours, with what it takes to see it again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct Fault {
    /// Description of the fault.
    pub what: String,
    /// The run in which it did, if it was one.
    pub run: Option<FaultyRun>,
}

/// A run in which a fault of ours showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultyRun {
    /// Label of the run.
    pub label: String,
    /// With which seed.
    pub seed: u64,
    /// The command that repeats it.
    pub command: String,
}

impl LabError {
    /// A fault of ours outside of any run.
    pub fn fault(what: impl Into<String>) -> Self {
        Self::Fault(Box::new(Fault { what: what.into(), run: None }))
    }

    /// The exit code of the command line.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Input(_) => 2,
            Self::Stopped => 130,
            Self::Fault(_) => 70,
        }
    }
}
