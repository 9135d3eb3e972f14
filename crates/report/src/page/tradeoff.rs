//! Trade-offs: the box that the page's script draws into, and the table of its figures.

use std::fmt::Write as _;

use super::names::Names;
use super::section::NO_SCRIPT;
use super::table::table_of_schemes;
use super::text::element;
use crate::model::{Better, Cell, Column, Row, Table, Tradeoff};

/// Appends a trade-off; nothing if it has no point. `at` are its section and its position there.
pub fn tradeoff(out: &mut String, chart: &Tradeoff, at: (usize, usize), names: &Names) {
    if chart.points.is_empty() {
        return;
    }
    out.push_str("<figure class=\"tradeoff\"><figcaption>");
    element(out, "strong", "", &chart.title);
    element(out, "span", "note", &chart.note);
    if let Some(words) = better(chart) {
        element(out, "span", "note", &words);
    }
    let _ = write!(
        out,
        "</figcaption><div class=\"plane\" data-section=\"{}\" data-chart=\"{}\">{NO_SCRIPT}</div>",
        at.0, at.1
    );
    let (rows, schemes) = rows(chart, names);
    let table = Table {
        title: format!("{}, the figures", chart.title),
        note: String::new(),
        columns: columns(chart),
        rows,
    };
    table_of_schemes(out, &table, &schemes);
    out.push_str("</figure>\n");
}

fn columns(chart: &Tradeoff) -> Vec<Column> {
    let mut columns = vec![Column::text("Scheme"), chart.y.clone(), chart.x.clone()];
    columns.extend(chart.more.iter().cloned());
    columns
}

/// The rows of the table, and of each the position and the mark of its scheme.
fn rows(chart: &Tradeoff, names: &Names) -> (Vec<Row>, Vec<(usize, usize)>) {
    let row = |point: &crate::model::TradeoffPoint| {
        let scheme = names.scheme(&point.scheme);
        let title = names.schemes.get(scheme).map_or("", |s| s.title.as_str());
        let mut cells = vec![Cell::from(title), point.y.clone(), point.x.clone()];
        cells.extend(point.more.iter().cloned());
        (Row { cells, strong: false }, (scheme, names.mark(scheme)))
    };
    chart.points.iter().map(row).unzip()
}

/// Corner in which a scheme is better, in words; `None` if neither axis says.
fn better(chart: &Tradeoff) -> Option<String> {
    let side = |column: &Column, lower: &str, higher: &str| {
        let (way, how) = match column.better? {
            Better::Higher => (higher, "higher"),
            Better::Lower => (lower, "lower"),
        };
        Some((way.to_owned(), format!("{how} {}", column.title)))
    };
    let x = side(&chart.x, "to the left", "to the right");
    let y = side(&chart.y, "down", "up");
    let sides: Vec<(String, String)> = y.into_iter().chain(x).collect();
    if sides.is_empty() {
        return None;
    }
    let join = |of: fn(&(String, String)) -> &String, by: &str| {
        sides.iter().map(|s| of(s).as_str()).collect::<Vec<_>>().join(by)
    };
    let (ways, hows) = (join(|s| &s.0, " and "), join(|s| &s.1, ", "));
    let mut words = format!("Better is {ways}: {hows}.");
    if sides.len() == 2 {
        words.push_str(" The stepped line joins the schemes that no other one exceeds in both.");
    }
    Some(words)
}
