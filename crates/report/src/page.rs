//! The page: a template, filled.

mod claims;
mod data;
mod dots;
mod multiples;
mod names;
mod occupancy;
mod provenance;
mod section;
mod table;
mod text;
mod tradeoff;

use std::fmt::Write as _;

use crate::merge::tally;
use crate::model::Report;
use data::PageData;
use names::Names;
use text::{element, escape, escape_into, json_for_script};

const TEMPLATE: &str = include_str!("../../../web/report.html");
const STYLE: &str = include_str!("../../../web/report.css");
const GRIDS_SCRIPT: &str = include_str!("../../../web/grids.js");
const OCCUPANCY_SCRIPT: &str = include_str!("../../../web/occupancy.js");
const RUNS_SCRIPT: &str = include_str!("../../../web/runs.js");
const LABELS_SCRIPT: &str = include_str!("../../../web/labels.js");
const TRADEOFF_SCRIPT: &str = include_str!("../../../web/tradeoff.js");
const SCRIPT: &str = include_str!("../../../web/report.js");
const PLOT_STYLE: &str = include_str!("../../../web/vendor/uplot/uPlot.min.css");
const PLOT_SCRIPT: &str = include_str!("../../../web/vendor/uplot/uPlot.iife.min.js");
const PLOT_LICENCE: &str = include_str!("../../../web/vendor/uplot/LICENSE");

/// The report as one HTML file that needs nothing else. The same report gives the same bytes.
pub fn render(report: &Report) -> String {
    let names: Vec<Names> = report.sections.iter().map(Names::of).collect();
    let data = PageData::new(&report.sections, &names);
    // Serialising fails for maps whose keys are not text only, and the data has no maps.
    let data = serde_json::to_string(&data).expect("the data hold text, numbers and lists");
    fill(TEMPLATE, |slot| match slot {
        "title" => escape(&report.title),
        "plot-licence" => PLOT_LICENCE.to_owned(),
        "plot-style" => PLOT_STYLE.to_owned(),
        "style" => STYLE.to_owned(),
        "body" => body(report, &names),
        "data" => json_for_script(&data),
        "plot-script" => PLOT_SCRIPT.to_owned(),
        "chart-scripts" => {
            [GRIDS_SCRIPT, OCCUPANCY_SCRIPT, RUNS_SCRIPT, LABELS_SCRIPT, TRADEOFF_SCRIPT].join("\n")
        }
        "script" => SCRIPT.to_owned(),
        other => unreachable!("the template has no slot {other}"),
    })
}

/// Fills each `{{slot}}` of the template, once: what is filled in is not looked at again, so that
/// no text of a report can name a slot.
fn fill(template: &str, text: impl Fn(&str) -> String) -> String {
    let mut out = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        let (slot, after) = after.split_once("}}").expect("every slot of the template is closed");
        out.push_str(before);
        out.push_str(&text(slot));
        rest = after;
    }
    out + rest
}

fn body(report: &Report, names: &[Names]) -> String {
    let mut out = String::new();
    out.push_str("<header>");
    if !report.part_of.is_empty() {
        let whole = escape(&report.part_of);
        let _ = write!(out, "<p class=\"note\"><a href=\"{whole}\">All claims</a></p>");
    }
    element(&mut out, "h1", "", &report.title);
    let verdict = match report.verdict.as_str() {
        "" => tally(&report.claims),
        verdict => verdict.to_owned(),
    };
    element(&mut out, "p", "verdict-line", &verdict);
    element(&mut out, "p", "lead", &report.lead);
    contents(&mut out, report);
    terms(&mut out, report);
    out.push_str("</header>\n<main>\n");
    claims::claims(&mut out, report, &verdict);
    for (i, (section, names)) in report.sections.iter().zip(names).enumerate() {
        section::section(&mut out, section, i, names);
    }
    if !report.notes.is_empty() {
        out.push_str("<section id=\"notes\"><h2>Notes</h2>\n");
        for note in &report.notes {
            element(&mut out, "p", "remark", note);
        }
        out.push_str("</section>\n");
    }
    provenance::provenance(&mut out, &report.provenance);
    out.push_str("</main>");
    out
}

/// Links to the parts, where there are several.
fn contents(out: &mut String, report: &Report) {
    let mut links: Vec<(String, String)> = Vec::new();
    if !report.claims.is_empty() {
        links.push(("claims".to_owned(), "Claims".to_owned()));
    }
    for (i, section) in report.sections.iter().enumerate() {
        if !section.title.is_empty() {
            links.push((format!("story-{i}"), section.title.clone()));
        }
    }
    if links.len() < 2 {
        return;
    }
    if !report.provenance.is_empty() {
        links.push(("provenance".to_owned(), "Where these figures come from".to_owned()));
    }
    out.push_str("<nav aria-label=\"Contents\"><ul>");
    for (id, title) in links {
        let _ = write!(out, "<li><a href=\"#{id}\">{}</a></li>", escape(&title));
    }
    out.push_str("</ul></nav>\n");
}

fn terms(out: &mut String, report: &Report) {
    if report.terms.is_empty() {
        return;
    }
    out.push_str("<details class=\"terms\"><summary>Words used on this page</summary><dl>");
    for term in &report.terms {
        out.push_str("<dt>");
        escape_into(out, &term.term);
        out.push_str("</dt><dd>");
        escape_into(out, &term.meaning);
        out.push_str("</dd>");
    }
    out.push_str("</dl></details>\n");
}
