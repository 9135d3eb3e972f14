//! Results as commands left them.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use airlane_base::InputError;

use crate::summary::Summary;
use airlane_sim::RunInfo;

/// One of the two results.
pub(super) struct ComparedResult {
    /// The folder or file, as it was given.
    pub(super) name: PathBuf,
    /// The file that was read.
    pub(super) file: PathBuf,
    /// Its content.
    pub(super) summary: Summary,
    /// If it was stopped: how many of its runs finished, and how many were planned.
    pub(super) stopped: Option<(usize, usize)>,
}

impl ComparedResult {
    /// Reads the summary in a folder, or the file itself.
    ///
    /// # Errors
    /// If there is none, or if it is no summary that this version knows.
    pub(super) fn read(name: &Path) -> Result<Self, InputError> {
        let folder = name.is_dir();
        let file = if folder { name.join("summary.json") } else { name.to_owned() };
        let bytes = fs::read(&file).map_err(|e| match e.kind() {
            ErrorKind::NotFound => {
                let found = if folder { "no summary.json in it" } else { "no such folder" };
                InputError::new(found, "expected a folder that airlane left").at_file(name)
            }
            _ => InputError::io(&file, "read the summary", &e),
        })?;
        let summary: Summary = serde_json::from_slice(&bytes).map_err(|e| {
            InputError::new(e.to_string(), "expected a summary.json of this version of airlane")
                .at_file(&file)
                .at_line(e.line().max(1))
        })?;
        let info = fs::read(file.with_file_name("run.json")).ok();
        let info = info.and_then(|text| serde_json::from_slice::<RunInfo>(&text).ok());
        let stopped = info.filter(|i| i.stopped).map(|i| (i.runs_finished, i.runs_planned));
        Ok(Self { name: name.to_owned(), file, summary, stopped })
    }

    /// The result in a line: where it is, what it is of, which build made it.
    pub(super) fn describe(&self) -> String {
        let Summary { scenario, airlane, commit, .. } = &self.summary;
        let commit = commit.get(..12).unwrap_or(commit);
        let stopped = self.stopped.map_or_else(String::new, |(finished, planned)| {
            format!(", stopped after {finished} of {planned} runs")
        });
        format!("{} ({scenario}, airlane {airlane}, commit {commit}{stopped})", self.name.display())
    }
}
