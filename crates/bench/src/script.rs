//! Figures that a script in the project's folder measures, and prints as JSON.

use std::process::Output;

use serde::Deserialize;

use crate::bar::{Figure, Problem, Rule, Setting};

/// Output of a script.
#[derive(Debug, Deserialize)]
struct Answer {
    figures: Vec<Printed>,
    /// Measurements that were left out, and why.
    missing: Vec<String>,
}

/// A figure as a script prints it.
#[derive(Debug, Deserialize)]
struct Printed {
    bar: String,
    /// `None` if it broke.
    ours: Option<f64>,
    peer: Option<f64>,
    unit: String,
    rule: Rule,
    note: String,
}

/// Finds out whether a script is in the project's folder.
///
/// # Errors
/// [`Problem::Skipped`] if it is not.
pub(crate) fn find(setting: &Setting, script: &str) -> Result<(), Problem> {
    if setting.root.join(script).exists() {
        return Ok(());
    }
    let why = format!("{script} is not here: run the bench in the project's folder");
    Err(Problem::Skipped(why))
}

/// Figures of a script that has ended; the last says what is left out. Their units are among `units`.
pub(crate) fn figures(
    script: &str,
    done: &Output,
    units: &[&'static str],
) -> Result<Vec<Figure>, Problem> {
    if !done.status.success() {
        let text = String::from_utf8_lossy(&done.stderr);
        let last = text.lines().last().unwrap_or("it says nothing");
        return Err(Problem::Broke(format!("{script}: {}: {last}", done.status)));
    }
    let answer = serde_json::from_slice(&done.stdout)
        .map_err(|e| Problem::Broke(format!("{script} printed: {e}")))?;
    of_answer(script, answer, units)
}

fn of_answer(script: &str, answer: Answer, units: &[&'static str]) -> Result<Vec<Figure>, Problem> {
    let missing = answer.missing.join("; ");
    let figure = |printed| figure(script, printed, units);
    let mut figures: Vec<Figure> =
        answer.figures.into_iter().map(figure).collect::<Result<_, _>>()?;
    match figures.last_mut() {
        None => return Err(Problem::Skipped(missing)),
        Some(last) if !missing.is_empty() => last.note.push_str(&format!("; left out: {missing}")),
        Some(_) => {}
    }
    Ok(figures)
}

fn figure(script: &str, printed: Printed, units: &[&'static str]) -> Result<Figure, Problem> {
    let unit = units.iter().find(|unit| **unit == printed.unit);
    let unit =
        unit.ok_or_else(|| Problem::Broke(format!("{script}: the unit {}", printed.unit)))?;
    Ok(Figure {
        bar: printed.bar,
        // What is no number holds no rule.
        ours: printed.ours.unwrap_or(f64::NAN),
        peer: printed.peer,
        unit,
        rule: printed.rule,
        note: printed.note,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<Figure>, Problem> {
        of_answer("a script", serde_json::from_str(text).expect("an answer"), &["Mbit/s", "s/GB"])
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
