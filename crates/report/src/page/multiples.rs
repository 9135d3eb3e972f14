//! Small multiples: a table of panels on one scale.

use std::fmt::Write as _;

use super::names::Names;
use super::text::{Scale, element, escape, interval, number, tick_digits};
use crate::model::{Estimate, Facet, Multiples, SmallPanel};

/// Appends the panels; nothing if there is no figure in them.
pub fn multiples(out: &mut String, chart: &Multiples, names: &Names) {
    let marks = || chart.panels.iter().flat_map(|p| &p.marks);
    let values = marks()
        .flat_map(|m| {
            m.samples.iter().copied().chain(m.ci95.into_iter().flatten()).chain([m.value])
        })
        .chain(chart.y.range.into_iter().flatten());
    let Some(scale) = Scale::around(values, 0.06) else { return };
    let ticks = scale.ticks(4.0);
    let look = Look { scale: &scale, ticks: &ticks, digits: tick_digits(&ticks), names };
    out.push_str("<figure class=\"facets\"><figcaption>");
    element(out, "strong", "", &chart.title);
    element(out, "span", "note", &chart.note);
    out.push_str("</figcaption>\n");
    // In the order of the section, whatever the order in the panels.
    let shown = (0..names.schemes.len())
        .filter(|&s| marks().any(|m| names.scheme(&m.scheme) == s))
        .collect::<Vec<_>>();
    key(out, &shown, names);
    let _ = writeln!(
        out,
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\">\
         <table class=\"facets\" style=\"--schemes:{};--columns:{}\">",
        escape(&chart.title),
        shown.len().max(1),
        chart.columns.labels.len().max(1)
    );
    heads(out, chart);
    out.push_str("<tbody>\n");
    for row in 0..chart.rows.labels.len().max(1) {
        out.push_str("<tr>");
        if !chart.rows.labels.is_empty() {
            let label = escape(label(&chart.rows, row));
            let _ = write!(out, "<th scope=\"row\">{label}</th>");
        }
        look.ruler(out);
        for column in 0..chart.columns.labels.len().max(1) {
            let panel = chart.panels.iter().find(|p| (p.column, p.row) == (column, row));
            look.panel(out, panel, &shown);
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>");
    let title = match chart.y.unit.as_str() {
        "" => chart.y.title.clone(),
        unit => format!("{}, {unit}", chart.y.title),
    };
    element(out, "p", "axis-title", &format!("Upwards in every panel: {title}"));
    out.push_str("</figure>\n");
}

fn key(out: &mut String, shown: &[usize], names: &Names) {
    out.push_str("<div class=\"key\">");
    for &scheme in shown {
        let _ = write!(
            out,
            "<span><i class=\"mark m{}\"></i>{}</span>",
            names.mark(scheme),
            escape(&names.schemes[scheme].title)
        );
    }
    out.push_str("</div>\n");
}

fn label(facet: &Facet, at: usize) -> &str {
    facet.labels.get(at).map_or("", String::as_str)
}

fn heads(out: &mut String, chart: &Multiples) {
    let left = if chart.rows.labels.is_empty() { 1 } else { 2 };
    let columns = chart.columns.labels.len().max(1);
    out.push_str("<thead>");
    if !chart.columns.title.is_empty() {
        let title = escape(&chart.columns.title);
        let _ = write!(
            out,
            "<tr><td colspan=\"{left}\"></td><th colspan=\"{columns}\" class=\"of\">{title}</th></tr>"
        );
    }
    out.push_str("<tr>");
    if left == 2 {
        let _ = write!(out, "<th class=\"of\">{}</th>", escape(&chart.rows.title));
    }
    out.push_str("<td></td>");
    for column in 0..columns {
        let _ = write!(out, "<th scope=\"col\">{}</th>", escape(label(&chart.columns, column)));
    }
    out.push_str("</tr></thead>\n");
}

/// Properties that all panels share.
struct Look<'a> {
    scale: &'a Scale,
    ticks: &'a [f64],
    digits: u8,
    names: &'a Names,
}

impl Look<'_> {
    /// The numbers beside the first panel of a row.
    fn ruler(&self, out: &mut String) {
        out.push_str("<td class=\"ruler\" aria-hidden=\"true\"><div class=\"small\">");
        for tick in self.ticks {
            let _ = write!(
                out,
                "<span style=\"bottom:{:.2}%\">{}</span>",
                self.scale.percent(*tick),
                number(*tick, self.digits)
            );
        }
        out.push_str("</div></td>");
    }

    fn panel(&self, out: &mut String, panel: Option<&SmallPanel>, shown: &[usize]) {
        let Some(panel) = panel.filter(|p| p.marks.iter().any(|m| m.value.is_finite())) else {
            out.push_str("<td class=\"none\">–</td>");
            return;
        };
        out.push_str("<td><div class=\"small\">");
        for tick in self.ticks {
            let _ = write!(
                out,
                "<i class=\"rung\" style=\"bottom:{:.2}%\"></i>",
                self.scale.percent(*tick)
            );
        }
        for (slot, &scheme) in shown.iter().enumerate() {
            let of_scheme = |m: &&Estimate| self.names.scheme(&m.scheme) == scheme;
            if let Some(mark) = panel.marks.iter().find(of_scheme).filter(|m| m.value.is_finite()) {
                let left = (slot as f64 + 0.5) / shown.len() as f64 * 100.0;
                self.mark(out, mark, scheme, left);
            }
        }
        out.push_str("</div></td>");
    }

    fn mark(&self, out: &mut String, mark: &Estimate, scheme: usize, left: f64) {
        let m = self.names.mark(scheme);
        for sample in mark.samples.iter().filter(|s| s.is_finite()) {
            let _ = write!(
                out,
                "<i class=\"once\" style=\"left:{left:.2}%;bottom:{:.2}%;--m:var(--m{m})\"></i>",
                self.scale.percent(*sample)
            );
        }
        let digits = self.digits + 1;
        let mut said = number(mark.value, digits);
        if let Some([low, high]) = mark.ci95.filter(|ci| ci.iter().all(|v| v.is_finite())) {
            let (from, to) = (self.scale.percent(low), self.scale.percent(high));
            let _ = write!(
                out,
                "<i class=\"reach\" style=\"left:{left:.2}%;bottom:{from:.2}%;height:{:.2}%;\
                 --m:var(--m{m})\"></i>",
                (to - from).max(0.0)
            );
            let _ = write!(said, " ({})", interval([low, high], digits));
        }
        let said = escape(&format!("{}: {said}", self.names.schemes[scheme].title));
        let _ = write!(
            out,
            "<b style=\"left:{left:.2}%;bottom:{:.2}%\" title=\"{said}\"><i class=\"mark m{m}\"></i>\
             <span class=\"hidden\">{said}; </span></b>",
            self.scale.percent(mark.value)
        );
    }
}
