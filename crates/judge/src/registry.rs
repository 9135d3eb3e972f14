//! The workloads that commands know.

use std::any::Any;
use std::path::Path;
use std::sync::Arc;

use airlane_congestion::ControllerKind;
use airlane_net::queue::QueueKind;
use airlane_report::Report;
use airlane_sim::LabError;
use airlane_sim::workload as sim;

use crate::summary::Summary;

/// Kind of traffic, with the claims and the demonstration that are about it.
pub trait Workload: sim::Workload {
    /// The one of these that `airlane demo` runs, if one is made for newcomers.
    fn demo(&self) -> Option<Demo> {
        None
    }

    /// True if the content that `airlane demo` is given is for that scenario.
    fn demo_takes_content(&self) -> bool {
        false
    }

    /// Name and text of the claims that are measured with it, by system.
    fn claims(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// Defaults and constants that its figures in claims depend on and no scenario contains, as
    /// text.
    fn defaults(&self) -> String {
        String::new()
    }

    /// Result that was measured elsewhere than in the laboratory and lies in `folder`; `None` if
    /// there is nothing of this workload.
    fn measured_elsewhere(&self, _folder: &Path) -> Option<Result<ExternalResult, LabError>> {
        None
    }
}

/// Scenario of a workload that `airlane demo` runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demo {
    /// The name of the scenario.
    pub scenario: &'static str,
    /// Its `duration_s`, if it is to take less time than when it is run alone.
    pub duration_s: Option<u32>,
}

/// Result that was measured elsewhere, judged beside what the laboratory says of it.
pub struct ExternalResult {
    /// The figures and claims.
    pub summary: Summary,
    /// The page.
    pub report: Report,
    /// A table for the terminal.
    pub table: String,
    /// Claims and sessions that failed.
    pub failed: usize,
}

/// Workloads that commands know, in the order of hosts, rows and sections.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    workloads: Arc<[&'static dyn Workload]>,
    scenarios: airlane_scenario::Registry,
}

impl Registry {
    /// A registry of these workloads; at least one.
    pub fn new(workloads: &[&'static dyn Workload]) -> Self {
        let of_sim = workloads.iter().map(|workload| *workload as &'static dyn sim::Workload);
        Self { workloads: workloads.into(), scenarios: sim::registry(of_sim) }
    }

    /// The same with a controller that schemes may name.
    #[must_use]
    pub fn with_controller(self, kind: &'static dyn ControllerKind) -> Self {
        Self { scenarios: self.scenarios.with_controller(kind), ..self }
    }

    /// The same with a queue that links may name.
    #[must_use]
    pub fn with_queue(self, kind: &'static dyn QueueKind) -> Self {
        Self { scenarios: self.scenarios.with_queue(kind), ..self }
    }

    /// The registry with a word that a key of a workload may have, as [`airlane_scenario::Registry::with_word`].
    #[must_use]
    pub fn with_word(self, key: &'static str, word: Arc<dyn Any + Send + Sync>) -> Self {
        Self { scenarios: self.scenarios.with_word(key, word), ..self }
    }

    /// The workloads.
    pub fn workloads(&self) -> &[&'static dyn Workload] {
        &self.workloads
    }

    /// The systems that have claims, each with the text of these.
    pub fn claims(&self) -> impl Iterator<Item = (&'static str, &'static str)> + '_ {
        self.workloads.iter().flat_map(|workload| workload.claims()).copied()
    }

    /// The registry that scenarios are read with.
    pub fn scenarios(&self) -> &airlane_scenario::Registry {
        &self.scenarios
    }
}
