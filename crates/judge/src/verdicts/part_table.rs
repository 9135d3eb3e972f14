//! Tables that a system's claims name: a row per cell, per scheme, per scheme of a chart or per draw.

use std::collections::BTreeMap;

use super::contents::{Content, Contents};
use super::figure::figure;
use super::markdown;
use crate::claims::{TableColumn, TableRows, TableSpec};

/// The cells of a row by content: none where the content has no figure of that row.
type Row = (String, Vec<Option<String>>);

/// The table; `None` if no content has a figure of it.
pub(super) fn table(contents: &Contents, spec: &TableSpec) -> Option<String> {
    let of_contents: Vec<(&Content, Parts)> = contents
        .list
        .iter()
        .map(|content| (content, Parts::of(content, spec)))
        .filter(|(_, parts)| !parts.0.is_empty())
        .collect();
    let mut names: Vec<&str> = Vec::new();
    for name in of_contents.iter().flat_map(|(_, parts)| parts.0.iter().map(|(name, _)| name)) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let mut rows: Vec<Row> = Vec::new();
    for name in names {
        let cells = of_contents.iter().map(|(_, parts)| parts.cell(name, spec)).collect();
        rows.push((name.to_owned(), cells));
    }
    if let Some(plain) = &spec.plain {
        let at = rows.iter().position(|(name, _)| name.is_empty())?;
        let row = rows.remove(at);
        rows.insert(plain.at.min(rows.len()), row);
    } else {
        rows.retain(|(name, _)| !name.is_empty());
    }
    if rows.is_empty() {
        return None;
    }
    let titles: Vec<&str> = spec.columns.iter().map(|column| column.title.as_str()).collect();
    let titles = titles.join(", ");
    let mut head = vec![spec.heading.clone()];
    head.extend(of_contents.iter().map(|(content, _)| match content.name.as_str() {
        "" => titles.clone(),
        name => format!("{name}: {titles}"),
    }));
    let plain = spec.plain.as_ref().map_or("", |plain| &plain.name);
    let rows: Vec<Vec<String>> = rows
        .into_iter()
        .map(|(name, cells)| {
            let first = match (name.as_str(), spec.rows) {
                ("", _) => plain.to_owned(),
                (number, TableRows::Draws) => number.to_owned(),
                (name, _) => format!("`{name}`"),
            };
            let cells = cells.into_iter().map(|cell| cell.unwrap_or_else(|| "-".to_owned()));
            std::iter::once(first).chain(cells).collect()
        })
        .collect();
    Some(markdown(&head, &rows))
}

/// A figure and its interval.
type Figure = (Option<f64>, Option<[f64; 2]>);

/// The figures of a content by row, in the order of the record, and by statistic. The row without a name is that of
/// the claim without a change.
struct Parts(Vec<(String, BTreeMap<String, Figure>)>);

impl Parts {
    fn of(content: &Content, spec: &TableSpec) -> Self {
        let mut parts = Self(Vec::new());
        if spec.rows == TableRows::Chart {
            let chart = content.claim(&spec.claim).map(|claim| &claim.chart);
            for row in chart.into_iter().flatten() {
                for figure in &row.figures {
                    parts.add(&row.scheme, &figure.of, (figure.value, figure.ci95));
                }
            }
            return parts;
        }
        if spec.rows == TableRows::Draws {
            let draws = content.claim(&spec.claim).map(|claim| &claim.draws);
            for (at, figures) in draws.into_iter().flatten().enumerate() {
                for (statistic, value) in figures {
                    parts.add(&(at + 1).to_string(), statistic, (Some(*value), None));
                }
            }
            return parts;
        }
        let separator = if spec.rows == TableRows::Schemes { "_of_" } else { "@" };
        for row in content.rows.iter().filter(|row| row.case == "all") {
            let (experiment, variant) = parted(&row.experiment, "/");
            let (metric, cell) = parted(&row.metric, separator);
            if experiment == spec.claim
                && spec.columns.iter().any(|column| column.of.to_string() == metric)
            {
                let part = if variant.is_empty() { cell } else { variant };
                parts.add(part, metric, (Some(row.value), None));
            }
        }
        parts
    }

    fn add(&mut self, part: &str, statistic: &str, figure: Figure) {
        let at = self.0.iter().position(|(name, _)| name == part).unwrap_or_else(|| {
            self.0.push((part.to_owned(), BTreeMap::new()));
            self.0.len() - 1
        });
        self.0[at].1.insert(statistic.to_owned(), figure);
    }

    /// The cell of a row; `None` if it has no figure of that row.
    fn cell(&self, part: &str, spec: &TableSpec) -> Option<String> {
        let (_, figures) = self.0.iter().find(|(name, _)| name == part)?;
        let one = |column: &TableColumn| match figures.get(&column.of.to_string()) {
            Some((Some(value), ci95)) => {
                let ends =
                    ci95.filter(|_| column.interval).map(|ends| ends.map(|x| x * column.factor));
                figure(Some(value * column.factor), ends, "", column.digits)
            }
            _ => "-".to_owned(),
        };
        Some(spec.columns.iter().map(one).collect::<Vec<_>>().join(", "))
    }
}

/// A text before and behind a separator.
fn parted<'a>(text: &'a str, separator: &str) -> (&'a str, &'a str) {
    text.split_once(separator).unwrap_or((text, ""))
}
