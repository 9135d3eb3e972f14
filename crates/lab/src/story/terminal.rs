//! The table on the terminal.

use std::fmt::Write as _;

use super::figures::RunFigures;
use super::results::Results;

type Figure = (&'static str, &'static str, usize, fn(&RunFigures) -> Option<f64>);

const OF_VIEWERS: &[Figure] = &[
    ("worst QoE", "", 1, RunFigures::min_qoe),
    ("mean QoE", "", 1, RunFigures::mean_qoe),
    ("stalled", " s", 1, |r| Some(r.stall_total_s())),
];

const OF_TRANSFERS: &[Figure] = &[
    ("goodput", " Mbit/s", 2, |r| {
        let all: Option<Vec<f64>> = r.bulk.iter().map(|b| b.goodput_bps).collect();
        Some(all?.into_iter().sum::<f64>() / 1e6)
    }),
    ("evenness", "", 3, RunFigures::jain),
];

const OF_LINK: &[Figure] = &[
    ("link use", " %", 1, |r| Some(r.link?.utilisation * 100.0)),
    ("queueing", " ms", 1, |r| Some(r.link?.mean_queue_ms)),
];

/// A row per scheme, means over cases and seeds, with a line break at the end of each; empty if no
/// run finished.
pub(super) fn table(results: &Results<'_>) -> String {
    if results.all().next().is_none() {
        return String::new();
    }
    let scenario = &results.plan.scenario;
    let mut figures: Vec<&Figure> = Vec::new();
    if !scenario.viewers.is_empty() {
        figures.extend(OF_VIEWERS);
    }
    if !scenario.bulk.is_empty() {
        figures.extend(OF_TRANSFERS);
    }
    figures.extend(OF_LINK);
    let mut lines = vec![vec![String::new()]];
    lines[0].extend(figures.iter().map(|f| f.0.to_owned()));
    for (i, scheme) in scenario.schemes.iter().enumerate() {
        let mut line = vec![scheme.title.clone()];
        for (_, unit, digits, figure) in &figures {
            let mean = results.samples(i, figure).mean();
            line.push(mean.map_or_else(|| "-".to_owned(), |v| format!("{v:.digits$}{unit}")));
        }
        lines.push(line);
    }
    aligned(&lines)
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
