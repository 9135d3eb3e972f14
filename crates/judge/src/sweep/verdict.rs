//! The one sentence on what came out of a sweep, computed from the figures.

use super::cells::Cell;
use super::headline::Findings;
use super::places;
use crate::reporting::{difference, words};
use airlane_sim::workload::{GridVerdict, Headline};

/// A difference that rounds to nothing in the digits shown.
const NOTHING: f64 = 0.05;

/// Verdict of a sweep: how often and by how much the last scheme is ahead of the best of the others
/// where there are viewers and schemes are compared, else from where to where the figure goes.
pub(super) fn verdict(findings: &Findings<'_>, stopped: bool) -> String {
    let (planned, finished) = findings.count();
    let mut parts = Vec::new();
    if stopped {
        parts.push(format!("Stopped after {finished} of {planned} runs."));
    }
    match findings.failures().count() {
        0 => {}
        n => parts.push(format!("{} failed.", words::plural(n, "session"))),
    }
    if finished > 0 {
        let sentence = match findings.grid_verdict() {
            Some((wording, figure)) => gains(findings, &wording, &figure),
            None => {
                let headlines = findings.headlines();
                let used = headlines.iter().find(|h| h.column.title == "Link use");
                used.and_then(|used| range(findings, "the link is in use for", used))
            }
        };
        parts.push(
            sentence
                .unwrap_or_else(|| "No run has the figures that a comparison needs.".to_owned()),
        );
    }
    parts.join(" ")
}

/// A gain of the last scheme over the best of the others in a cell.
struct Gain<'a> {
    cell: &'a Cell,
    mean: f64,
    ci95: Option<[f64; 2]>,
}

impl<'a> Gain<'a> {
    fn of(findings: &Findings<'a>, cell: &'a Cell, figure: &Headline) -> Option<Self> {
        let sides = findings.pairs(cell, figure);
        let (ours, others) = sides.split_last()?;
        let means = others.iter().filter_map(|s| Some((s, s.mean()?)));
        let (best, _) = means.max_by(|a, b| a.1.total_cmp(&b.1))?;
        let gain = difference(ours, best);
        let ci95 = gain.ci95(&format!("gain/{}", cell.plan.scenario.name));
        Some(Self { cell, mean: gain.mean()?, ci95: ci95.map(Into::into) })
    }

    /// 1 ahead, -1 behind, 0 neither.
    fn side(&self) -> i32 {
        let [lo, hi] = self.ci95.unwrap_or([self.mean; 2]);
        if self.mean.abs() < NOTHING || (lo <= 0.0 && hi >= 0.0) {
            0
        } else if self.mean > 0.0 {
            1
        } else {
            -1
        }
    }
}

fn gains(findings: &Findings<'_>, wording: &GridVerdict, figure: &Headline) -> Option<String> {
    let range = || range(findings, &format!("{} is", wording.figure), figure);
    let gains: Vec<Gain<'_>> =
        findings.cells.iter().filter_map(|c| Gain::of(findings, c, figure)).collect();
    let (Some(least), Some(most)) = (
        gains.iter().min_by(|a, b| a.mean.total_cmp(&b.mean)),
        gains.iter().max_by(|a, b| a.mean.total_cmp(&b.mean)),
    ) else {
        return range();
    };
    let schemes = findings.schemes();
    let (_, ours) = schemes.last()?;
    let count = |side| gains.iter().filter(|g| g.side() == side).count();
    let over = match schemes.as_slice() {
        [(_, other), _] => (*other).to_owned(),
        _ => "the best of the others".to_owned(),
    };
    let alone = gains.iter().all(|g| g.ci95.is_none());
    let chance = if alone { " (one run each: chance is not ruled out)" } else { "" };
    let none_or = |n: usize| if n == 0 { "none".to_owned() } else { n.to_string() };
    let unit = &figure.column.unit;
    let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
    let ci95 = most
        .ci95
        .map_or_else(String::new, |[lo, hi]| format!(" (95 % interval {lo:+.1} to {hi:+.1})"));
    let place = |g: &Gain<'_>| places::of(findings.grid, g.cell);
    let mut text = format!(
        "{} is better off under {ours} than under {over} in {} of {}, worse off in \
         {}, without a clear difference in {}{chance}; {:+.1}{unit}{ci95} at {}",
        words::sentence(wording.who),
        none_or(count(1)),
        words::plural(gains.len(), "cell"),
        none_or(count(-1)),
        none_or(count(0)),
        most.mean,
        place(most)
    );
    if gains.len() > 1 {
        text += &format!(", {:+.1} at {}", least.mean, place(least));
    }
    Some(text + ".")
}

/// From where to where a figure goes over all cells and schemes.
fn range(findings: &Findings<'_>, what: &str, figure: &Headline) -> Option<String> {
    let schemes = findings.schemes();
    let mut all = Vec::new();
    for cell in findings.cells {
        for (name, title) in &schemes {
            if let Some(mean) = findings.samples(cell, name, figure).mean() {
                all.push((mean, cell, *title));
            }
        }
    }
    let least = all.iter().min_by(|a, b| a.0.total_cmp(&b.0))?;
    let most = all.iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
    let unit = &figure.column.unit;
    let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
    let place = |(mean, cell, title): &(f64, &Cell, &str)| {
        let under = if schemes.len() > 1 { format!(" under {title}") } else { String::new() };
        format!("{mean:.1}{unit}{under} at {}", places::of(findings.grid, cell))
    };
    let cells = words::plural(findings.cells.len(), "cell");
    if all.len() == 1 {
        return Some(format!("In {cells} {what} {}.", place(most)));
    }
    Some(format!("Over {cells} {what} between {} and {}.", place(least), place(most)))
}
