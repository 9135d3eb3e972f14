//! What claims about live video are measured by, of the first stream of a run.

use super::NAME;
use airlane_sim::workload::{ClaimRun, Metric, Sense, Unit};

/// Of the rates of all who use the network at once, the share of the first stream's.
const SHARE: &str = "share_of_rates";

/// Metrics of a run.
pub(super) fn run_metrics() -> Vec<Metric> {
    vec![Metric::of_run(SHARE, Unit::ONE, Sense::Neutral)]
}

/// The figure of one of these.
pub(super) fn figure(metric: &str, run: &ClaimRun) -> Option<f64> {
    let own = run.result.of(NAME).next()?.rate_bps?;
    let all = run.result.actors.iter().filter(|actor| !actor.part);
    let sum: Option<f64> = all.map(|actor| actor.rate_bps).sum();
    sum.filter(|sum| metric == SHARE && *sum > 0.0).map(|sum| own / sum)
}
