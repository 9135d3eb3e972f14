//! `airlane tunnel` between network namespaces, beside what each path gives alone, kernel MPTCP, the
//! laboratory's prediction and a chain of two socat: `docs/results/tunnel.md`. A script measures;
//! it takes root.

pub(crate) mod peer;

use std::process::Command;

use serde::Deserialize;

use crate::bar::{Figure, Problem, Rule, Setting};
use crate::process::airlane;

/// The program that measures, in the project's folder.
const SCRIPT: &str = "scripts/bench/tunnel";

/// Units of its figures.
const UNITS: [&str; 4] = ["Mbit/s", "Gbit/s", "ms", "s/GB"];

/// Output of the script.
#[derive(Debug, Deserialize)]
struct Answer {
    figures: Vec<Told>,
    /// Measurements that were left out, and why.
    missing: Vec<String>,
}

/// A figure as the script has it.
#[derive(Debug, Deserialize)]
struct Told {
    bar: String,
    /// `None` if it broke.
    ours: Option<f64>,
    peer: Option<f64>,
    unit: String,
    rule: Rule,
    note: String,
}

pub(super) fn measure(setting: &Setting) -> Result<Vec<Figure>, Problem> {
    if !setting.root.join(SCRIPT).exists() {
        let why = format!("{SCRIPT} is not here: run the bench in the project's folder");
        return Err(Problem::Skipped(why));
    }
    let mut script = Command::new("python3");
    // noq's multipath is in this program.
    let own = std::env::current_exe().map_err(|e| Problem::Broke(format!("where am I? {e}")))?;
    script.arg(SCRIPT).arg("--airlane").arg(airlane()?).arg("--noq").arg(own);
    script.current_dir(&setting.root);
    if setting.quick {
        script.arg("--quick");
    }
    let done = script.output().map_err(|e| Problem::Skipped(format!("python3: {e}")))?;
    if !done.status.success() {
        let text = String::from_utf8_lossy(&done.stderr);
        let last = text.lines().last().unwrap_or("it says nothing");
        return Err(Problem::Broke(format!("{SCRIPT}: {}: {last}", done.status)));
    }
    let answer = serde_json::from_slice(&done.stdout)
        .map_err(|e| Problem::Broke(format!("{SCRIPT} printed: {e}")))?;
    figures(answer)
}

/// The figures of an answer; the last says what is left out.
fn figures(answer: Answer) -> Result<Vec<Figure>, Problem> {
    let missing = answer.missing.join("; ");
    let mut figures: Vec<Figure> =
        answer.figures.into_iter().map(figure).collect::<Result<_, _>>()?;
    match figures.last_mut() {
        None => return Err(Problem::Skipped(missing)),
        Some(last) if !missing.is_empty() => last.note.push_str(&format!("; left out: {missing}")),
        Some(_) => {}
    }
    Ok(figures)
}

fn figure(told: Told) -> Result<Figure, Problem> {
    let unit = UNITS.into_iter().find(|u| *u == told.unit);
    let unit = unit.ok_or_else(|| Problem::Broke(format!("{SCRIPT}: the unit {}", told.unit)))?;
    Ok(Figure {
        bar: told.bar,
        // What is no number holds no rule.
        ours: told.ours.unwrap_or(f64::NAN),
        peer: told.peer,
        unit,
        rule: told.rule,
        note: told.note,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<Figure>, Problem> {
        figures(serde_json::from_str(text).expect("an answer"))
    }

    #[test]
    fn what_the_script_prints_becomes_figures_with_rules() {
        let figures = read(
            r#"{"figures": [
                {"bar": "tunnel.20-30.tcp", "ours": 46.5, "peer": 47.7, "unit": "Mbit/s",
                 "rule": {"times_peer": 0.95}, "note": ""},
                {"bar": "tunnel.loopback.cpu_tcp", "ours": 3.0, "peer": 1.5, "unit": "s/GB",
                 "rule": "reported", "note": ""},
                {"bar": "tunnel.loss.quic", "ours": null, "peer": null, "unit": "Mbit/s",
                 "rule": {"above": 0.0}, "note": "broke: iperf3"}],
                "missing": ["no mptcpize"]}"#,
        )
        .expect("figures");
        let holds: Vec<_> = figures.iter().map(Figure::holds).collect();
        assert_eq!(holds, [Some(true), None, Some(false)]);
        assert_eq!(figures[1].ratio(), Some(2.0));
        assert_eq!(figures[2].note, "broke: iperf3; left out: no mptcpize");
    }

    #[test]
    fn without_figures_the_bar_is_skipped_and_says_why() {
        let told = read(r#"{"figures": [], "missing": ["making network namespaces takes root"]}"#);
        match told {
            Err(Problem::Skipped(why)) => assert!(why.contains("takes root"), "{why}"),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_unit_that_the_bench_does_not_know_is_a_fault() {
        let told = read(
            r#"{"figures": [{"bar": "tunnel.x", "ours": 1.0, "peer": null, "unit": "furlongs",
                "rule": "reported", "note": ""}], "missing": []}"#,
        );
        assert!(matches!(told, Err(Problem::Broke(why)) if why.contains("furlongs")));
    }
}
