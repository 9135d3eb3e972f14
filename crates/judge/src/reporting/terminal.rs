//! The table on the terminal.

use std::fmt::Write as _;

use super::tables::headlines;
use airlane_net::Direction;
use airlane_scenario::Access;
use airlane_sim::Results;
use airlane_sim::workload::{Headline, RunResult};

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
    // Of several accesses the use of each way down, or the air of all its stations.
    let accesses: Vec<&Access> = match network.bottleneck() {
        Some(_) => Vec::new(),
        None => network.accesses.iter().filter(|access| has_ways(results, access)).collect(),
    };
    let mut lines = vec![vec![String::new()]];
    lines[0].extend(figures.iter().map(|(heading, _)| (*heading).to_owned()));
    lines[0].extend(accesses.iter().map(|access| match access.is_air() {
        true => format!("{} air", access.name),
        false if access.is_half_duplex() => format!("{} use", access.name),
        false => format!("{} down use", access.name),
    }));
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

/// True if anything was measured of an access: an access point on whose own access no host is has
/// nothing.
fn has_ways(results: &Results<'_>, access: &Access) -> bool {
    !access.is_air() || results.all().any(|(_, run)| used(run, access).is_some())
}

/// The use of a link's way down, of a half-duplex link's both ways together, or the share of the air of all stations of an access, both ways, %.
fn used(run: &RunResult, access: &Access) -> Option<f64> {
    if !access.is_air() {
        let of = |direction: Direction| {
            let name = format!("{}.{}", access.name, direction.name());
            run.ways.iter().find(|way| way.name == name)?.figures.value("link_utilisation")
        };
        let up = if access.is_half_duplex() { of(Direction::Up)? } else { 0.0 };
        return Some((of(Direction::Down)? + up) * 100.0);
    }
    let is_of = |name: &str| match name.strip_prefix(&access.name) {
        // Behind the name of the access the number of the station, from the second on.
        Some(rest) if rest.starts_with('.') => {
            rest.split('.').rev().skip(1).all(|part| part.chars().all(|c| c.is_ascii_digit()))
        }
        _ => false,
    };
    let ways = run.ways.iter().filter(|way| is_of(&way.name));
    let shares: Vec<f64> = ways.filter_map(|way| way.figures.value("air_share")).collect();
    (!shares.is_empty()).then(|| 100.0 * shares.iter().sum::<f64>())
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
pub fn aligned(lines: &[Vec<String>]) -> String {
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
