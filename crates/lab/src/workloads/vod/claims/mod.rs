//! What claims about viewers are measured by: figures of all viewers of a run, of mixes, of groups, and
//! of the optimum that constant rates could have reached.

mod chapter;
mod figures;
mod measures;
mod metrics;
mod optimum;
mod samples;
mod value;

use super::{NAME, Output, Viewers};
use airlane_sim::plan::Plan;
use airlane_sim::workload::{ByMetric, ClaimContext, ClaimRun, Compared, Kept, Metric, Stocks};

pub(super) use chapter::chapter;
pub(super) use metrics::{metrics, run_metrics};
pub(super) use samples::defaults;

/// What claims need of the viewers of a run.
pub(super) fn keep(output: &Output, run: &ClaimContext<'_>) -> Kept {
    Kept::new(NAME, figures::Figures::of(output, run))
}

/// The same as a journal has it.
pub(super) fn read_kept(json: serde_json::Value) -> Option<Kept> {
    Kept::read::<figures::Figures>(NAME, json)
}

/// The figure of a run.
pub(super) fn figure(metric: &str, run: &ClaimRun) -> Option<f64> {
    let value = metrics::of_run(metric, run.kept.of()?)?;
    value.is_finite().then_some(value)
}

/// The figures of draws.
pub(super) fn of_draws(compared: &Compared<'_>) -> ByMetric {
    samples::mixes(compared)
        .map(|mixes| samples::samples(&mixes, compared.names))
        .unwrap_or_default()
}

/// The metrics of a measure that takes no runs.
pub(super) fn measure_metrics(cast: &Viewers, measure: &str) -> Option<Vec<Metric>> {
    (measure == value::NAME).then(|| value::metrics(cast))
}

/// The figures of that measure.
pub(super) fn measure(measure: &str, plan: &Plan, stocks: &Stocks) -> Option<ByMetric> {
    (measure == value::NAME).then(|| value::samples(plan, stocks))
}
