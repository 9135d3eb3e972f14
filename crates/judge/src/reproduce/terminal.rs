//! The output on the terminal: a table of claims, and a closing sentence.

use super::claim_view::named;
use crate::summary::{ClaimEntry, Judgement, PaperValue, Summary, Tally};

/// The table of claims: id, paper, measured with its interval, n, verdict. Below each stand its
/// conditions, if there are several, and the reason of its verdict, if it needs one.
pub(super) fn table(summary: &Summary) -> String {
    let head = ["claim", "paper", "measured [95 %]", "n", "verdict"].map(str::to_owned);
    let mut rows = vec![(head, Vec::new())];
    for claim in &summary.claims {
        let cells = [
            claim.id.clone(),
            paper(claim),
            measured(claim.measured, claim.ci95),
            claim.n.to_string(),
            claim.verdict.name().to_owned(),
        ];
        let mut below = Vec::new();
        if claim.checks.len() > 1 {
            below.extend(claim.checks.iter().map(|c| {
                let figure = measured(c.measured, c.ci95);
                format!("{}: {figure}, {}: {}", named(c), c.rule, c.verdict.name())
            }));
        }
        if !claim.reason.is_empty() {
            below.push(claim.reason.clone());
        }
        rows.push((cells, below));
    }
    let widths: [usize; 5] =
        std::array::from_fn(|i| rows.iter().map(|(c, _)| c[i].chars().count()).max().unwrap_or(0));
    let mut out = String::new();
    for (cells, below) in rows {
        let padded: Vec<String> =
            cells.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        out += padded.join("  ").trim_end();
        out.push('\n');
        for line in below {
            out += &format!("    {line}\n");
        }
    }
    out
}

/// One sentence: how many claims came out how; `stopped` has the runs finished and planned.
pub(super) fn verdict(summary: &Summary, stopped: Option<(usize, usize)>) -> String {
    let Tally { holds, fails, undecided, not_measured, reported } = summary.tally();
    let of = summary.claims.len();
    let noun = if of == 1 { "claim" } else { "claims" };
    let mut text = format!("{holds} of {of} {noun} held");
    let others = [
        (fails, "failed"),
        (undecided, "undecided"),
        (reported, "reported"),
        (not_measured, "not measured"),
    ];
    for (n, what) in others {
        if n > 0 {
            text += &format!(", {n} {what}");
        }
    }
    if let Some(Judgement { conditions, expected_false, .. }) = summary.judgement {
        text +=
            &format!(" (by chance up to {expected_false:.1} of {conditions} conditions are wrong)");
    }
    match stopped {
        Some((finished, planned)) => {
            format!("Stopped after {finished} of {planned} runs: {text}.")
        }
        None => format!("{text}."),
    }
}

/// The paper's figure: the number with its unit, or that it gives none (its words are in the
/// report).
fn paper(claim: &ClaimEntry) -> String {
    match &claim.paper {
        PaperValue::Value(v) => format!("{v} {}", claim.unit),
        PaperValue::Range([a, b]) => format!("{a} to {b} {}", claim.unit),
        PaperValue::Text(_) => "no figure".to_owned(),
    }
}

fn measured(value: Option<f64>, ci95: Option<[f64; 2]>) -> String {
    match (value, ci95) {
        (None, _) => "-".to_owned(),
        (Some(v), None) => format!("{v:.2}"),
        // An interval that would shrink to a point shows more.
        (Some(v), Some([lo, hi])) if hi - lo < 0.02 => format!("{v:.3} [{lo:.3}, {hi:.3}]"),
        (Some(v), Some([lo, hi])) => format!("{v:.2} [{lo:.2}, {hi:.2}]"),
    }
}
