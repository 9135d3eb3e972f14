//! The table of claims, each with its interval drawn against the rule.

use std::fmt::Write as _;

use super::text::{Scale, element, escape, escape_into, interval, with_unit};
use crate::merge::tally;
use crate::model::{Bound, Check, Claim, Report, Verdict};

/// Appends the section of claims; nothing if there are none.
pub fn claims(out: &mut String, report: &Report, verdict: &str) {
    let claims = &report.claims;
    if claims.is_empty() {
        return;
    }
    out.push_str("<section id=\"claims\"><h2>Claims</h2>\n");
    let tally = tally(claims);
    if tally != verdict {
        element(out, "p", "say", &tally);
    }
    out.push_str(CAPTION);
    for claim in claims {
        let here = report.sections.iter().position(|s| s.title == claim.id);
        let runs = here.map_or_else(|| claim.page.clone(), |i| format!("#story-{i}"));
        body(out, claim, &runs);
    }
    out.push_str("</table></div></section>\n");
}

const CAPTION: &str = "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Claims\">\
<table class=\"claims\"><caption><span class=\"note\">Each claim of a paper beside what was \
measured here. In the drawing the dot is what was measured, the line its 95 % interval, the tinted \
side is where the rule is met, and the small diamond is the paper's figure. Unless its rule says \
otherwise, a claim holds only if the whole interval lies on the tinted side.</span></caption>\n\
<thead><tr><th scope=\"col\">Claim</th><th scope=\"col\">Paper</th>\
<th scope=\"col\" class=\"num\">Measured</th><th scope=\"col\">Interval and rule</th>\
<th scope=\"col\">Verdict</th></tr></thead>\n";

fn body(out: &mut String, claim: &Claim, runs: &str) {
    out.push_str("<tbody><tr><th scope=\"row\">");
    element(out, "span", "statement", &claim.statement);
    out.push_str("<span class=\"source\"><code>");
    escape_into(out, &claim.id);
    out.push_str("</code>");
    for more in [&claim.source, &claim.content] {
        if !more.is_empty() {
            let _ = write!(out, " · {}", escape(more));
        }
    }
    if !runs.is_empty() {
        let _ = write!(out, " · <a href=\"{}\">the runs behind it</a>", escape(runs));
    }
    out.push_str("</span>");
    element(out, "span", "why", &claim.why);
    out.push_str("</th><td>");
    escape_into(out, if claim.paper.is_empty() { "–" } else { &claim.paper });
    out.push_str("</td>");
    let figure = Figure {
        measured: claim.measured,
        ci95: claim.ci95,
        unit: &claim.unit,
        digits: claim.digits,
        bound: claim.bound,
        paper: claim.paper_value,
        n: Some(claim.n),
        rule: &claim.rule,
        rule_before: &claim.rule_before,
        verdict: claim.verdict,
    };
    cells(out, &figure);
    out.push_str("</tr>\n");
    for check in &claim.also {
        also(out, check);
    }
    out.push_str("</tbody>\n");
}

fn also(out: &mut String, check: &Check) {
    let _ = write!(
        out,
        "<tr class=\"also\"><th scope=\"row\"><span class=\"hidden\">and: </span>{}</th><td></td>",
        escape(&check.statement)
    );
    let figure = Figure {
        measured: check.measured,
        ci95: check.ci95,
        unit: &check.unit,
        digits: check.digits,
        bound: check.bound,
        paper: None,
        n: None,
        rule: &check.rule,
        rule_before: "",
        verdict: check.verdict,
    };
    cells(out, &figure);
    out.push_str("</tr>\n");
}

/// Content of the last three cells of a row.
struct Figure<'a> {
    measured: Option<f64>,
    ci95: Option<[f64; 2]>,
    unit: &'a str,
    digits: u8,
    bound: Option<Bound>,
    paper: Option<f64>,
    n: Option<u64>,
    rule: &'a str,
    rule_before: &'a str,
    verdict: Verdict,
}

fn cells(out: &mut String, f: &Figure<'_>) {
    out.push_str("<td class=\"num\">");
    match f.measured {
        Some(value) => {
            let _ = write!(out, "<b>{}</b>", escape(&with_unit(value, f.digits, f.unit)));
            if let Some(ci95) = f.ci95 {
                let _ = write!(out, "<span class=\"ci\">{}</span>", interval(ci95, f.digits));
            }
            if let Some(n) = f.n {
                let _ = write!(out, "<span class=\"ci\">n = {n}</span>");
            }
        }
        None => out.push_str("<span class=\"none\">not measured</span>"),
    }
    out.push_str("</td><td class=\"ruled\">");
    drawing(out, f);
    element(out, "span", "rule", f.rule);
    if !f.rule_before.is_empty() {
        let _ = write!(out, "<span class=\"why\">Before: {}</span>", escape(f.rule_before));
    }
    let (class, sign, word) = match f.verdict {
        Verdict::Holds => ("holds", "✓", "holds"),
        Verdict::Fails => ("fails", "✗", "fails"),
        Verdict::Undecided => ("undecided", "?", "undecided"),
        Verdict::NotMeasured => ("reported", "–", "not measured"),
        Verdict::Reported => ("reported", "·", "reported"),
    };
    let _ = write!(
        out,
        "</td><td><span class=\"verdict {class}\"><span aria-hidden=\"true\">{sign}</span> \
         {word}</span></td>"
    );
}

/// The interval against the rule, in percent of the drawing's width, so that it scales.
fn drawing(out: &mut String, f: &Figure<'_>) {
    let Some(measured) = f.measured else { return };
    let bounds: &[f64] = match &f.bound {
        Some(Bound::AtLeast(b) | Bound::AtMost(b)) => &[*b],
        Some(Bound::Within(low, high)) => &[*low, *high],
        None => &[],
    };
    let values = [measured]
        .into_iter()
        .chain(f.ci95.into_iter().flatten())
        .chain(f.paper)
        .chain(bounds.iter().copied());
    let Some(scale) = Scale::around(values, 0.15) else { return };
    out.push_str("<span class=\"bar\" aria-hidden=\"true\">");
    let tint = |out: &mut String, from: f64, to: f64| {
        let _ =
            write!(out, "<i class=\"tint\" style=\"left:{from:.2}%;width:{:.2}%\"></i>", to - from);
    };
    match f.bound {
        Some(Bound::AtLeast(b)) => tint(out, scale.percent(b), 100.0),
        Some(Bound::AtMost(b)) => tint(out, 0.0, scale.percent(b)),
        Some(Bound::Within(low, high)) => tint(out, scale.percent(low), scale.percent(high)),
        None => {}
    }
    for b in bounds {
        let _ = write!(out, "<i class=\"edge\" style=\"left:{:.2}%\"></i>", scale.percent(*b));
    }
    if let Some([low, high]) = f.ci95 {
        let (low, high) = (scale.percent(low), scale.percent(high));
        let _ = write!(
            out,
            "<i class=\"span\" style=\"left:{low:.2}%;width:{:.2}%\"></i>",
            (high - low).max(0.0)
        );
    }
    if let Some(paper) = f.paper {
        let _ = write!(out, "<i class=\"paper\" style=\"left:{:.2}%\"></i>", scale.percent(paper));
    }
    let _ =
        write!(out, "<i class=\"at\" style=\"left:{:.2}%\"></i></span>", scale.percent(measured));
}
