//! What a workload is to the laboratory: one kind of traffic, with everything that belongs to it.
//!
//! The life of a workload follows that of a scenario. `Workload::read` reads its tables into a
//! `Traffic`: who takes part. `Traffic::prepare` reads what it needs beside the scenario, and draws what
//! differs from case to case: its `Draws`. `Draws::cache` computes what all runs of a plan share.
//! `Traffic::start` starts its roles in a world; they are `Running` until `Running::end` collects
//! their output, the workload's `Part` of the run's output. `Part::result` computes figures from
//! it, and `TrafficReport` has the words, tables and charts of the report.
//!
//! The kernel knows workloads by these traits alone, and derives from figures all that compares
//! them: means, intervals, changes and verdicts. Somebody's own workload
//! takes part once it is in the registry that scenarios are read with.

mod claim;
mod held;
mod metric;
mod registry;
mod result;
mod unit;

use std::any::Any;
use std::fmt::Debug;
use std::pin::Pin;
use std::sync::Arc;

use airlane_base::{InputError, Time};
use airlane_report::model;

pub use claim::ByMetric;
pub use claim::{
    AllCachedMetrics, CachedMetrics, ClaimContext, ClaimRecord, ClaimRun, ClaimSection, SceneRuns,
    add_derived, derived,
};
pub use held::{AllDraws, Caches, Parts};
pub use metric::{Headline, SweepForm};
pub use metric::{Metric, Scope, Sense};
pub use registry::{registry, traffic_of};
pub use result::{ActorResult, DirectionResult, Figure, Figures, RunResult};
pub use unit::{Dimension, Unit};

use crate::common::Common;
use crate::error::LabError;
use crate::plan::{Plan, RunKey, Sources};
use crate::results::Results;
use crate::world::{FlowSample, RunContext};
use airlane_scenario::{ControllerConfig, Frame, Place, Reader, Scenario, SchemePart};

/// Kind of traffic.
pub trait Workload: Debug + Sync {
    /// Name of the table of a scenario that says who takes part: `[[NAME]]`.
    fn table(&self) -> &'static str;

    /// Reads its tables of a scenario.
    fn read(&self, tables: &mut Reader<'_>, frame: &Frame<'_>) -> Arc<dyn Traffic>;

    /// Reads its keys of a scheme whose servers use `control`.
    fn read_scheme(
        &self,
        _: &mut Reader<'_>,
        _control: &ControllerConfig,
    ) -> Option<Arc<dyn SchemePart>> {
        None
    }

    /// Name and text of the scenarios that are about it.
    fn scenarios(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }
}

