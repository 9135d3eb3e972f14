//! Results of runs.

use airlane_judge::reporting::RunReport;
use airlane_report::model::Run;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::table::{self, Table};

/// Figures and page of the runs of a scenario.
#[pyclass(frozen, module = "airlane._airlane")]
pub(crate) struct RunOutcome(RunReport);

impl RunOutcome {
    /// That of this report.
    pub(crate) fn new(report: RunReport) -> Self {
        Self(report)
    }

    fn over_time(&self) -> &[Run] {
        self.0.report.sections.first().map_or(&[], |section| section.runs.as_slice())
    }
}

#[pymethods]
impl RunOutcome {
    /// Figures, a row each.
    fn rows(&self) -> Table {
        table::rows(&self.0.summary)
    }

    /// Runs with their packet hashes, a row each.
    fn runs(&self) -> Table {
        table::runs(&self.0.summary.runs)
    }

    /// Id, title and unit of the quantities that are there over time.
    fn panels(&self) -> Vec<(String, String, String)> {
        let mut panels: Vec<(String, String, String)> = Vec::new();
        for panel in self.over_time().iter().flat_map(|run| &run.panels) {
            if !panels.iter().any(|(id, ..)| *id == panel.id) {
                panels.push((panel.id.clone(), panel.title.clone(), panel.unit.clone()));
            }
        }
        panels
    }

    /// A quantity over time, a row per point.
    fn series(&self, id: &str) -> Table {
        table::series(self.over_time(), id)
    }

    /// The page, as HTML.
    fn html(&self) -> String {
        airlane_report::render(&self.0.report)
    }

    /// The text of `summary.json`.
    fn summary_json(&self) -> PyResult<String> {
        self.0.summary.to_json().map_err(|e| PyValueError::new_err(e.to_string()))
    }

    /// The report as data, as `report.json.gz` has it.
    fn report_json_gz(&self) -> Vec<u8> {
        self.0.report.to_json_gz()
    }

    /// The table that the command line prints.
    fn table(&self) -> &str {
        &self.0.table
    }

    /// One sentence that says what came out.
    fn verdict(&self) -> &str {
        &self.0.verdict
    }

    /// Name of the scenario.
    fn scenario(&self) -> &str {
        &self.0.summary.scenario
    }

    /// Virtual time of all runs together, seconds.
    fn virtual_s(&self) -> f64 {
        self.0.summary.virtual_s
    }

    /// Number of sessions and transfers that failed.
    fn failed(&self) -> usize {
        self.0.failed
    }
}
