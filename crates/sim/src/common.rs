//! What every command that runs worlds is given.

use std::path::PathBuf;
use std::time::Duration;

use airlane_base::InputError;
use airlane_scenario::Cipher;

use crate::folder::OutFolder;
use crate::plan::GivenTrace;
use crate::pool::{Progress, StopFlag};
use crate::run_info::RunInfo;

/// Options that all commands that run worlds have in common.
#[derive(Clone)]
pub struct Common<'a> {
    /// Directory for the results.
    pub out: PathBuf,
    /// Worlds at once, at least 1.
    pub jobs: usize,
    /// Takes the place of the scenario's seeds.
    pub seed: Option<u64>,
    /// Takes the place of the embedded content: a folder of chunk tables.
    pub content: Option<PathBuf>,
    /// Takes the place of the generated heads that look at 360-degree videos: a folder of recordings.
    pub heads: Option<PathBuf>,
    /// Take the place of the scenario's capacities: traces, or folders of traces of which each is a
    /// case.
    pub traces: Vec<GivenTrace>,
    /// Takes the place of the scenario's cipher.
    pub cipher: Option<Cipher>,
    /// Records of connections to write while they run.
    pub captures: Captures,
    /// The circumstances, as far as they are known at the start: written to `run.json`.
    pub circumstances: RunInfo,
    /// Returns the time for which the command has been running. The laboratory reads no clock.
    pub elapsed: &'a (dyn Fn() -> Duration + Sync),
    /// Receives the progress of the work.
    pub progress: &'a dyn Progress,
    /// Signal by which the command is stopped.
    pub stop: StopFlag,
}

impl Default for Common<'_> {
    /// Nothing given: the scenario as it stands, one world at a time, no captures, no progress.
    fn default() -> Self {
        Self {
            out: PathBuf::new(),
            jobs: 1,
            seed: None,
            content: None,
            heads: None,
            traces: Vec::new(),
            cipher: None,
            captures: Captures::default(),
            circumstances: RunInfo::default(),
            elapsed: &Duration::default,
            progress: &(),
            stop: StopFlag::default(),
        }
    }
}

/// Folders for what is written down about connections.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Captures {
    /// Packets at the bottleneck, a file per run.
    pub pcap: Option<PathBuf>,
    /// Events of connections, a folder per run and in it a file per connection and side.
    pub qlog: Option<PathBuf>,
    /// The secrets that open the packets: `keys.log`.
    pub keylog: Option<PathBuf>,
}

impl Captures {
    /// Makes the folders and proves that they can be written: before the work starts.
    ///
    /// # Errors
    /// If one of them cannot be made or written.
    pub fn prepare(&self) -> Result<(), InputError> {
        [&self.pcap, &self.qlog, &self.keylog]
            .into_iter()
            .flatten()
            .try_for_each(|dir| OutFolder::prove(dir).map(drop))
    }
}

impl Common<'_> {
    /// The command that repeats a run of `seed` alone, for a report of a fault.
    pub fn repeat_command(&self, seed: u64) -> String {
        let mut words = self.circumstances.command.iter();
        let mut kept: Vec<String> = Vec::new();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--seed" => drop(words.next()),
                w if w.starts_with("--seed=") => {}
                w => kept.push(quoted(w)),
            }
        }
        format!("{} --seed {seed}", kept.join(" "))
    }
}

/// A word of a command as a shell takes it.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}
