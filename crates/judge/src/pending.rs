//! Worlds that have to be run, as commands list them for whoever runs them.

/// World of a command that has to be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingWorld {
    /// Its number among all worlds of the command.
    pub number: usize,
    /// Label of the run for people.
    pub label: String,
    /// Its virtual time, milliseconds.
    pub units: u64,
}
