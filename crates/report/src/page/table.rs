//! Tables, as real ones.

use std::fmt::Write as _;

use super::text::{element, escape, escape_into, interval, number};
use crate::model::{Better, Cell, Column, Table};

/// Appends a table with its caption.
pub fn table(out: &mut String, table: &Table) {
    table_of_schemes(out, table, &[]);
}

/// Appends a table whose rows are of schemes: `schemes` has the position and the mark of each.
pub fn table_of_schemes(out: &mut String, table: &Table, schemes: &[(usize, usize)]) {
    let _ = writeln!(
        out,
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\"><table class=\"data\">",
        escape(&table.title)
    );
    out.push_str("<caption>");
    element(out, "strong", "", &table.title);
    element(out, "span", "note", &table.note);
    out.push_str("</caption>\n<thead><tr>");
    for column in &table.columns {
        heading(out, table, column);
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    let best: Vec<Option<f64>> = (0..table.columns.len()).map(|c| best(table, c)).collect();
    for r in 0..table.rows.len() {
        row(out, table, r, &best, schemes.get(r).copied());
    }
    out.push_str("</tbody></table></div>\n");
}

fn is_text(table: &Table, column: usize) -> bool {
    !table.rows.iter().any(|r| matches!(r.cells.get(column), Some(Cell::Number { .. })))
}

fn heading(out: &mut String, table: &Table, column: &Column) {
    let c = table.columns.iter().position(|x| std::ptr::eq(x, column)).unwrap_or(0);
    let class = if is_text(table, c) { "text" } else { "num" };
    let _ = write!(out, "<th scope=\"col\" class=\"{class}\"");
    if !column.help.is_empty() {
        let _ = write!(out, " title=\"{}\"", escape(&column.help));
    }
    out.push('>');
    escape_into(out, &column.title);
    if !column.help.is_empty() {
        let _ = write!(out, "<span class=\"hidden\">: {}</span>", escape(&column.help));
    }
    if !column.unit.is_empty() {
        let _ = write!(out, " <span class=\"unit\">{}</span>", escape(&column.unit));
    }
    out.push_str("</th>");
}

/// The best number of a column, if numbers differ as they are shown.
fn best(table: &Table, column: usize) -> Option<f64> {
    let spec = &table.columns[column];
    let better = spec.better?;
    let values: Vec<f64> = table
        .rows
        .iter()
        .filter_map(|r| match r.cells.get(column) {
            Some(Cell::Number { value, .. }) => Some(*value),
            _ => None,
        })
        .collect();
    let best = values.iter().copied().reduce(match better {
        Better::Higher => f64::max,
        Better::Lower => f64::min,
    })?;
    let shown = number(best, spec.digits);
    values.iter().any(|v| number(*v, spec.digits) != shown).then_some(best)
}

fn row(
    out: &mut String,
    table: &Table,
    r: usize,
    best: &[Option<f64>],
    scheme: Option<(usize, usize)>,
) {
    // A new group starts where a merged column changes.
    let starts_group = r > 0
        && (0..table.columns.len()).any(|c| table.columns[c].merge && merged_rows(table, r, c) > 0)
        && table.columns.iter().any(|c| c.merge);
    let strong = table.rows[r].strong;
    out.push_str(match (strong, starts_group) {
        (true, true) => "<tr class=\"strong group\"",
        (true, false) => "<tr class=\"strong\"",
        (false, true) => "<tr class=\"group\"",
        (false, false) => "<tr",
    });
    if let Some((position, _)) = scheme {
        let _ = write!(out, " data-scheme=\"{position}\"");
    }
    out.push('>');
    for (c, column) in table.columns.iter().enumerate() {
        let rows = if column.merge { merged_rows(table, r, c) } else { 1 };
        if rows == 0 {
            continue;
        }
        let span = if rows > 1 { format!(" rowspan=\"{rows}\"") } else { String::new() };
        let cell = table.rows[r].cells.get(c).unwrap_or(&Cell::Empty);
        match cell {
            Cell::Text(text) if c == 0 => {
                let _ = write!(out, "<th scope=\"row\"{span}>");
                if let Some((_, mark)) = scheme {
                    let _ = write!(out, "<i class=\"mark m{mark}\"></i>");
                }
                let _ = write!(out, "{}</th>", escape(text));
            }
            Cell::Text(text) => {
                let _ = write!(out, "<td{span}>{}</td>", escape(text));
            }
            Cell::Number { value, ci95 } => {
                let shown = number(*value, column.digits);
                let is_best = best[c].is_some_and(|b| number(b, column.digits) == shown);
                let class = if is_best { "num best" } else { "num" };
                let _ = write!(out, "<td class=\"{class}\"{span}>{shown}");
                if let Some(ci95) = ci95 {
                    let _ = write!(
                        out,
                        "<span class=\"ci\" title=\"95 % interval\">{}</span>",
                        interval(*ci95, column.digits)
                    );
                }
                out.push_str("</td>");
            }
            Cell::Empty => {
                let class = if is_text(table, c) { "none" } else { "num none" };
                let _ = write!(out, "<td class=\"{class}\"{span}>–</td>");
            }
        }
    }
    out.push_str("</tr>\n");
}

/// Number of rows that the cell at `r`, `c` of a merged column spans: 0 if the one above spans it.
/// A cell merges only where all merged columns to its left do.
fn merged_rows(table: &Table, r: usize, c: usize) -> usize {
    let key = |row: usize| -> Vec<&Cell> {
        (0..=c)
            .filter(|&i| table.columns[i].merge)
            .map(|i| table.rows[row].cells.get(i).unwrap_or(&Cell::Empty))
            .collect()
    };
    let this = key(r);
    if r > 0 && key(r - 1) == this {
        return 0;
    }
    (r..table.rows.len()).take_while(|&row| key(row) == this).count()
}
