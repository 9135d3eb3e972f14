//! What a workload is to the laboratory: one kind of traffic, with everything that belongs to it.
//!
//! The life of a workload follows that of a scenario. `Workload::read` reads its tables into a
//! `Cast`: who takes part. `Cast::prepare` reads what it needs beside the scenario, and draws what
//! differs from case to case: its `Draws`. `Draws::stock` computes what all runs of a plan share.
//! `Cast::start` starts its roles in a world; they are `Running` until `Running::end` collects
//! their output, the workload's `Part` of the run's output. `Part::result` computes figures from
//! it, and the cast's chapter has the words, tables and charts of the report.
//!
//! The kernel knows workloads by these traits alone, and derives from figures all that compares
//! them: means, intervals, changes and verdicts. Each workload is a folder in
//! [`workloads`](crate::workloads).

mod claim;
mod held;
mod metric;
mod result;

use std::any::Any;
use std::fmt::Debug;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use airlane_base::{InputError, Time};
use airlane_report::model;

pub use claim::ByMetric;
pub(crate) use claim::{
    AllKept, ClaimChapter, ClaimContext, ClaimRecord, ClaimRun, Compared, Kept, add_derived,
    derived,
};
pub use held::{AllDraws, Casts, Parts, SchemeParts, Stocks};
pub(crate) use metric::{Headline, InSweep};
pub use metric::{Metric, Scope, Sense};
pub use result::{ActorResult, Figure, Figures, RunResult, WayResult};

use crate::error::LabError;
use crate::plan::{Plan, RunKey, Sources};
use crate::request::Common;
use crate::scenario::{ControllerConfig, Frame, Reader, Scenario};
use crate::story::Results;
use crate::world::{FlowSample, Stage};

/// A kind of traffic.
pub(crate) trait Workload: Sync {
    /// The table of a scenario that says who takes part: `[[NAME]]`.
    fn table(&self) -> &'static str;

    /// Reads its tables of a scenario.
    fn read(&self, tables: &mut Reader<'_>, frame: &Frame<'_>) -> Arc<dyn Cast>;

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
pub(crate) struct Measured {
    /// The figures and claims.
    pub(crate) summary: crate::summary::Summary,
    /// The page.
    pub(crate) report: airlane_report::Report,
    /// A table for the terminal.
    pub(crate) table: String,
    /// Claims and sessions that failed.
    pub(crate) failed: usize,
}

/// What a scheme says of a workload. What it serialises is all that runs under it depend on.
pub(crate) trait SchemePart: Any + Debug + erased_serde::Serialize + Send + Sync {
    /// Whether it sets weights of connections while they run.
    fn sets_weights(&self) -> bool {
        false
    }

    /// What a reader of the report should know of it, in sentences.
    fn note(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Where a pair of hosts, a server and its client, is attached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The numbers of the accesses that the client is on: at least one.
    pub(crate) at: Vec<usize>,
    /// The round trip of propagation in the core, if it is not the network's.
    pub(crate) rtt: Option<Duration>,
}

/// Who of a workload takes part in a scenario. What it serialises is all that its runs depend on.
pub(crate) trait Cast: Any + Debug + erased_serde::Serialize + Send + Sync {
    /// The name of its workload: that of the folder, and of its actors in results.
    fn workload(&self) -> &'static str;

    /// Whether no one takes part.
    fn is_empty(&self) -> bool;

    /// The names of all that have rows of their own; names are distinct in a scenario.
    fn names(&self) -> Vec<String>;

    /// The pairs of hosts that it takes, in order.
    fn places(&self) -> Vec<Place>;

    /// Whether its rate adapts to what others leave: then its size does not determine its load.
    fn adapts(&self) -> bool {
        false
    }

    /// What it offers to the network on average, bits/s of bodies; `None` if it is as much as
    /// there is.
    fn offered_bps(&self) -> Option<f64>;

    /// What is measured of it: each with its unit and sense.
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

    /// What it kept of a run for claims, as a journal has it; `None` if that is something else.
    fn read_kept(&self, _json: serde_json::Value) -> Option<Kept> {
        None
    }

