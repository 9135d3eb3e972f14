//! One story: what was run, who got what, why, and how it went over time.

use std::fmt::Write as _;

use super::dots::dot_chart;
use super::multiples::multiples;
use super::names::Names;
use super::table::table;
use super::text::{element, escape, number, with_unit};
use super::tradeoff::tradeoff;
use crate::model::{Axis, Cdf, Section, XyChart, XyGroup};

/// Appends a section; `index` ties its empty chart boxes to the page's data.
pub fn section(out: &mut String, section: &Section, index: usize, names: &Names) {
    let _ = writeln!(out, "<section class=\"story\" id=\"story-{index}\">");
    element(out, "h2", "", &section.title);
    element(out, "p", "say", &section.verdict);
    element(out, "p", "lead", &section.lead);
    if !section.page.is_empty() {
        let page = escape(&section.page);
        let _ = writeln!(out, "<p class=\"note\"><a href=\"{page}\">The runs behind it</a></p>");
    }
    facts(out, section);
    schemes(out, section, names);
    for chart in &section.dots {
        dot_chart(out, chart, names);
    }
    for (t, chart) in section.tradeoffs.iter().enumerate() {
        tradeoff(out, chart, (index, t), names);
    }
    for chart in &section.multiples {
        multiples(out, chart, names);
    }
    for t in &section.tables {
        table(out, t);
    }
    for (g, group) in section.curves.iter().enumerate() {
        curves(out, group, index, g, names);
    }
    if !section.runs.is_empty() {
        let _ = writeln!(
            out,
            "<div class=\"over-time\"><h3>Over time</h3>\
             <p class=\"note\">All charts share one axis of time: point at any of them to read all \
             lines at that moment, drag across to zoom, double-click to see all again.</p>\
             <div class=\"runs\" data-section=\"{index}\">{NO_SCRIPT}</div></div>"
        );
    }
    cdfs(out, section, index);
    for note in &section.notes {
        element(out, "p", "remark", note);
    }
    out.push_str("</section>\n");
}

/// Text in the place of a chart without script.
pub const NO_SCRIPT: &str =
    "<noscript><p class=\"note\">This chart is drawn by the page's script.</p></noscript>";

fn facts(out: &mut String, section: &Section) {
    if section.facts.is_empty() {
        return;
    }
    out.push_str("<dl class=\"facts\">");
    for fact in &section.facts {
        let (name, value) = (escape(&fact.name), escape(&fact.value));
        let _ = write!(out, "<div><dt>{name}</dt><dd>{value}</dd></div>");
    }
    out.push_str("</dl>\n");
}

fn schemes(out: &mut String, section: &Section, names: &Names) {
    if section.schemes.is_empty() {
        return;
    }
    out.push_str("<dl class=\"schemes\">");
    for (i, scheme) in section.schemes.iter().enumerate() {
        let _ = write!(
            out,
            "<div><dt><i class=\"mark m{}\"></i>{}</dt><dd>{}</dd></div>",
            names.mark(i),
            escape(&scheme.title),
            escape(&scheme.note)
        );
    }
    out.push_str("</dl>\n");
}

fn curves(out: &mut String, group: &XyGroup, section: usize, g: usize, names: &Names) {
    out.push_str("<div class=\"curves\">");
    element(out, "h3", "", &group.title);
    element(out, "p", "note", &group.note);
    out.push_str("<div class=\"multiples\">");
    for (c, chart) in group.charts.iter().enumerate() {
        out.push_str("<figure class=\"card\"><figcaption>");
        element(out, "strong", "", &chart.title);
        element(out, "span", "note", &chart.subtitle);
        let _ = write!(
            out,
            "</figcaption><div class=\"xy\" data-section=\"{section}\" data-group=\"{g}\" \
             data-chart=\"{c}\" role=\"img\" aria-label=\"{}: {} over {}; the figures follow as a \
             table\">{NO_SCRIPT}</div>",
            escape(&chart.title),
            escape(&group.y.title),
            escape(&group.x.title),
        );
        marks(out, group, chart, names);
        out.push_str("</figure>\n");
    }
    out.push_str("</div></div>\n");
}

/// The marks of a chart as a small table: the legend and the figures at once.
fn marks(out: &mut String, group: &XyGroup, chart: &XyChart, names: &Names) {
    if chart.marks.is_empty() {
        return;
    }
    out.push_str(
        "<table class=\"marks\"><thead class=\"hidden\"><tr><th scope=\"col\">Scheme</th>",
    );
    for axis in [&group.x, &group.y] {
        element(out, "th", "", &axis.title);
    }
    out.push_str("</tr></thead><tbody>");
    for mark in &chart.marks {
        let scheme = names.scheme(&mark.scheme);
        let title = names.schemes.get(scheme).map_or("", |s| s.title.as_str());
        let y = mark.y.or_else(|| chart.at(mark.x));
        let _ = write!(
            out,
            "<tr><th scope=\"row\"><i class=\"mark m{}\"></i>{}</th><td>{}</td><td>{}</td></tr>",
            names.mark(scheme),
            escape(title),
            escape(&reading(mark.x, &group.x)),
            y.map_or_else(|| "–".to_owned(), |y| escape(&reading(y, &group.y))),
        );
    }
    out.push_str("</tbody></table>");
}

/// A value with three significant digits or so, and its unit.
fn reading(value: f64, axis: &Axis) -> String {
    let digits = if value.abs() >= 20.0 { 1 } else { 2 };
    match axis.unit.as_str() {
        "" => format!("{} {}", axis.title, number(value, digits)),
        // A unit that starts like the title (VMAF, points of VMAF) needs no other word.
        unit => with_unit(value, digits, unit),
    }
}

fn cdfs(out: &mut String, section: &Section, index: usize) {
    if section.cdfs.is_empty() {
        return;
    }
    out.push_str(
        "<div class=\"cdfs\"><h3>Distributions</h3><p class=\"note\">Each line says which \
         share of the samples lies at or below a value: a line further right is more, a steeper \
         one is more even.</p><div class=\"multiples wide\">",
    );
    for (c, Cdf { title, note, x, .. }) in section.cdfs.iter().enumerate() {
        out.push_str("<figure class=\"card\"><figcaption>");
        element(out, "strong", "", title);
        element(out, "span", "note", note);
        let _ = write!(
            out,
            "</figcaption><div class=\"cdf\" data-section=\"{index}\" data-chart=\"{c}\" \
             role=\"img\" aria-label=\"Cumulative distribution of {}\">{NO_SCRIPT}</div></figure>",
            escape(&x.title)
        );
    }
    out.push_str("</div></div>\n");
}
