//! What claims about viewers are measured by: figures of all viewers of a run, of mixes, of groups, and
//! of the optimum that constant rates could have reached.

mod figures;
mod measures;
mod metrics;
mod optimum;
mod samples;
mod section;
mod value;

use super::{NAME, Output, Viewers};
use airlane_sim::plan::Plan;
use airlane_sim::workload::{
    ByMetric, CachedMetrics, Caches, ClaimContext, ClaimRun, Metric, SceneRuns,
};

pub(super) use metrics::{metrics, run_metrics};
pub(super) use samples::defaults;
pub(super) use section::section;

/// Figures of the viewers of a run that claims need.
pub(super) fn keep(output: &Output, run: &ClaimContext<'_>) -> CachedMetrics {
    CachedMetrics::new(NAME, figures::Figures::of(output, run))
}

/// The same as a journal has it.
pub(super) fn read_cached(json: serde_json::Value) -> Option<CachedMetrics> {
    CachedMetrics::read::<figures::Figures>(NAME, json)
}

/// The figure of a run.
pub(super) fn figure(metric: &str, run: &ClaimRun) -> Option<f64> {
    let value = metrics::of_run(metric, run.kept.of()?)?;
    value.is_finite().then_some(value)
}

/// The figures of draws.
pub(super) fn of_draws(compared: &SceneRuns<'_>) -> ByMetric {
    samples::mixes(compared)
        .map(|mixes| samples::samples(&mixes, compared.names))
        .unwrap_or_default()
}

/// The metrics of a measure that takes no runs.
pub(super) fn measure_metrics(traffic: &Viewers, measure: &str) -> Option<Vec<Metric>> {
    (measure == value::NAME).then(|| value::metrics(traffic))
}

/// The figures of that measure.
pub(super) fn measure(measure: &str, plan: &Plan, caches: &Caches) -> Option<ByMetric> {
    (measure == value::NAME).then(|| value::samples(plan, caches))
}