    /// Starts its roles.
    ///
    /// # Errors
    /// A fault of the program.
    fn start(&self, stage: &mut Stage<'_>) -> Result<Box<dyn Running>, LabError>;

    /// Its part of the report but for the results: who it is, and the words used of it.
    fn about(&self, plan: &Plan) -> About;

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
    fn claim_samples(&self, _compared: &Compared<'_>) -> ByMetric {
        ByMetric::new()
    }

    /// The metrics of a measure of its own, which takes no runs; `None` if it has no such measure.
    fn measure_metrics(&self, _measure: &str) -> Option<Vec<Metric>> {
        None
    }

    /// The figures of that measure.
    fn measure(&self, _measure: &str, _plan: &Plan, _stocks: &Stocks) -> Option<ByMetric> {
        None
    }

    /// What a claim's page says of it, given its figures.
    fn claim_chapter(&self, _compared: &Compared<'_>, _samples: &ByMetric) -> ClaimChapter {
        ClaimChapter::default()
    }

    /// Its tables and charts, of at least one run.
    fn chapter(&self, results: &Results<'_>, stocks: &Stocks) -> Chapter;
}

erased_serde::serialize_trait_object!(SchemePart);
erased_serde::serialize_trait_object!(Cast);

/// How the verdict of a sweep is worded.
#[derive(Clone, Debug)]
pub(crate) struct GridVerdict {
    /// Who is better off: `the worst viewer`.
    pub(crate) who: &'static str,
    /// The figure, as in `the worst viewer's QoE is`.
    pub(crate) figure: &'static str,
}

/// Who takes part, in words.
#[derive(Clone, Debug, Default)]
pub(crate) struct About {
    /// Who uses the network: `four viewers with different videos`.
    pub(crate) who: Vec<String>,
    /// How many these are, 1 only if it is one alone.
    pub(crate) count: usize,
    /// What is the same under every scheme: `Videos, players`.
    pub(crate) constants: Vec<&'static str>,
    /// Facts of the scenario.
    pub(crate) facts: Vec<model::Fact>,
    /// Words that the report uses.
    pub(crate) terms: Vec<model::Term>,
}

/// The tables and charts of a workload in a report.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chapter {
    /// Tables.
    pub(crate) tables: Vec<model::Table>,
    /// Charts of dots.
    pub(crate) dots: Vec<model::DotChart>,
    /// Curves.
    pub(crate) curves: Vec<model::XyGroup>,
    /// Distributions.
    pub(crate) cdfs: Vec<model::Cdf>,
}

/// What cases draw for a workload.
pub(crate) trait Draws: Any + Debug + Send + Sync {
    /// All that a world of this case under this scheme depends on, as text.
    fn identity(&self, _plan: &Plan, _key: RunKey) -> String {
        String::new()
    }

    /// All that [`Self::stock`] depends on, as text: plans that agree in it share a stock.
    fn stock_key(&self, _plan: &Plan) -> String {
        String::new()
    }

    /// Checks what [`Self::stock`] checks of the input, without its work.
    ///
    /// # Errors
    /// As [`Self::stock`], of the input.
    fn check(&self, _plan: &Plan) -> Result<(), InputError> {
        Ok(())
    }

    /// What all runs of the plan share.
    ///
    /// # Errors
    /// If what was read does not go together with the scenario.
    fn stock(&self, _plan: &Plan) -> Result<Arc<dyn Any + Send + Sync>, LabError> {
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

    /// What readers should know about the content.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }

    /// What a case draws, in a few words: `a, b, b`.
    fn case(&self, _case: usize) -> String {
        String::new()
    }
}

/// Nothing differs from case to case.
#[derive(Debug)]
pub(crate) struct NoDraws;

impl Draws for NoDraws {}

/// A future in a box.
pub(crate) type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// A workload's roles in a world.
pub(crate) trait Running: Send {
    /// Whether the run may end before its time.
    fn is_over(&self) -> bool {
        false
    }

    /// Waits for the roles, which end with the run, and collects their output.
    fn end(self: Box<Self>) -> BoxFuture<Box<dyn Part>>;
}

/// The output of a workload in a run.
pub(crate) trait Part: Any + Debug + Send + Sync {
    /// The connections that were sampled.
    fn flows(&self) -> Vec<Flow<'_>> {
        Vec::new()
    }

    /// The figures.
    fn result(&self, run: &Ended<'_>) -> PartResult;

    /// What claims need of it beside the figures.
    fn keep(&self, _run: &ClaimContext<'_>) -> Option<Kept> {
        None
    }

    /// What happened over time, beside what connections and links did.
    fn over_time(&self, _run: &Ended<'_>) -> OverTime {
        OverTime::default()
    }
}

/// A connection of an actor, over time.
#[derive(Clone, Debug)]
pub struct Flow<'a> {
    /// The actor, for people.
    pub title: String,
    /// What it does, in a few words.
    pub note: String,
    /// Whether it always has data to send.
    pub greedy: bool,
    /// The sending side.
    pub samples: &'a [FlowSample],
}

/// A run that has ended.
#[derive(Clone, Copy)]
pub(crate) struct Ended<'a> {
    /// The plan that it is of.
    pub(crate) plan: &'a Plan,
    /// When it ended.
    pub(crate) at: Time,
}

/// The figures of a workload in a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct PartResult {
    /// Of each actor.
    pub(crate) actors: Vec<ActorResult>,
    /// Of the run.
    pub(crate) figures: Figures,
}

/// What happened over time.
#[derive(Clone, Debug, Default)]
pub(crate) struct OverTime {
    /// Panels, in order.
    pub(crate) panels: Vec<model::Panel>,
    /// Spans of time that something lasted.
    pub(crate) spans: Vec<model::Span>,
    /// What stood in each cell of a grid.
    pub(crate) grids: Vec<model::Grid>,
}
