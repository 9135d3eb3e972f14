//! What people see in the terminal.

use super::headline::Findings;
use super::places;
use crate::journal::JournalKind;
use crate::leave::RunCounts;
use crate::reporting::{aligned, words};
use airlane_sim::OutFolder;

/// Cells that are printed; the rest is in the files.
const PRINTED: usize = 40;

/// A row per cell: the figure that matters most under each scheme, means over cases and seeds.
pub(super) fn table(findings: &Findings<'_>) -> String {
    let headlines = findings.headlines();
    let Some(first) = headlines.first().filter(|_| findings.count().1 > 0) else {
        return String::new();
    };
    let schemes = findings.schemes();
    let unit = &first.column.unit;
    let unit = if unit.is_empty() { String::new() } else { format!(", {unit}") };
    let mut lines = vec![vec![format!("{}{unit}", first.column.title)]];
    lines[0].extend(schemes.iter().map(|(_, title)| (*title).to_owned()));
    for cell in findings.cells.iter().take(PRINTED) {
        let mut line = vec![places::of(findings.grid, cell)];
        for (scheme, _) in &schemes {
            let digits = usize::from(first.column.digits);
            line.push(match findings.measured(cell, scheme, first) {
                None => "-".to_owned(),
                Some(m) => match m.ci95 {
                    None => format!("{:.digits$}", m.mean),
                    Some([lo, hi]) => format!("{:.digits$} [{lo:.digits$}, {hi:.digits$}]", m.mean),
                },
            });
        }
        lines.push(line);
    }
    let mut text = aligned(&lines);
    if findings.cells.len() > PRINTED {
        let more = words::plural(findings.cells.len() - PRINTED, "more cell");
        text += &format!("{more}: see sweep.csv\n");
    }
    text
}

/// The last line: what came out, what was there from before, where it is.
pub(super) fn line(verdict: &str, folder: &OutFolder, course: RunCounts, damaged: usize) -> String {
    let mut parts = vec![verdict.to_owned()];
    parts.extend(JournalKind::Sweep.remarks(course, damaged));
    parts.push(format!("Report: {}", folder.path("report.html").display()));
    parts.retain(|p| !p.is_empty());
    parts.join(" ")
}
