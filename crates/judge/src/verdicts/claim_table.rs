//! The table of claims: what was measured, its interval, n and the verdict, with a column per content.

use super::contents::{Content, Contents};
use super::{figure, markdown, short_id};
use crate::summary::{ClaimEntry, Judgement, Verdict};

/// The table, followed by how many verdicts there are of each content.
pub(super) fn table(contents: &Contents, is_short: bool) -> String {
    let mut head = ["claim", "unit", "paper"].map(str::to_owned).to_vec();
    head.extend(contents.list.iter().map(|content| content.heading().to_owned()));
    let cell = if is_short { short_cell } else { whole_cell };
    let mut rows = Vec::new();
    for id in contents.ids() {
        let of_contents: Vec<Option<&ClaimEntry>> =
            contents.list.iter().map(|content| content.claim(id)).collect();
        let Some(first) = of_contents.iter().flatten().next() else { continue };
        let mut row = vec![short_id(id), first.unit.clone(), figure::paper(first)];
        row.extend(of_contents.iter().map(|claim| claim.map_or("-".to_owned(), cell)));
        rows.push(row);
    }
    let mut text = markdown(&head, &rows);
    for content in &contents.list {
        let told = judged(content, contents.stale(content));
        if !told.is_empty() {
            text += &format!("\n\n{told}");
        }
    }
    text
}

fn whole_cell(claim: &ClaimEntry) -> String {
    let verdict = claim.verdict.name();
    if claim.checks.len() > 1 && claim.checks[0].unit == "bit/s" {
        // Its first condition is a difference of rates, and no figure of the claim's own unit.
        let conditions: Vec<String> = claim.checks.iter().map(figure::condition).collect();
        return format!("{}; n {}: **{verdict}**", conditions.join("; "), claim.n);
    }
    let mut text = figure::measured(claim);
    if claim.checks.len() > 1 {
        let mut told: Vec<(&str, &str)> = Vec::new();
        for check in &claim.checks {
            let of = (check.metric.as_str(), check.cell.as_str());
            // A second bound on the same figure says nothing new of a cell.
            let again = !check.cell.is_empty() && told.contains(&of);
            told.push(of);
            if figure::is_told(check, claim) && !again {
                text += &format!("; {}", figure::condition(check));
            }
        }
    }
    let reason =
        if claim.reason.is_empty() { String::new() } else { format!(" ({})", claim.reason) };
    format!("{text}: **{verdict}**{reason}")
}

/// The headline, and how many conditions hold.
fn short_cell(claim: &ClaimEntry) -> String {
    let headline = figure::headline(claim);
    if claim.checks.len() < 2 {
        return headline;
    }
    let hold = claim.checks.iter().filter(|check| check.verdict == Verdict::Holds).count();
    format!("{headline}, {hold} of {} conditions", claim.checks.len())
}

/// Numbers of a content's claims that were judged and that are stale, in words; empty if neither.
fn judged(content: &Content, stale: usize) -> String {
    let on = if content.name.is_empty() { String::new() } else { format!("On {} ", content.name) };
    let all = content.claims.len();
    let stale = if stale == 0 {
        String::new()
    } else {
        format!(
            " **{stale} of {all} are stale**: a rule, a scene or a default has changed since, so that the claim has other draws now and is to be run again."
        )
    };
    match content.judgement {
        Some(Judgement { claims, conditions, expected_false }) if claims > 0 => {
            let were = if claims == 1 { "claim was" } else { "claims were" };
            format!(
                "{on}{claims} {were} judged by {conditions} conditions; by chance up to {expected_false:.1} of these are wrong.{stale}"
            )
        }
        _ if stale.is_empty() => String::new(),
        _ => format!("{on}nothing was judged.{stale}"),
    }
}
