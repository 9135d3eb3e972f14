//! The part of a result that the seed does not determine: `run.json`.

use serde::{Deserialize, Serialize};

/// The version of Airlane.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The commit that Airlane was built from, `unknown` outside a git repository.
pub const COMMIT: &str = env!("AIRLANE_COMMIT");

/// The circumstances of a command: the whole content of `run.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunInfo {
    /// Version of Airlane.
    pub airlane: String,
    /// Commit of Airlane.
    pub commit: String,
    /// The machine's name.
    pub host: String,
    /// Its processors.
    pub cpus: usize,
    /// Start of the command: date and time, UTC, RFC 3339.
    pub date: String,
    /// Duration of the command, seconds.
    pub wall_s: f64,
    /// The command as it was given.
    pub command: Vec<String>,
    /// Worlds at once.
    pub jobs: usize,
    /// Runs that the command asked for.
    pub runs_planned: usize,
    /// Runs that finished; fewer if it was stopped.
    pub runs_finished: usize,
    /// Runs that an earlier start of the same sweep had finished.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub runs_reused: usize,
    /// True if it was stopped before its end.
    pub stopped: bool,
}

fn is_zero(n: &usize) -> bool {
    *n == 0
}

impl RunInfo {
    /// The circumstances as JSON text.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("plain fields");
        text.push('\n');
        text
    }
}
