//! What is kept of a run: its rows and its hash.

use serde::{Deserialize, Serialize};

use crate::error::LabError;
use crate::plan::Plan;
use crate::story::RunFigures;
use crate::summary::{Row, RunEntry};

/// What is kept of a run. It has no names of scheme or scenario in it: a world is the same
/// whatever it is called.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Record {
    /// Hash over what happened to every packet, 16 hexadecimal digits.
    pub(super) packet_hash: String,
    /// Virtual time that it took, seconds.
    pub(super) virtual_s: f64,
    /// The figures in the order of rows.
    pub(super) figures: Vec<Figure>,
    /// Sessions and transfers that ended early: who and why.
    pub(super) failures: Vec<(String, String)>,
}

/// A figure: of which viewer or transfer (empty for the run itself), metric, unit, value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Figure(String, String, String, f64);

impl Record {
    /// What to keep of a run of `plan`.
    ///
    /// # Errors
    /// If a figure is no finite number: a fault of ours.
    pub(super) fn of(plan: &Plan, figures: &RunFigures) -> Result<Self, LabError> {
        let case = &plan.cases[figures.key.case].name;
        let rows = figures.rows(plan);
        if let Some(row) = rows.iter().find(|r| !r.value.is_finite()) {
            let what = format!("{} of {} is no finite number", row.metric, row.case);
            return Err(LabError::fault(what));
        }
        let figure = |row: Row| {
            let of = row.case.strip_prefix(case).and_then(|rest| rest.strip_prefix('/'));
            Figure(of.unwrap_or_default().to_owned(), row.metric, row.unit, row.value)
        };
        let failure = |(who, why): (&str, &str)| (who.to_owned(), why.to_owned());
        Ok(Self {
            packet_hash: format!("{:016x}", figures.packet_hash),
            virtual_s: figures.virtual_s,
            figures: rows.into_iter().map(figure).collect(),
            failures: figures.failures().map(failure).collect(),
        })
    }

    /// A figure of the run itself.
    pub(super) fn value(&self, metric: &str) -> Option<f64> {
        self.figures.iter().find(|f| f.0.is_empty() && f.1 == metric).map(|f| f.3)
    }

    /// A figure of every viewer or transfer that has it.
    pub(super) fn values(&self, metric: &str) -> Vec<f64> {
        self.figures.iter().filter(|f| !f.0.is_empty() && f.1 == metric).map(|f| f.3).collect()
    }

    /// The rows of a summary, given the run that they are of.
    pub(super) fn rows<'a>(&'a self, run: &'a RunEntry) -> impl Iterator<Item = Row> + 'a {
        self.figures.iter().map(|Figure(of, metric, unit, value)| Row {
            experiment: run.experiment.clone(),
            case: if of.is_empty() { run.case.clone() } else { format!("{}/{of}", run.case) },
            scheme: run.scheme.clone(),
            seed: run.seed,
            metric: metric.clone(),
            unit: unit.clone(),
            value: *value,
        })
    }
}
