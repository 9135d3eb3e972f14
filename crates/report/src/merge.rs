//! Several reports as one.

use crate::model::{Claim, Report, Section, Verdict};

/// One report out of several, in the given order.
///
/// A single report is returned as it is. Otherwise each report's verdict and lead move to its
/// first section, and the verdict of the whole counts results and claims. What occurs twice
/// (terms, notes, the same claim with the same figures, the same provenance) is kept once.
pub fn merge(reports: Vec<Report>) -> Report {
    let several = match <[Report; 1]>::try_from(reports) {
        Ok([one]) => return one,
        Err(several) => several,
    };
    let mut all = Report::new(match several.len() {
        0 => "No results".to_owned(),
        n => format!("{n} results"),
    });
    let mut titles = Vec::new();
    for report in several {
        let Report { title, verdict, lead, mut sections, claims, terms, notes, provenance, .. } =
            report;
        if sections.is_empty() && !(verdict.is_empty() && lead.is_empty()) {
            sections.push(Section::default());
        }
        if let Some(first) = sections.first_mut() {
            first.title = match first.title.as_str() {
                "" => title.clone(),
                own if own == title => title.clone(),
                own => format!("{title}: {own}"),
            };
            first.verdict = joined(verdict, std::mem::take(&mut first.verdict));
            first.lead = joined(lead, std::mem::take(&mut first.lead));
        }
        titles.push(title);
        all.sections.extend(sections);
        extend_new(&mut all.claims, claims);
        extend_new(&mut all.terms, terms);
        extend_new(&mut all.notes, notes);
        extend_new(&mut all.provenance, provenance);
    }
    if !titles.is_empty() {
        all.lead = format!("{}.", titles.join("; "));
    }
    all.verdict = tally(&all.claims);
    all
}

/// Number of claims by verdict, as a sentence: `Of 5 claims 3 hold, 1 fails, 1 is undecided.`;
/// empty without claims.
pub fn tally(claims: &[Claim]) -> String {
    if claims.is_empty() {
        return String::new();
    }
    let count = |v: Verdict| claims.iter().filter(|c| c.verdict == v).count();
    let parts: Vec<String> = [
        (Verdict::Holds, "holds", "hold"),
        (Verdict::Fails, "fails", "fail"),
        (Verdict::Undecided, "is undecided", "are undecided"),
        (Verdict::NotMeasured, "was not measured", "were not measured"),
        (Verdict::Reported, "is reported without a verdict", "are reported without a verdict"),
    ]
    .into_iter()
    .filter_map(|(verdict, one, many)| match count(verdict) {
        0 => None,
        1 => Some(format!("1 {one}")),
        n => Some(format!("{n} {many}")),
    })
    .collect();
    match claims.len() {
        1 => format!("Of 1 claim {}.", parts.join(", ")),
        n => format!("Of {n} claims {}.", parts.join(", ")),
    }
}

fn joined(mut a: String, b: String) -> String {
    if !a.is_empty() && !b.is_empty() {
        a.push(' ');
    }
    a + &b
}

fn extend_new<T: PartialEq>(all: &mut Vec<T>, more: Vec<T>) {
    for item in more {
        if !all.contains(&item) {
            all.push(item);
        }
    }
}
