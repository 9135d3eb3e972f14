//! What a front (the command line, later Python) asks of the laboratory, and what it gets back.

use std::path::PathBuf;

use airlane_sim::Common;

use crate::record::RecordRequest;

/// Run a scenario.
pub struct RunRequest<'a> {
    /// Options that all commands have in common.
    pub common: Common<'a>,
    /// The file, or the name of an embedded scenario.
    pub scenario: PathBuf,
    /// Changes to it: `key=value`.
    pub set: Vec<String>,
}

/// Run a scenario under every combination of some values.
pub struct SweepRequest<'a> {
    /// Options that all commands have in common.
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

/// Run the demonstration scenarios.
pub struct DemoRequest<'a> {
    /// Options that all commands have in common.
    pub common: Common<'a>,
}

/// Measure a paper's figures.
pub struct ReproduceRequest<'a> {
    /// Options that all commands have in common.
    pub common: Common<'a>,
    /// The system, or `all`.
    pub system: String,
    /// To look around: fewer draws and seeds, from a stream that no verdict is made of.
    pub quick: bool,
    /// The claims that are measured: ids, or what ids begin with before a dot. None: all.
    pub only: Vec<String>,
    /// Forget what earlier starts in the same folder finished.
    pub fresh: bool,
    /// Journal of another build, whose runs count once one of each scheme was repeated with the same result.
    pub adopt: Option<PathBuf>,
    /// Record of the verdicts to write beside, if any. After a stop it gets those of the claims that finished.
    pub record: Option<RecordRequest>,
}

/// Tell whether the verdicts of a record still are about what runs today.
pub struct RecordCheckRequest<'a> {
    /// Options that all commands have in common.
    pub common: Common<'a>,
    /// The system.
    pub system: String,
    /// The claims that are looked at: ids, or what ids begin with before a dot. None: all.
    pub only: Vec<String>,
    /// The record.
    pub file: PathBuf,
}

/// Make a report of results.
pub struct ReportRequest {
    /// Folders that commands left.
    pub folders: Vec<PathBuf>,
    /// Folder for the report.
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
    /// True if a difference counts as a failure.
    pub check: bool,
    /// Folder for a report of it, if one is wanted.
    pub out: Option<PathBuf>,
}

/// Outcome of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// A table for people, some lines; empty if there is none. It stands above the line.
    pub table: String,
    /// One line for people: what came out.
    pub line: String,
    /// Folder of the results.
    pub out: PathBuf,
    /// Claims that fail, or sessions that did.
    pub failed: usize,
    /// True if it was stopped before its end; what had finished is written.
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
