//! What people see in the terminal.

use super::compare::{Change, Comparison, DiffCounts};
use super::read::ComparedResult;
use crate::reporting::{aligned, words};
use crate::request::DiffRequest;
use crate::summary::ClaimEntry;

/// Order of the figures, in words.
pub(super) const ORDER: &str = "largest change first, what may be chance last";

/// Table of what changed: claims, then figures, largest first.
pub(super) fn table(
    a: &ComparedResult,
    b: &ComparedResult,
    comparison: &Comparison<'_>,
    shown: &[&Change<'_>],
    request: &DiffRequest,
) -> String {
    let mut out = format!("A: {}\nB: {}\n", a.describe(), b.describe());
    if !comparison.claims.is_empty() {
        out += "\nClaims that changed:\n";
        let head = ["claim", "A", "B"].map(str::to_owned).to_vec();
        let lines = comparison.claims.iter().map(|c| vec![name(c.a), claim(c.a), claim(c.b)]);
        out += &aligned(&std::iter::once(head).chain(lines).collect::<Vec<_>>());
    }
    if !shown.is_empty() {
        let beyond = percent(request.threshold);
        out += &match request.all {
            true => format!("\nFigures that changed, {ORDER}:\n"),
            false => format!("\nFigures that changed by more than {beyond}, {ORDER}:\n"),
        };
        let head = ["figure", "pairs", "A", "B", "B - A", "95 %", "relative"].map(str::to_owned);
        let lines = shown.iter().map(|c| {
            let (experiment, scheme, metric, unit) = c.figure;
            let unit = if unit.is_empty() { String::new() } else { format!(" [{unit}]") };
            let name = format!("{experiment}, {scheme}, {metric}{unit}");
            std::iter::once(name).chain(values(c)).collect()
        });
        out += &aligned(&std::iter::once(head.to_vec()).chain(lines).collect::<Vec<_>>());
        let more = comparison.changes.len() - shown.len();
        if more > 0 {
            out += &format!("{} changed: see --all\n", words::plural(more, "more figure"));
        }
    }
    out
}

/// The cells of a change: pairs, both means, their difference with its interval, and that as a
/// share.
pub(super) fn values(change: &Change<'_>) -> impl Iterator<Item = String> {
    let (a, b) = change.means();
    let difference = change.difference();
    // As many digits as the larger of the two has.
    let digits = digits(a.abs().max(b.abs()));
    let ci95 = change.ci95();
    [
        change.pairs().to_string(),
        format!("{a:.digits$}"),
        format!("{b:.digits$}"),
        format!("{difference:+.digits$}"),
        ci95.map_or_else(|| "-".to_owned(), |[lo, hi]| format!("[{lo:+.digits$}, {hi:+.digits$}]")),
        format!("{:.1} %", 100.0 * change.relative()),
    ]
    .into_iter()
}

/// Digits after the point that leave four to five significant ones.
fn digits(size: f64) -> usize {
    if size <= 0.0 {
        return 1;
    }
    (3.0 - size.log10().floor()).clamp(0.0, 9.0) as usize
}

pub(super) fn name(claim: &ClaimEntry) -> String {
    format!("{}, {}", claim.id, claim.content)
}

/// A claim's figure with its interval, and its verdict.
pub(super) fn claim(claim: &ClaimEntry) -> String {
    let figure = match (claim.measured, claim.ci95) {
        (None, _) => "not measured".to_owned(),
        (Some(v), None) => format!("{v:.2}"),
        (Some(v), Some([lo, hi])) => format!("{v:.2} [{lo:.2}, {hi:.2}]"),
    };
    format!("{figure}, {}", claim.verdict.name())
}

/// A share as percent.
pub(super) fn percent(share: f64) -> String {
    format!("{} %", words::short(100.0 * share))
}

/// One line: whether anything changed, and how much.
pub(super) fn line(comparison: &Comparison<'_>, threshold: f64) -> String {
    let Comparison { common, only_a, only_b, .. } = comparison;
    let rows = words::plural(common.rows, "row");
    let runs = words::plural(common.runs, "run");
    let mut parts = Vec::new();
    if comparison.is_identical() {
        return match common.runs {
            0 => format!("Identical: {rows}, {}.", words::plural(common.claims, "claim")),
            _ => format!("Identical: {runs} with equal packet hashes, {rows}{}.", claims(*common)),
        };
    }
    if (common.rows, common.runs, common.claims) == (0, 0, 0) {
        parts.push("Nothing in common.".to_owned());
    } else {
        let (changed, beyond) = (comparison.changes.len(), comparison.beyond(threshold));
        parts.push(match changed {
            0 => format!("All {rows} in common are equal."),
            n => format!(
                "{n} of {} changed, {beyond} of them by more than {}.",
                words::plural(comparison.figures, "figure"),
                percent(threshold)
            ),
        });
        parts.push(match comparison.other_packets {
            0 if common.runs > 0 => format!("The packet hashes of {runs} are equal."),
            0 => String::new(),
            n => format!("The packet hashes of {n} of {runs} differ."),
        });
        if common.claims > 0 {
            let n = comparison.claims.len();
            parts.push(format!("{n} of {} changed.", words::plural(common.claims, "claim")));
        }
    }
    for (side, only) in [("A", only_a), ("B", only_b)] {
        if *only != DiffCounts::default() {
            let runs = words::plural(only.runs, "run");
            let rows = words::plural(only.rows, "row");
            parts.push(format!("Only in {side}: {runs}, {rows}{}.", claims(*only)));
        }
    }
    parts.retain(|p| !p.is_empty());
    parts.join(" ")
}

fn claims(count: DiffCounts) -> String {
    match count.claims {
        0 => String::new(),
        n => format!(", {}", words::plural(n, "claim")),
    }
}
