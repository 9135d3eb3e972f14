//! Four browsers behind the emulated link, beside what the laboratory predicts:
//! `docs/guide/browsers.md`. It takes half an hour, most of it waiting, and packs its titles first.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use airlane_judge::summary::{ClaimEntry, Summary};

use crate::bar::{Figure, Problem, Rule, Setting};
use crate::process::airlane;

/// Sizes of the titles, in the order in which they are tried: the next one if all runs are void.
const SIZES: [&str; 2] = ["720p25", "360p25"];

/// Length of the titles: one set for all stories.
const TITLES_S: &str = "250";

/// A way to run the story.
#[derive(Clone, Copy)]
struct Story {
    name: &'static str,
    abr: &'static str,
    schemes: &'static str,
    seconds: u64,
    rounds: usize,
    /// Rounds of a quick bench.
    quick_rounds: usize,
}

/// Means over 5 runs of a minute.
const SHORT: Story = Story {
    name: "short",
    abr: "mpc",
    schemes: "minerva",
    seconds: 60,
    rounds: 5,
    quick_rounds: 1,
};
const LONG: Story = Story { name: "long", seconds: 200, rounds: 1, ..SHORT };
/// Players go by dash.js's own rule. An interval takes two rounds.
const GAIN: Story = Story {
    name: "gain",
    abr: "dynamic",
    schemes: "plain,minerva",
    seconds: 90,
    rounds: 5,
    quick_rounds: 2,
};

pub(super) fn measure(setting: &Setting) -> Result<Vec<Figure>, Problem> {
    let mut figures = Vec::new();
    for story in [SHORT, LONG] {
        let (claims, size) = told(setting, story)?;
        for (id, unit, most) in [("quality", "points", 5.0), ("rate", "%", 10.0)] {
            let claim = of(&claims, &format!("browsers.minerva.{id}"))?;
            figures.push(Figure {
                bar: format!("browsers.{}.{id}", story.name),
                ours: claim.measured.ok_or_else(|| void(story, claim))?,
                peer: None,
                unit,
                rule: Rule::AtMost(most),
                note: format!(
                    "greatest difference of a player between its browser and the laboratory, \
                     {size}, {} of {} s that count",
                    runs(claim.n),
                    story.seconds
                ),
            });
        }
    }
    let (claims, size) = told(setting, GAIN)?;
    let claim = of(&claims, "browsers.gain")?;
    let (mean, [low, high]) = claim.measured.zip(claim.ci95).ok_or_else(|| void(GAIN, claim))?;
    figures.push(Figure {
        bar: "browsers.gain".into(),
        ours: low,
        peer: None,
        unit: "points",
        rule: Rule::Above(0.0),
        note: format!(
            "lower end of the 95 % interval ({low:+.1} to {high:+.1}, mean {mean:+.1}) of min-QoE \
             under Minerva less that under plain Cubic, dash.js's own rule, {size}, {} pairs of {} s",
            claim.n, GAIN.seconds
        ),
    });
    Ok(figures)
}

/// There are too few runs that count for the figure of a claim.
fn void(story: Story, claim: &ClaimEntry) -> Problem {
    let why = if claim.reason.is_empty() { "too few runs" } else { &claim.reason };
    Problem::Skipped(format!("{} of the story {}: {why}", claim.id, story.name))
}

fn runs(n: u64) -> String {
    if n == 1 { "1 run".to_owned() } else { format!("{n} runs") }
}

fn of<'a>(claims: &'a [ClaimEntry], id: &str) -> Result<&'a ClaimEntry, Problem> {
    claims.iter().find(|c| c.id == id).ok_or_else(|| Problem::Broke(format!("no claim {id}")))
}

/// Runs the story, with smaller pictures if the machine was too busy, and has it judged.
fn told(setting: &Setting, story: Story) -> Result<(Vec<ClaimEntry>, &'static str), Problem> {
    let mut last = None;
    for size in SIZES {
        let claims = run(setting, story, size)?;
        if claims.iter().any(|c| c.n > 0) {
            return Ok((claims, size));
        }
        last = Some((claims, size));
    }
    last.ok_or_else(|| Problem::Broke("no size".into()))
}

fn run(setting: &Setting, story: Story, size: &str) -> Result<Vec<ClaimEntry>, Problem> {
    let airlane = airlane()?;
    let script = setting.root.join("tests/browser/story.mjs");
    if !setting.root.join("tests/browser/node_modules").is_dir() {
        return Err(Problem::Skipped("no packages from npm: make setup".into()));
    }
    let out = setting.root.join("out/bench/browsers").join(story.name);
    let titles = titles(setting, size);
    let mut command = Command::new("node");
    command.arg(script).args(["--abr", story.abr, "--schemes", story.schemes, "--size", size]);
    command.arg("--airlane").arg(&airlane).arg("--out").arg(&out);
    command.arg("--made").arg(&titles).args(["--length-s", TITLES_S]);
    command.args(["--duration-s", &story.seconds.to_string()]);
    let rounds = if setting.quick { story.quick_rounds } else { story.rounds };
    command.args(["--repeat", &rounds.to_string()]);
    ran(&mut command, &[0])?;
    let report = out.join("report");
    // 1: a claim fails, which the figures say.
    ran(Command::new(&airlane).arg("report").arg(&out).arg("--out").arg(&report), &[0, 1])?;
    summary(&report.join("summary.json"))
}

/// Folder in which titles are kept from one bench to the next.
fn titles(setting: &Setting, size: &str) -> PathBuf {
    setting.root.join("target/browser-titles").join(size)
}

fn ran(command: &mut Command, codes: &[i32]) -> Result<(), Problem> {
    let done = command.output().map_err(|e| Problem::Skipped(format!("node or airlane: {e}")))?;
    match done.status.code() {
        Some(code) if codes.contains(&code) => Ok(()),
        _ => {
            let said = String::from_utf8_lossy(&done.stderr);
            let last = said.lines().rev().take(3).collect::<Vec<_>>().join("; ");
            Err(Problem::Broke(format!("{}: {last}", done.status)))
        }
    }
}

fn summary(file: &Path) -> Result<Vec<ClaimEntry>, Problem> {
    let broke = |e: String| Problem::Broke(format!("{}: {e}", file.display()));
    let text = fs::read_to_string(file).map_err(|e| broke(e.to_string()))?;
    let summary: Summary = serde_json::from_str(&text).map_err(|e| broke(e.to_string()))?;
    Ok(summary.claims)
}
