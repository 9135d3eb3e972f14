//! Charts that a claim asks for: figures of each scheme that it compares, beside its rule.

use airlane_base::Seed;
use serde::Deserialize;

use super::estimate::interval_estimate;
use super::samples::Samples;
use super::spec::Claim;
use super::statistic::Statistic;
use crate::summary::{ChartFigure, ChartRow};

/// A chart of a claim. It changes neither draws nor verdict.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Chart {
    /// A point per scheme, one figure against another.
    Tradeoff {
        /// Figure along the horizontal axis.
        x: Axis,
        /// Figure along the vertical axis.
        y: Axis,
        /// Figures that stand with both in the table.
        #[serde(default)]
        beside: Vec<Axis>,
    },
}

/// A figure of each scheme.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    /// Statistic to plot: of `METRIC` for the scheme that is judged, of `METRIC_of_NAME` for each
    /// compared scheme NAME.
    pub of: Statistic,
    /// Title; without it, that of the statistic.
    #[serde(default)]
    pub title: String,
    /// True if its axis is logarithmic.
    #[serde(default)]
    pub log: bool,
}

impl Chart {
    /// Its figures, each with its key in the claim.
    pub fn axes(&self) -> Vec<(String, &Axis)> {
        let Self::Tradeoff { x, y, beside } = self;
        let beside = beside.iter().enumerate().map(|(i, axis)| (format!("beside.{i}"), axis));
        [("x".to_owned(), x), ("y".to_owned(), y)].into_iter().chain(beside).collect()
    }

    /// Checks what does not depend on the scene. The error has the key, what was found and what
    /// was expected.
    pub(super) fn check(&self, claim: &Claim) -> Result<(), (String, String, &'static str)> {
        if claim.measure.is_some() {
            let found = "a chart of figures that are computed without runs".to_owned();
            return Err(("chart".to_owned(), found, "expected none beside `measure`"));
        }
        if claim.compare.len() < 2 {
            let found = "a chart of one scheme".to_owned();
            return Err(("chart".to_owned(), found, "expected several in `compare`"));
        }
        for (key, axis) in self.axes() {
            if axis.of.of_scheme("other").is_none() {
                let expected = "expected a metric, or share(), lower(), median() or upper() of one";
                return Err((format!("chart.{key}.of"), format!("\"{}\"", axis.of), expected));
            }
        }
        let Self::Tradeoff { beside, .. } = self;
        if let Some(i) = beside.iter().position(|axis| axis.log) {
            let expected = "expected it of x and y, which are drawn";
            return Err((format!("chart.beside.{i}.log"), "true".to_owned(), expected));
        }
        Ok(())
    }
}

impl Axis {
    /// The statistic of each scheme that a claim compares, by its name.
    pub fn of_schemes(&self, claim: &Claim) -> Vec<(String, Statistic)> {
        let of = |(i, name): (usize, &String)| {
            // Metrics of the scheme that is judged carry no name.
            let of = if i == 0 { Some(self.of.clone()) } else { self.of.of_scheme(name) };
            Some((name.clone(), of?))
        };
        claim.compare.iter().enumerate().filter_map(of).collect()
    }
}

/// The figures of a claim's chart, a row per scheme in the order of `compare`; none without a
/// chart. What was not measured has no value. `seed` feeds the resampling.
pub(super) fn chart_rows(claim: &Claim, samples: &Samples, seed: Seed) -> Vec<ChartRow> {
    let Some(chart) = &claim.chart else { return Vec::new() };
    let mut rows: Vec<ChartRow> =
        claim.compare.iter().map(|s| ChartRow { scheme: s.clone(), figures: vec![] }).collect();
    for (_, axis) in chart.axes() {
        for (row, (_, of)) in rows.iter_mut().zip(axis.of_schemes(claim)) {
            let estimate = interval_estimate(&of, samples, seed).ok();
            row.figures.push(ChartFigure {
                of: axis.of.to_string(),
                value: estimate.map(|e| e.value),
                ci95: estimate.and_then(|e| e.ci95),
            });
        }
    }
    rows
}
