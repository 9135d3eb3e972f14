//! `airlane tunnel` between network namespaces, beside what each path gives alone, kernel MPTCP, the
//! laboratory's prediction and a chain of two socat: `docs/results/tunnel.md`. A script measures;
//! it takes root.

pub(crate) mod peer;

use std::process::Command;

use crate::bar::{Figure, Problem, Setting};
use crate::process::airlane;
use crate::script;

/// The program that measures, in the project's folder.
const SCRIPT: &str = "scripts/bench/tunnel";

/// Units of its figures.
const UNITS: [&str; 4] = ["Mbit/s", "Gbit/s", "ms", "s/GB"];

pub(super) fn measure(setting: &Setting) -> Result<Vec<Figure>, Problem> {
    script::find(setting, SCRIPT)?;
    let mut command = Command::new("python3");
    // noq's multipath is in this program.
    let own = std::env::current_exe().map_err(|e| Problem::Broke(format!("where am I? {e}")))?;
    command.arg(SCRIPT).arg("--airlane").arg(airlane()?).arg("--noq").arg(own);
    command.current_dir(&setting.root);
    if setting.quick {
        command.arg("--quick");
    }
    let done = command.output().map_err(|e| Problem::Skipped(format!("python3: {e}")))?;
    script::figures(SCRIPT, &done, &UNITS)
}
