//! The report in pages: the table of claims, and a page for each claim with the runs behind it.

use airlane_report::Report;
use airlane_report::model::{Claim, Section, Verdict};

use airlane_sim::CLAIM_PAGES;

/// Splits a report into the front page and a page per claim, with its file name, in order. Charts of
/// all schemes stand on the front page as well.
///
/// `whole` has one section and one provenance per claim, in the order of the claims.
pub(super) fn split(whole: Report) -> (Report, Vec<(String, Report)>) {
    let mut front = whole;
    let sections = std::mem::take(&mut front.sections);
    let provenance = std::mem::take(&mut front.provenance);
    let mut pages = Vec::new();
    for (section, from) in sections.into_iter().zip(provenance) {
        let name = format!("{}.html", section.title);
        let mut page = Report::new(section.title.clone());
        for claim in front.claims.iter_mut().filter(|c| c.id == section.title) {
            page.verdict = headline(claim);
            page.claims.push(claim.clone());
            claim.page = format!("{CLAIM_PAGES}/{name}");
        }
        if !section.tradeoffs.is_empty() {
            front.sections.push(Section {
                title: page.claims.first().map(|c| c.statement.clone()).unwrap_or_default(),
                page: format!("{CLAIM_PAGES}/{name}"),
                facts: section.facts.clone(),
                schemes: section.schemes.clone(),
                tradeoffs: section.tradeoffs.clone(),
                ..Section::default()
            });
        }
        page.part_of = "../report.html".to_owned();
        page.terms.clone_from(&front.terms);
        page.sections.push(section);
        page.provenance.push(from);
        pages.push((name, page));
    }
    (front, pages)
}

/// The verdict and the statement of a claim.
fn headline(claim: &Claim) -> String {
    let word = match claim.verdict {
        Verdict::Holds => "Holds",
        Verdict::Fails => "Fails",
        Verdict::Undecided => "Undecided",
        Verdict::NotMeasured => "Not measured",
        Verdict::Reported => "Reported",
    };
    format!("{word}: {}", claim.statement)
}
