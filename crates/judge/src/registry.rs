//! The workloads that commands know.

use std::path::Path;
use std::sync::Arc;

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

    /// Whether the content that `airlane demo` is given is for that scenario.
    fn demo_takes_content(&self) -> bool {
        false
    }

    /// Name and text of the claims that are measured with it, by system.
    fn claims(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// What its figures in claims depend on and no scenario contains, as text: defaults, constants.
    fn defaults(&self) -> String {
        String::new()
    }

    /// What was measured elsewhere than in the laboratory and lies in `folder`, as a result; `None`
    /// if there is nothing of this workload.
    fn measured_elsewhere(&self, _folder: &Path) -> Option<Result<Measured, LabError>> {
        None
    }
}

/// What `airlane demo` runs of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demo {
    /// The name of the scenario.
    pub scenario: &'static str,
    /// Its `duration_s`, if it is to take less time than when it is run alone.
    pub duration_s: Option<u32>,
}

/// What was measured elsewhere, judged beside what the laboratory says of it.
pub struct Measured {
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
