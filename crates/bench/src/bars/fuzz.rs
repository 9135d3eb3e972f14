//! The fuzz targets of the parsers: a minute each without a crash.

use std::path::Path;
use std::process::Command;

use crate::bar::{Figure, Problem, Rule, Setting};

const SECONDS: u64 = 60;

pub(super) fn measure(setting: &Setting) -> Result<Vec<Figure>, Problem> {
    let there = Command::new("cargo").args(["+nightly", "fuzz", "--version"]).output();
    if !there.is_ok_and(|o| o.status.success()) {
        return Err(Problem::Skipped(
            "cargo-fuzz or the nightly compiler is missing: rustup toolchain install nightly \
             --profile minimal && cargo install cargo-fuzz"
                .into(),
        ));
    }
    let seconds = if setting.quick { 2 } else { SECONDS };
    targets(&setting.root.join("fuzz/fuzz_targets"))?
        .into_iter()
        .map(|target| one(setting, &target, seconds))
        .collect()
}

/// The names of the targets.
fn targets(folder: &Path) -> Result<Vec<String>, Problem> {
    let entries = std::fs::read_dir(folder)
        .map_err(|e| Problem::Skipped(format!("no fuzz targets in this folder: {e}")))?;
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.path().file_stem()?.to_str().map(str::to_owned))
        .collect();
    names.sort();
    Ok(names)
}

fn one(setting: &Setting, target: &str, seconds: u64) -> Result<Figure, Problem> {
    let fuzz = |arguments: &[&str]| {
        let mut cargo = Command::new("cargo");
        cargo.args(["+nightly", "fuzz"]).args(arguments).current_dir(&setting.root).output()
    };
    let broke = |e: std::io::Error| Problem::Broke(format!("cargo fuzz: {e}"));
    let built = fuzz(&["build", target]).map_err(broke)?;
    if !built.status.success() {
        let text = String::from_utf8_lossy(&built.stderr);
        // The compiler's first complaint; cargo-fuzz's own words behind it say less.
        let mut complaints = text.lines().filter(|l| l.to_lowercase().starts_with("error"));
        let first = complaints.next().or(text.lines().last()).unwrap_or("no reason given");
        return Err(Problem::Broke(format!("{target} does not build: {first}")));
    }
    let limit = format!("-max_total_time={seconds}");
    let done = fuzz(&["run", target, "--", &limit]).map_err(broke)?;
    let text = String::from_utf8_lossy(&done.stderr);
    let line = |mark: &str| text.lines().find(|l| l.contains(mark)).unwrap_or_default().trim();
    let (crashes, note) = if done.status.success() {
        (0.0, line("Done ").to_owned())
    } else {
        (1.0, format!("{} {}", line("SUMMARY:"), line("Test unit written to")))
    };
    Ok(Figure {
        bar: format!("fuzz.{target}"),
        ours: crashes,
        peer: None,
        unit: "crashes",
        rule: Rule::AtMost(0.0),
        note,
    })
}
