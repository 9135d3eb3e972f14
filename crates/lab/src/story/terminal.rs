//! The table on the terminal.

use std::fmt::Write as _;

use super::results::Results;
use super::tables::headlines;
use crate::workload::{Headline, RunResult};

/// A row per scheme, means over cases and seeds, with a line break at the end of each; empty if no
/// run finished.
pub(super) fn table(results: &Results<'_>) -> String {
    if results.all().next().is_none() {
        return String::new();
    }
    let figures: Vec<(&str, Headline)> = headlines(results.plan)
        .into_iter()
        .filter_map(|figure| Some((figure.terminal?, figure)))
        .collect();
    let network = &results.plan.scenario.network;
    // Of several accesses the use of each way down.
    let accesses: Vec<&str> = match network.bottleneck() {
        Some(_) => Vec::new(),
        None => network.accesses.iter().map(|a| a.name.as_str()).collect(),
    };
    let used = |run: &RunResult, access: &str| {
        let way = run.ways.iter().find(|w| w.name == format!("{access}.down"))?;
        Some(way.figures.value("link_utilisation")? * 100.0)
    };
    let mut lines = vec![vec![String::new()]];
    lines[0].extend(figures.iter().map(|(heading, _)| (*heading).to_owned()));
    lines[0].extend(accesses.iter().map(|access| format!("{access} down use")));
    for (i, scheme) in results.plan.scenario.schemes.iter().enumerate() {
        let mut line = vec![scheme.title.clone()];
        for (_, figure) in &figures {
            let mean = results.samples(i, |run| figure.of(run)).mean();
            line.push(mean.map_or_else(|| "-".to_owned(), |value| shown(figure, value)));
        }
        for access in &accesses {
            let mean = results.samples(i, |run| used(run, access)).mean();
            line.push(mean.map_or_else(|| "-".to_owned(), |v| format!("{v:.1} %")));
        }
        lines.push(line);
    }
    aligned(&lines)
}

/// A value with its unit; points go without.
fn shown(figure: &Headline, value: f64) -> String {
    let digits = usize::from(figure.column.digits);
    match figure.column.unit.as_str() {
        "" | "points" => format!("{value:.digits$}"),
        unit => format!("{value:.digits$} {unit}"),
    }
}

/// The first column to the left, the others to the right.
pub(crate) fn aligned(lines: &[Vec<String>]) -> String {
    let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
    let width = |c: usize| {
        lines.iter().filter_map(|l| l.get(c)).map(|s| s.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut out = String::new();
    for line in lines {
        for (c, (text, width)) in line.iter().zip(&widths).enumerate() {
            let written = match c {
                0 => write!(out, "{text:<width$}"),
                _ => write!(out, "  {text:>width$}"),
            };
            written.expect("a String takes it");
        }
        out.push('\n');
    }
    out
}
