//! Turns claims and their verdicts into the model of the page.

use airlane_report::model::{self, Bound, Check};

use crate::claims::{Claim, SupersededRule};
use crate::summary::{CheckEntry, ClaimEntry, FALSE_RATE, Judgement, PaperValue, Summary};

/// The words for the rule `general`.
const GENERAL_RULE: &str = "general rule: the paper's sign with the interval excluding zero, and \
                            at least half of its gain";

/// Introduction to claims: how they are judged, and how many verdicts may be wrong by chance.
pub(super) fn lead(summary: &Summary, quick: bool) -> String {
    let mut text =
        "Every claim of the paper is judged by a rule that was written before its draws \
                    were run: it holds if the whole 95 % interval over independent draws is on the \
                    good side of the rule, fails if the whole of it is on the other, and is \
                    undecided between; under ten draws it is undecided. All cells and seeds of a \
                    draw count as one. Both sides of a comparison have the same videos, start \
                    times and seed."
            .to_owned();
    if let Some(Judgement { claims, conditions, expected_false }) = summary.judgement {
        text += &format!(
            " {claims} claims were judged by {conditions} conditions. Where the truth is exactly \
             at a bound, an interval lies wholly on its wrong side in {:.1} % of cases; were it \
             so everywhere, {expected_false:.1} of these conditions would have a false outcome \
             by chance.",
            100.0 * FALSE_RATE
        );
    }
    if quick {
        text += " This was a quick run, to look around: its draws are others than those of \
                 verdicts, and few.";
    }
    text
}

/// A claim in the model of the page.
pub(super) fn claim(entry: &ClaimEntry, spec: Option<&Claim>) -> model::Claim {
    let before = |s: &SupersededRule| format!("{}. {}", s.rule_text, s.reason);
    let before: Vec<String> = spec.iter().flat_map(|c| &c.superseded).map(before).collect();
    let bound = headline_bound(entry);
    let also = if entry.checks.len() > 1 || bound.is_none() { &entry.checks[..] } else { &[] };
    model::Claim {
        id: entry.id.clone(),
        statement: entry.statement.clone(),
        source: entry.source.clone(),
        content: entry.content.clone(),
        paper: match &entry.paper {
            PaperValue::Value(v) => format!("{v}\u{a0}{}", entry.unit),
            PaperValue::Range([a, b]) => format!("{a} to {b} {}", entry.unit),
            PaperValue::Text(text) => text.clone(),
        },
        paper_value: match &entry.paper {
            PaperValue::Value(v) => Some(*v),
            _ => None,
        },
        measured: entry.measured,
        ci95: entry.ci95,
        unit: entry.unit.clone(),
        digits: digits(usual_digits(&entry.unit), entry.ci95),
        n: entry.n,
        rule: match entry.rule.as_str() {
            "general" => GENERAL_RULE.to_owned(),
            text => text.to_owned(),
        },
        bound,
        rule_before: before.join("; "),
        verdict: entry.verdict.shown(),
        also: also.iter().map(check).collect(),
        why: entry.reason.clone(),
        page: String::new(),
    }
}

/// Bound that the headline figure must meet, to be drawn beside it. `None` if the first condition
/// is about another figure.
fn headline_bound(entry: &ClaimEntry) -> Option<Bound> {
    let first = entry.checks.first().filter(|first| first.measured == entry.measured)?;
    let same = |c: &&CheckEntry| (&c.metric, &c.cell) == (&first.metric, &first.cell);
    let opposite = entry.checks.iter().filter(same).find(|c| c.above != first.above);
    Some(match opposite {
        Some(other) => Bound::Within(first.bound.min(other.bound), first.bound.max(other.bound)),
        None => bound(first),
    })
}

/// Digits behind the point: `usual`, and more for an interval that would shrink to a point.
fn digits(usual: u8, ci95: Option<[f64; 2]>) -> u8 {
    let narrow = ci95.is_some_and(|[low, high]| high - low < 2.0 * 0.1f64.powi(usual.into()));
    if narrow { 3 } else { usual }
}

