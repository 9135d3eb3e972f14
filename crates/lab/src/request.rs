//! What a front (the command line, later Python) asks of the laboratory, and what it gets back.

use std::path::PathBuf;
use std::time::Duration;

use airlane_base::InputError;

use crate::plan::GivenTrace;
use crate::pool::{Progress, Stop};
use crate::scenario::Cipher;
use crate::summary::{OutFolder, RunInfo};

/// What every command that runs worlds is given.
#[derive(Clone)]
pub struct Common<'a> {
    /// Where the results go.
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
    /// What is written down about connections while they run.
    pub captures: Captures,
    /// The circumstances, as far as they are known at the start: written to `run.json`.
    pub circumstances: RunInfo,
    /// How long the command has been running. The laboratory reads no clock.
    pub elapsed: &'a (dyn Fn() -> Duration + Sync),
    /// Receives the progress of the work.
    pub progress: &'a dyn Progress,
    /// Whether to go on.
    pub stop: Stop,
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
            stop: Stop::default(),
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
    pub(crate) fn prepare(&self) -> Result<(), InputError> {
        [&self.pcap, &self.qlog, &self.keylog]
            .into_iter()
            .flatten()
            .try_for_each(|dir| OutFolder::prove(dir).map(drop))
    }
}

/// Run a scenario.
pub struct RunRequest<'a> {
    /// What every command is given.
    pub common: Common<'a>,
    /// The file, or the name of an embedded scenario.
    pub scenario: PathBuf,
    /// Changes to it: `key=value`.
    pub set: Vec<String>,
}

/// Run a scenario under every combination of some values.
pub struct SweepRequest<'a> {
    /// What every command is given.
    pub common: Common<'a>,
    /// The file, or the name of an embedded scenario.
    pub scenario: PathBuf,
    /// Changes to all cells: `key=value`.
    pub set: Vec<String>,
    /// Axes beside those of the file: `key=v1,v2`.
    pub grid: Vec<String>,
    /// Forget what earlier starts in the same folder finished.
    pub fresh: bool,
}

/// Tell a system's story.
pub struct DemoRequest<'a> {
    /// What every command is given.
    pub common: Common<'a>,
}

/// Measure a paper's figures.
pub struct ReproduceRequest<'a> {
    /// What every command is given.
    pub common: Common<'a>,
    /// The system, or `all`.
    pub system: String,
    /// To look around: fewer draws and seeds, from a stream that no verdict is made of.
    pub quick: bool,
    /// The claims that are measured: ids, or what ids begin with before a dot. None: all.
    pub only: Vec<String>,
    /// Forget what earlier starts in the same folder finished.
    pub fresh: bool,
}

/// Make a report of results.
pub struct ReportRequest {
    /// Folders that commands left.
    pub folders: Vec<PathBuf>,
    /// Where the report goes.
    pub out: PathBuf,
}

/// Compare two results.
pub struct DiffRequest {
    /// A folder that a command left, or a summary.
    pub a: PathBuf,
    /// Another.
    pub b: PathBuf,
    /// Show every figure that changed, not the largest changes beyond the threshold alone.
    pub all: bool,
    /// The least change to show, as a share of the figure.
    pub threshold: f64,
    /// Whether a difference counts as a failure.
    pub check: bool,
    /// Where a report of it goes, if one is wanted.
    pub out: Option<PathBuf>,
}

/// What a command came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// A table for people, some lines; empty if there is none. It stands above the line.
    pub table: String,
    /// One line for people: what came out.
    pub line: String,
    /// Where the results are.
    pub out: PathBuf,
    /// Claims that fail, or sessions that did.
    pub failed: usize,
    /// Whether it was stopped before its end; what had finished is written.
    pub stopped: bool,
}

impl Outcome {
    /// The exit code of the command line: 0 done, 1 a claim or a peer failed, 130 stopped.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self { stopped: true, .. } => 130,
            Self { failed: 0, .. } => 0,
            _ => 1,
        }
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
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}
