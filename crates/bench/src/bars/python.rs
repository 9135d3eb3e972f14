//! The Python package beside the program: runs, schemes in Python, environments, Ray. A script measures, with the newest
//! wheel of `make wheel`.

use std::process::Command;

use crate::bar::{Figure, Problem, Setting};
use crate::process::airlane;
use crate::script;

/// The program that measures, in the project's folder.
const SCRIPT: &str = "scripts/bench/python-package";

/// Units of its figures.
const UNITS: [&str; 2] = ["x", "us"];

pub(super) fn measure(setting: &Setting) -> Result<Vec<Figure>, Problem> {
    script::find(setting, SCRIPT)?;
    let mut command = Command::new(setting.root.join(SCRIPT));
    command.arg(airlane()?).current_dir(&setting.root);
    if setting.quick {
        command.arg("--quick");
    }
    let done = command.output().map_err(|e| Problem::Skipped(format!("{SCRIPT}: {e}")))?;
    script::figures(SCRIPT, &done, &UNITS)
}
