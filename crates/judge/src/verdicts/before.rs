//! The table of verdicts by rules of before 2026-11-24 beside those of the records.

use super::contents::Contents;
use super::{figure, markdown, short_id};
use crate::claims::Claim;

/// Rules that were replaced from this day on are told with their reasons.
const SINCE: &str = "2026-11-24";

/// A row per claim of today: for each content what it was and what it is, then why its rule was changed.
pub(super) fn table(contents: &Contents) -> String {
    let claims = &contents.set.claims;
    let recorded = contents.list.iter().map(|content| content.name.as_str());
    let mut names: Vec<&str> =
        recorded.filter(|name| claims.iter().any(|c| c.before.contains_key(*name))).collect();
    for name in claims.iter().flat_map(|claim| claim.before.keys()) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let mut head = vec!["claim".to_owned()];
    head.extend(
        names.iter().flat_map(|name| ["before", "now"].map(|when| format!("{name}, {when}"))),
    );
    head.push("why the rule was changed".to_owned());
    let rows: Vec<Vec<String>> = claims.iter().map(|claim| row(claim, contents, &names)).collect();
    markdown(&head, &rows)
}

fn row(claim: &Claim, contents: &Contents, names: &[&str]) -> Vec<String> {
    let mut row = vec![short_id(&claim.id)];
    for name in names {
        let before = claim.before.get(*name).map_or("no such claim", String::as_str);
        let content = contents.list.iter().find(|content| content.name == *name);
        let now = content.and_then(|content| content.claim(&claim.id));
        row.extend([before.to_owned(), now.map_or("not run".to_owned(), figure::headline)]);
    }
    let replaced = claim.superseded.iter().filter(|rule| rule.date.as_str() >= SINCE);
    row.push(replaced.map(|rule| rule.reason.as_str()).collect::<Vec<_>>().join("; "));
    row
}
