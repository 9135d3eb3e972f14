//! What workloads add to claims: metrics beyond the figures of runs, and a section of the page.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;

use airlane_base::Time;
use airlane_report::model;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Caches, Flow, Metric, RunResult, traffic_of};
use crate::plan::{Plan, RunKey};
use crate::world::{AirOutput, DirectionOutput};

/// The figures of one cell: for each metric a list of draws, each with its figure per seed. The
/// lists of all metrics are about the same draws and seeds in the same order. What could not be
/// measured is NaN.
pub type ByMetric = BTreeMap<String, Vec<Vec<f64>>>;

/// Data of a run that is kept for claims.
#[derive(Debug)]
pub struct ClaimRun {
    /// Its result.
    pub result: RunResult,
    /// Further metrics that workloads keep of it, in the order of the registry.
    pub kept: AllCachedMetrics,
    /// Course of the run over time, for runs that a page draws.
    pub over_time: Option<model::Run>,
}

/// A [`ClaimRun`] as a journal has it.
#[derive(Serialize, Deserialize)]
pub struct ClaimRecord {
    result: RunResult,
    /// By workload.
    kept: BTreeMap<String, Value>,
    over_time: Option<model::Run>,
}

impl ClaimRecord {
    /// True if the other run had the same packets and figures, and the same series where both have some: of the
    /// runs of a scene, claims draw different ones over time.
    pub fn is_same_run(&self, other: &Self) -> bool {
        let has_same_series = match (&self.over_time, &other.over_time) {
            (Some(own), Some(others)) => json(own) == json(others),
            _ => true,
        };
        has_same_series && json(&(&self.result, &self.kept)) == json(&(&other.result, &other.kept))
    }
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("a journal has it as JSON")
}

impl ClaimRun {
    /// Record of the run for a journal.
    pub fn record(&self) -> ClaimRecord {
        let of = |kept: &CachedMetrics| (kept.workload.to_owned(), kept.figures.to_json());
        ClaimRecord {
            result: self.result.clone(),
            kept: self.kept.0.iter().map(of).collect(),
            over_time: self.over_time.clone(),
        }
    }

    /// Reads a run of `plan` from its record in a journal; `None` if the record lacks something
    /// that is asked for.
    pub fn from_record(plan: &Plan, record: ClaimRecord, drawn: bool) -> Option<Self> {
        let ClaimRecord { result, mut kept, over_time } = record;
        let mut all = Vec::with_capacity(kept.len());
        for traffic in traffic_of(&plan.scenario) {
            if let Some(json) = kept.remove(traffic.workload()) {
                all.push(traffic.read_cached(json)?);
            }
        }
        let is_whole = kept.is_empty() && (over_time.is_some() || !drawn);
        is_whole.then(|| Self {
            result,
            kept: AllCachedMetrics(all),
            over_time: over_time.filter(|_| drawn),
        })
    }
}

/// Metrics that a workload keeps of a run for claims.
#[derive(Clone)]
pub struct CachedMetrics {
    workload: &'static str,
    figures: Arc<dyn JournalFigures>,
}

/// Figures that a journal can have.
trait JournalFigures: Any + Send + Sync {
    fn to_json(&self) -> Value;
}

impl<T: Serialize + Any + Send + Sync> JournalFigures for T {
    fn to_json(&self) -> Value {
        serde_json::to_value(self).expect("figures are numbers and texts")
    }
}

impl CachedMetrics {
    /// Figures of a workload.
    pub fn new<T: Serialize + Any + Send + Sync>(workload: &'static str, figures: T) -> Self {
        Self { workload, figures: Arc::new(figures) }
    }

    /// The same as they are in a journal; `None` if they are something else.
    pub fn read<T>(workload: &'static str, json: Value) -> Option<Self>
    where
        T: Serialize + DeserializeOwned + Any + Send + Sync,
    {
        Some(Self::new(workload, serde_json::from_value::<T>(json).ok()?))
    }
}

impl std::fmt::Debug for CachedMetrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.workload, self.figures.to_json())
    }
}

/// Metrics that all workloads keep of a run.
#[derive(Clone, Debug, Default)]
pub struct AllCachedMetrics(Vec<CachedMetrics>);

impl AllCachedMetrics {
    /// In the order of the registry.
    pub fn new(all: Vec<CachedMetrics>) -> Self {
        Self(all)
    }

    /// That of type `T`, a workload's own; `None` if there is none.
    pub fn of<T: 'static>(&self) -> Option<&T> {
        self.0.iter().find_map(|kept| {
            let figures: &dyn Any = &*kept.figures;
            figures.downcast_ref()
        })
    }
}

