//! Figures in words.

use crate::summary::{CheckEntry, ClaimEntry, PaperValue, Verdict};

/// A number with so many digits behind the point; zero has no sign.
pub(super) fn number(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$}");
    match text.strip_prefix('-') {
        Some(positive) if text.parse() == Ok(0.0) => positive.to_owned(),
        _ => text,
    }
}

/// A figure with its interval; `unit` follows the figure.
pub(super) fn figure(
    measured: Option<f64>,
    ci95: Option<[f64; 2]>,
    unit: &str,
    digits: usize,
) -> String {
    let Some(measured) = measured else { return "not measured".to_owned() };
    let ends = ci95.map_or_else(String::new, |[low, high]| {
        format!(" ({} to {})", number(low, digits), number(high, digits))
    });
    format!("{}{unit}{ends}", number(measured, digits))
}

/// The headline of a claim with its interval, n and verdict.
pub(super) fn headline(claim: &ClaimEntry) -> String {
    format!("{}: **{}**", measured(claim), claim.verdict.name())
}

/// The headline of a claim with its interval and n.
pub(super) fn measured(claim: &ClaimEntry) -> String {
    // An interval that would shrink to a point shows more.
    let is_narrow = claim.ci95.is_some_and(|[low, high]| high - low < 0.02);
    let more = usize::from(claim.unit.is_empty() && is_narrow);
    let digits = digits(&claim.unit) + more;
    format!("{}, n {}", figure(claim.measured, claim.ci95, percent(claim), digits), claim.n)
}

/// The paper's figure.
pub(super) fn paper(claim: &ClaimEntry) -> String {
    match &claim.paper {
        PaperValue::Value(value) => format!("{value}{}", percent(claim)),
        PaperValue::Range([low, high]) => format!("{low} to {high}{}", percent(claim)),
        PaperValue::Text(text) => text.clone(),
    }
}

/// A condition with its figure and its outcome.
pub(super) fn condition(check: &CheckEntry) -> String {
    let in_mbps = check.unit == "bit/s";
    let scale = if in_mbps { 1e-6 } else { 1.0 };
    let unit = match check.unit.as_str() {
        "" | "bit/s" => String::new(),
        unit => format!(" {unit}"),
    };
    let figure = figure(
        check.measured.map(|x| scale * x),
        check.ci95.map(|ends| ends.map(|x| scale * x)),
        &unit,
        2,
    );
    let cell = if check.cell.is_empty() { String::new() } else { format!(" in {}", check.cell) };
    let worst = if check.worst { ", the worst" } else { "" };
    let CheckEntry { metric, rule, verdict, .. } = check;
    let text = format!("{metric}{cell}{worst} {figure}, {rule}: {}", verdict.name());
    if in_mbps { format!("Mbit/s of {}", text.replace("_bps", "")) } else { text }
}

/// True of what a cell of a table tells beside the headline: of conditions over all cells those that do not hold, of
/// conditions in a cell the worst and those that fail.
pub(super) fn is_told(check: &CheckEntry, claim: &ClaimEntry) -> bool {
    if !check.cell.is_empty() {
        return check.worst || check.verdict == Verdict::Fails;
    }
    let is_well = matches!(check.verdict, Verdict::Holds | Verdict::Reported);
    !is_well && check.measured != claim.measured
}

fn percent(claim: &ClaimEntry) -> &'static str {
    if claim.unit.starts_with('%') { " %" } else { "" }
}

/// Digits behind the point of figures in a unit.
fn digits(unit: &str) -> usize {
    match unit {
        "" | "dB" | "x" => 2,
        _ if unit.starts_with("share") || unit.starts_with("sum") => 3,
        _ if unit.starts_with("of ") => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_has_no_sign() {
        assert_eq!([number(-0.04, 1), number(-0.06, 1), number(2.0, 0)], ["0.0", "-0.1", "2"]);
    }

    #[test]
    fn a_figure_has_its_interval() {
        assert_eq!(figure(None, None, " %", 1), "not measured");
        assert_eq!(figure(Some(1.25), Some([-1.0, 3.0]), " %", 1), "1.2 % (-1.0 to 3.0)");
    }
}
