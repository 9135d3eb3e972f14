//! Dot charts: a row per scheme, a dot per actor, all on one scale.

use std::fmt::Write as _;

use super::names::{ACTOR_COLOURS, Names, short};
use super::text::{Scale, element, escape, number, tick_digits};
use crate::model::{Axis, DotChart, DotRow};

/// Dots closer than this, in percent of the width, go to lanes of their own.
const TOUCH_PERCENT: f64 = 4.2;

/// Appends a dot chart.
pub fn dot_chart(out: &mut String, chart: &DotChart, names: &Names) {
    let values = chart
        .rows
        .iter()
        .flat_map(|r| &r.dots)
        .flat_map(|d| d.ci95.into_iter().flatten().chain([d.value]))
        .chain(chart.x.range.into_iter().flatten());
    let Some(scale) = Scale::around(values, 0.04) else { return };
    out.push_str("<figure class=\"dots\"><figcaption>");
    element(out, "strong", "", &chart.title);
    element(out, "span", "note", &chart.note);
    out.push_str("</figcaption>\n");
    let ticks = scale.ticks(6.0);
    let digits = tick_digits(&ticks);
    for row in &chart.rows {
        dot_row(out, row, &scale, &ticks, digits, names);
    }
    axis(out, &chart.x, &scale, &ticks, digits);
    out.push_str("</figure>\n");
}

fn axis(out: &mut String, axis: &Axis, scale: &Scale, ticks: &[f64], digits: u8) {
    out.push_str(
        "<div class=\"dotrow axis\" aria-hidden=\"true\"><span></span><div class=\"track\">",
    );
    for tick in ticks {
        let _ = write!(
            out,
            "<span class=\"tick\" style=\"left:{:.2}%\">{}</span>",
            scale.percent(*tick),
            number(*tick, digits)
        );
    }
    let title = match axis.unit.as_str() {
        "" => axis.title.clone(),
        unit => format!("{}, {unit}", axis.title),
    };
    let _ =
        writeln!(out, "</div><span></span></div><p class=\"axis-title\">{}</p>", escape(&title));
}

fn dot_row(
    out: &mut String,
    row: &DotRow,
    scale: &Scale,
    ticks: &[f64],
    digits: u8,
    names: &Names,
) {
    let scheme = names.scheme(&row.scheme);
    let title = names.schemes.get(scheme).map_or(row.scheme.as_str(), |s| s.title.as_str());
    let mut dots: Vec<_> = row.dots.iter().filter(|d| d.value.is_finite()).collect();
    dots.sort_by(|a, b| a.value.total_cmp(&b.value));
    // The lowest lane whose last dot is far enough away.
    let mut lanes: Vec<f64> = Vec::new();
    let placed: Vec<(usize, f64)> = dots
        .iter()
        .map(|d| {
            let at = scale.percent(d.value);
            let lane = lanes.iter().position(|last| at - last >= TOUCH_PERCENT);
            let lane = lane.unwrap_or_else(|| {
                lanes.push(at);
                lanes.len() - 1
            });
            lanes[lane] = at;
            (lane, at)
        })
        .collect();
    let _ = write!(
        out,
        "<div class=\"dotrow\"><span class=\"who\"><i class=\"mark m{}\"></i>{}</span>\
         <div class=\"track\" style=\"--lanes:{}\">",
        names.mark(scheme),
        escape(title),
        lanes.len().max(1)
    );
    for tick in ticks {
        let _ = write!(out, "<i class=\"grid\" style=\"left:{:.2}%\"></i>", scale.percent(*tick));
    }
    if let (Some(first), Some(last)) = (placed.first(), placed.last()) {
        let _ = write!(
            out,
            "<i class=\"reach\" style=\"left:{:.2}%;width:{:.2}%\"></i>",
            first.1,
            last.1 - first.1
        );
    }
    for (dot, (lane, at)) in dots.iter().zip(&placed) {
        let colour = names.actor(&dot.actor).unwrap_or(0) % ACTOR_COLOURS;
        if let Some([low, high]) = dot.ci95 {
            let (low, high) = (scale.percent(low), scale.percent(high));
            let _ = write!(
                out,
                "<i class=\"whisker c{colour}\" style=\"left:{low:.2}%;width:{:.2}%;--lane:{lane}\"></i>",
                (high - low).max(0.0)
            );
        }
        let _ = write!(
            out,
            "<b class=\"dot c{colour}\" style=\"left:{at:.2}%;--lane:{lane}\" title=\"{name}: {value}\">\
             <span aria-hidden=\"true\">{short}</span><span class=\"hidden\">{name}: {value}; </span></b>",
            name = escape(&dot.actor),
            value = number(dot.value, digits.max(1)),
            short = escape(&short(&dot.actor)),
        );
    }
    out.push_str("</div><span class=\"sum\">");
    if let Some(lowest) = dots.first() {
        let mean = dots.iter().map(|d| d.value).sum::<f64>() / dots.len() as f64;
        let digits = digits.max(1);
        let _ = write!(
            out,
            "lowest <b>{}</b> <br>mean <b>{}</b>",
            number(lowest.value, digits),
            number(mean, digits)
        );
    }
    out.push_str("</span></div>\n");
}