/// Traffic of one workload in a scenario: who takes part, and how they run. What it serialises as is all that
/// its runs depend on.
pub trait Traffic:
    TrafficReport + TrafficClaims + Any + Debug + erased_serde::Serialize + Send + Sync
{
    /// The name of its workload: that of the folder, and of its actors in results.
    fn workload(&self) -> &'static str;

    /// True if no one takes part.
    fn is_empty(&self) -> bool {
        self.names().is_empty()
    }

    /// The names of all that have rows of their own; names are distinct in a scenario.
    fn names(&self) -> Vec<String>;

    /// The pairs of hosts that it takes, in order.
    fn places(&self) -> Vec<Place>;

    /// True if its rate adapts to what others leave: then its size does not determine its load.
    fn adapts(&self) -> bool {
        false
    }

    /// Mean load that it offers to the network, bits/s of bodies; `None` if it takes all that there
    /// is, or if the load is not known.
    fn offered_bps(&self) -> Option<f64> {
        self.is_empty().then_some(0.0)
    }

    /// Metrics that are measured of it, each with its unit and sense.
    fn metrics(&self) -> Vec<Metric>;

    /// Reads what it needs beside the scenario, and draws its part of every case.
    ///
    /// # Errors
    /// What is wrong with what it reads, or how it goes together with the scenario.
    fn prepare(
        &self,
        _scenario: &Scenario,
        _common: &Common<'_>,
        _sources: &mut Sources,
    ) -> Result<Arc<dyn Draws>, InputError> {
        Ok(Arc::new(NoDraws))
    }

    /// Starts its roles.
    ///
    /// # Errors
    /// A fault of the program.
    fn start(&self, context: &mut RunContext<'_>) -> Result<Box<dyn Running>, LabError>;
}

/// Part that the traffic of a workload has in reports.
pub trait TrafficReport {
    /// Its part of the report but for the results: who it is, and the words used of it.
    fn about(&self, plan: &Plan) -> TrafficDescription;

    /// The figures that stand in the tables by scheme, the first of them the one that matters most.
    fn headlines(&self) -> Vec<Headline> {
        Vec::new()
    }

    /// The result in one sentence, if the scenario is about this workload.
    fn verdict(&self, _results: &Results<'_>) -> Option<String> {
        None
    }

    /// The words for the verdict of a sweep: whose gain, in which figure.
    fn verdict_of_grid(&self) -> Option<GridVerdict> {
        None
    }

    /// Its tables and charts, of at least one run.
    fn section(&self, _results: &Results<'_>, _stocks: &Caches) -> ReportSection {
        ReportSection::default()
    }
}

/// Part that the traffic of a workload has in claims: metrics that the kernel cannot derive from those of runs.
pub trait TrafficClaims {
    /// Reads from a journal the metrics that it kept of a run for claims; `None` if the value is
    /// something else.
    fn read_cached(&self, _json: serde_json::Value) -> Option<CachedMetrics> {
        None
    }

    /// The metrics of a run that claims have beside its figures.
    fn claim_run_metrics(&self) -> Vec<Metric> {
        Vec::new()
    }

    /// The figure of one of these metrics; `None` if it was not measured.
    fn claim_figure(&self, _metric: &str, _run: &ClaimRun) -> Option<f64> {
        None
    }

    /// The metrics of a draw that the kernel cannot derive from those of its runs, for a claim that
    /// compares schemes of these names.
    fn claim_metrics(&self, _names: &[String]) -> Vec<Metric> {
        Vec::new()
    }

    /// The figures of these metrics.
    fn claim_samples(&self, _compared: &SceneRuns<'_>) -> ByMetric {
        ByMetric::new()
    }

    /// The metrics of a measure of its own, which takes no runs; `None` if it has no such measure.
    fn measure_metrics(&self, _measure: &str) -> Option<Vec<Metric>> {
        None
    }

    /// The figures of that measure.
    fn measure(&self, _measure: &str, _plan: &Plan, _stocks: &Caches) -> Option<ByMetric> {
        None
    }

    /// Part of it in the page of a claim, given its figures.
    fn claim_section(&self, _compared: &SceneRuns<'_>, _samples: &ByMetric) -> ClaimSection {
        ClaimSection::default()
    }
}

erased_serde::serialize_trait_object!(Traffic);

/// Wording of the verdict of a sweep.
#[derive(Clone, Debug)]
pub struct GridVerdict {
    /// Party that is better off: `the worst viewer`.
    pub who: &'static str,
    /// The figure, as in `the worst viewer's QoE is`.
    pub figure: &'static str,
}

/// Description in words of those that take part.
#[derive(Clone, Debug, Default)]
pub struct TrafficDescription {
    /// Users of the network: `four viewers with different videos`.
    pub who: Vec<String>,
    /// Number of these users; 1 only if there is one alone.
    pub count: usize,
    /// Things that are the same under every scheme: `Videos, players`.
    pub constants: Vec<&'static str>,
    /// Facts of the scenario.
    pub facts: Vec<model::Fact>,
    /// Words that the report uses.
    pub terms: Vec<model::Term>,
}

/// The tables and charts of a workload in a report.
#[derive(Clone, Debug, Default)]
pub struct ReportSection {
    /// Tables.
    pub tables: Vec<model::Table>,
    /// Charts of dots.
    pub dots: Vec<model::DotChart>,
    /// Curves.
    pub curves: Vec<model::XyGroup>,
    /// Distributions.
    pub cdfs: Vec<model::Cdf>,
}

/// Draws of the cases for a workload.
pub trait Draws: Any + Debug + Send + Sync {
    /// All that a world of this case under this scheme depends on, as text.
    fn identity(&self, _plan: &Plan, _key: RunKey) -> String {
        String::new()
    }

    /// All that [`Self::cache`] depends on, as text: plans that agree in it share a cache.
    fn cache_key(&self, _plan: &Plan) -> String {
        String::new()
    }

    /// Checks what [`Self::cache`] checks of the input, without its work.
    ///
    /// # Errors
    /// As [`Self::cache`], of the input.
    fn check(&self, _plan: &Plan) -> Result<(), InputError> {
        Ok(())
    }

    /// Data that all runs of the plan share.
    ///
    /// # Errors
    /// If what was read does not go together with the scenario.
    fn cache(&self, _plan: &Plan) -> Result<Arc<dyn Any + Send + Sync>, LabError> {
        Ok(Arc::new(()))
    }

    /// The name of the content that figures depend on, without where it lies; `None` without.
    fn content_name(&self) -> Option<String> {
        None
    }

    /// The same with its hash.
    fn content(&self) -> Option<String> {
        None
    }

    /// Warnings for readers about the content.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }

    /// Draw of a case, in a few words: `a, b, b`.
    fn case(&self, _case: usize) -> String {
        String::new()
    }
}

/// Nothing differs from case to case.
#[derive(Debug)]
pub struct NoDraws;

impl Draws for NoDraws {}

/// A future in a box.
pub type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// A workload's roles in a world.
pub trait Running: Send {
    /// True if the run may end before its time.
    fn is_over(&self) -> bool {
        false
    }

    /// Waits for the roles, which end with the run, and collects their output.
    fn end(self: Box<Self>) -> BoxFuture<Box<dyn Part>>;
}

/// The output of a workload in a run.
pub trait Part: Any + Debug + Send + Sync {
    /// The connections that were sampled.
    fn flows(&self) -> Vec<Flow<'_>> {
        Vec::new()
    }

    /// The figures.
    fn result(&self, run: &EndedRun<'_>) -> PartResult;

    /// Metrics that claims need of it beside the figures.
    fn keep(&self, _run: &ClaimContext<'_>) -> Option<CachedMetrics> {
        None
    }

    /// Course of the workload over time, beside that of connections and links.
    fn over_time(&self, _run: &EndedRun<'_>) -> OverTime {
        OverTime::default()
    }
}

/// A connection of an actor, over time.
#[derive(Clone, Debug)]
pub struct Flow<'a> {
    /// The actor, for people.
    pub title: String,
    /// Purpose of the connection, in a few words.
    pub note: String,
    /// True if it always has data to send.
    pub greedy: bool,
    /// The sending side.
    pub samples: &'a [FlowSample],
}

/// A run that has ended.
#[derive(Clone, Copy)]
pub struct EndedRun<'a> {
    /// The plan that it is of.
    pub plan: &'a Plan,
    /// End of the run.
    pub at: Time,
}

/// The figures of a workload in a run.
#[derive(Clone, Debug, Default)]
pub struct PartResult {
    /// Of each actor.
    pub actors: Vec<ActorResult>,
    /// Of the run.
    pub figures: Figures,
}

/// Course of a workload over time, for charts.
#[derive(Clone, Debug, Default)]
pub struct OverTime {
    /// Panels, in order.
    pub panels: Vec<model::Panel>,
    /// Spans of time that something lasted.
    pub spans: Vec<model::Span>,
    /// Grids that show the content of each cell over time.
    pub grids: Vec<model::Grid>,
}
