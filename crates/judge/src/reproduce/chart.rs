//! The chart of a claim as the page has it, from its figures in `summary.json`.

use airlane_report::model::{Better, Cell, Column, Tradeoff, TradeoffPoint};

use super::experiments::Experiment;
use crate::claims::{Axis, Chart};
use crate::summary::{ChartFigure, Summary};
use airlane_sim::workload::Sense;

/// The chart of an experiment's claim; `None` if it asks for none, or was not judged.
pub(super) fn of(experiment: &Experiment<'_>, summary: &Summary) -> Option<Tradeoff> {
    let claim = experiment.claim;
    let Chart::Tradeoff { x, y, beside } = claim.chart.as_ref()?;
    let rows = &summary.claims.iter().find(|entry| entry.id == claim.id)?.chart;
    // The place of a figure in a row is that of its axis in the chart.
    let column = |place: usize, axis: &Axis| {
        let values = rows.iter().filter_map(|row| row.figures.get(place)?.value);
        let unit = experiment.metrics.symbol(&axis.of.to_string());
        let column = Column::number(title(axis), unit, digits(values));
        match experiment.metrics.sense(&axis.of) {
            Sense::Higher => column.better(Better::Higher),
            Sense::Lower => column.better(Better::Lower),
            Sense::Neutral => column,
        }
    };
    let (of_x, of_y) = (column(0, x), column(1, y));
    let points = rows.iter().map(|row| {
        let mut cells = row.figures.iter().map(cell);
        TradeoffPoint {
            scheme: row.scheme.clone(),
            x: cells.next().unwrap_or_default(),
            y: cells.next().unwrap_or_default(),
            more: cells.collect(),
        }
    });
    Some(Tradeoff {
        title: format!("{} against {}", of_y.title, of_x.title),
        note: format!(
            "Lines through a mark are 95 % intervals over {} draws. Each scheme had the same draws, so a \
             difference between two can be surer than their lines say.",
            experiment.plan.cases.len()
        ),
        log_x: x.log,
        log_y: y.log,
        more: beside.iter().enumerate().map(|(i, axis)| column(2 + i, axis)).collect(),
        x: of_x,
        y: of_y,
        points: points.collect(),
    })
}

fn title(axis: &Axis) -> String {
    match axis.title.as_str() {
        "" => axis.of.to_string().replace('_', " "),
        title => title.to_owned(),
    }
}

fn cell(figure: &ChartFigure) -> Cell {
    figure.value.map_or(Cell::Empty, |value| Cell::with_ci(value, figure.ci95))
}

/// Digits behind the point that leave the smallest figure three that say something.
fn digits(values: impl Iterator<Item = f64>) -> u8 {
    let least = values.map(f64::abs).filter(|v| *v > 0.0).fold(f64::INFINITY, f64::min);
    if least.is_finite() { (3.0 - least.log10().floor()).clamp(0.0, 3.0) as u8 } else { 1 }
}