/// The name of a condition: its statistic, and its cell.
pub(super) fn named(entry: &CheckEntry) -> String {
    match (entry.cell.as_str(), entry.worst) {
        ("", _) => entry.metric.clone(),
        (cell, false) => format!("{} in {cell}", entry.metric),
        (cell, true) => format!("{} in {cell}, the worst", entry.metric),
    }
}

/// The digits behind the point that figures of a unit usually have.
fn usual_digits(unit: &str) -> u8 {
    match unit.split(" of ").next() {
        Some("share") => 3,
        Some("%" | "points" | "ms") => 1,
        _ => 2,
    }
}

/// A condition.
fn check(entry: &CheckEntry) -> Check {
    Check {
        statement: named(entry),
        measured: entry.measured,
        ci95: entry.ci95,
        unit: entry.unit.clone(),
        digits: digits(usual_digits(&entry.unit), entry.ci95),
        rule: entry.rule.clone(),
        bound: Some(bound(entry)),
        verdict: entry.verdict.shown(),
    }
}

fn bound(entry: &CheckEntry) -> Bound {
    if entry.above { Bound::AtLeast(entry.bound) } else { Bound::AtMost(entry.bound) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::Verdict;

    fn check_of(cell: &str, worst: bool) -> CheckEntry {
        CheckEntry {
            metric: "gain".to_owned(),
            unit: String::new(),
            cell: cell.to_owned(),
            worst,
            rule: "above 0".to_owned(),
            bound: 0.0,
            above: true,
            measured: Some(1.0),
            ci95: Some([0.5, 1.5]),
            n: 20,
            verdict: Verdict::Holds,
        }
    }

    #[test]
    fn the_page_says_how_many_verdicts_chance_gets_wrong() {
        let mut summary = Summary::new("x", vec![1]);
        assert!(!lead(&summary, false).contains("by chance"));
        summary.judgement = Some(Judgement { claims: 3, conditions: 8, expected_false: 0.2 });
        let text = lead(&summary, false);
        assert!(text.contains("3 claims were judged by 8 conditions."), "{text}");
        assert!(text.contains("in 2.5 % of cases; were it so everywhere, 0.2 of these"), "{text}");
        assert!(!text.contains("quick run") && lead(&summary, true).contains("quick run"));
    }

    #[test]
    fn a_figure_that_is_to_lie_between_two_bounds_is_drawn_between_them() {
        let entry = |checks: Vec<CheckEntry>| ClaimEntry {
            id: "x".to_owned(),
            content: "embedded".to_owned(),
            source: String::new(),
            statement: String::new(),
            paper: PaperValue::Value(0.5),
            measured: Some(1.0),
            unit: "share".to_owned(),
            n: 20,
            ci95: Some([0.5, 1.5]),
            rule: String::new(),
            verdict: Verdict::Undecided,
            reason: String::new(),
            stream: String::new(),
            checks,
            chart: Vec::new(),
            draws: Vec::new(),
        };
        let low = CheckEntry { bound: 0.9, ..check_of("", false) };
        let high = CheckEntry { bound: 1.1, above: false, ..check_of("", false) };
        let other = CheckEntry { metric: "stalls".to_owned(), ..high.clone() };
        let drawn = |checks| headline_bound(&entry(checks));
        assert_eq!(drawn(vec![low.clone(), high]), Some(Bound::Within(0.9, 1.1)));
        assert_eq!(drawn(vec![low.clone(), other]), Some(Bound::AtLeast(0.9)));
        assert_eq!(drawn(vec![CheckEntry { measured: Some(2.0), ..low }]), None);
    }

    #[test]
    fn conditions_are_named_with_their_cell() {
        assert_eq!(named(&check_of("", false)), "gain");
        assert_eq!(named(&check_of("slow", false)), "gain in slow");
        assert_eq!(named(&check_of("slow", true)), "gain in slow, the worst");
    }
}