/// The finished runs of one scene of a claim.
pub struct SceneRuns<'a> {
    /// The scene.
    pub plan: &'a Plan,
    /// Data that its runs share.
    pub caches: &'a Caches,
    /// Names of the schemes: the one that is judged, then what it is compared with.
    pub names: &'a [String],
    /// By case and seed, the run under each of these schemes.
    pub runs: Vec<Vec<Vec<&'a ClaimRun>>>,
}

impl<'a> SceneRuns<'a> {
    /// The runs of a scene; `None` unless all finished. `compare` are the places of its schemes.
    pub fn new(
        plan: &'a Plan,
        caches: &'a Caches,
        (names, compare): (&'a [String], &[usize]),
        finished: &BTreeMap<(usize, usize, u64), &'a ClaimRun>,
    ) -> Option<Self> {
        let of = |case: usize| -> Option<Vec<Vec<&'a ClaimRun>>> {
            let of_seed = |seed: &u64| -> Option<Vec<&'a ClaimRun>> {
                compare.iter().map(|s| finished.get(&(case, *s, *seed)).copied()).collect()
            };
            plan.scenario.seeds.iter().map(of_seed).collect()
        };
        let runs = (0..plan.cases.len()).map(of).collect::<Option<_>>()?;
        Some(Self { plan, caches, names, runs })
    }

    /// `of` of every case and seed.
    pub fn each(&self, of: impl Fn(&[&ClaimRun]) -> f64) -> Vec<Vec<f64>> {
        let of_case = |seeds: &Vec<Vec<&ClaimRun>>| seeds.iter().map(|runs| of(runs)).collect();
        self.runs.iter().map(of_case).collect()
    }
}

/// Part of a workload in the page of a claim.
#[derive(Clone, Debug, Default)]
pub struct ClaimSection {
    /// A table with a row per draw.
    pub tables: Vec<model::Table>,
    /// Distributions.
    pub cdfs: Vec<model::Cdf>,
    /// Entries of the page's list of schemes that are no schemes of the scenario.
    pub schemes: Vec<model::Scheme>,
    /// Words that the page uses.
    pub terms: Vec<model::Term>,
}

/// A metric of runs, with the metrics derived from it: that of the baseline, the change to it, and
/// for each of several baselines its own and the difference to it.
pub fn derived(metric: &Metric, names: &[String]) -> Vec<Metric> {
    let called = |name: String| Metric { name: name.into(), ..metric.clone() };
    let mut all = vec![metric.clone()];
    if names.len() > 1 {
        all.push(called(format!("{}_of_baseline", metric.name)));
        all.push(called(change_name(&metric.name)));
        for baseline in &names[1..] {
            all.push(called(format!("{}_of_{baseline}", metric.name)));
            all.push(called(format!("{}_over_{baseline}", metric.name)));
        }
    }
    all
}

/// The name of the change of a metric to the baseline.
fn change_name(name: &str) -> String {
    match name.strip_suffix("_s") {
        Some(stem) => format!("{stem}_change_s"),
        None => format!("{name}_change"),
    }
}

/// Adds a metric of runs and what is [`derived`] from it.
pub fn add_derived(
    samples: &mut ByMetric,
    compared: &SceneRuns<'_>,
    name: &str,
    of: impl Fn(&ClaimRun) -> f64,
) {
    samples.insert(name.to_owned(), compared.each(|runs| of(runs[0])));
    if compared.names.len() > 1 {
        samples.insert(format!("{name}_of_baseline"), compared.each(|runs| of(runs[1])));
        samples.insert(change_name(name), compared.each(|runs| of(runs[0]) - of(runs[1])));
        for (i, baseline) in compared.names.iter().enumerate().skip(1) {
            let own = compared.each(|runs| of(runs[i]));
            samples.insert(format!("{name}_of_{baseline}"), own);
            let difference = compared.each(|runs| of(runs[0]) - of(runs[i]));
            samples.insert(format!("{name}_over_{baseline}"), difference);
        }
    }
}

/// A run that has ended, for what workloads keep of it for claims.
#[derive(Clone, Copy)]
pub struct ClaimContext<'a> {
    /// The plan that it is of.
    pub plan: &'a Plan,
    /// Key of the run.
    pub key: RunKey,
    /// End of the run.
    pub at: Time,
    /// All connections of all workloads.
    pub flows: &'a [Flow<'a>],
    /// Every direction of every access.
    pub ways: &'a [DirectionOutput],
    /// Use of the air of each WiFi.
    pub airs: &'a [AirOutput],
}
