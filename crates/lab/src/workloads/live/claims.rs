//! What claims about live video are measured by, of the first stream of a run.

use super::{NAME, Streams, Video};
use airlane_sim::workload::{ByMetric, ClaimRun, Compared, Metric, Sense, Unit};

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

/// Metrics of a draw: the judged scheme beside each of the others.
pub(super) fn metrics(names: &[String]) -> Vec<Metric> {
    let others = names.iter().skip(1);
    others.map(|name| Metric::of_run(edge(name), Unit::ONE, Sense::Higher)).collect()
}

/// The metric of how far a scheme is from being better in both figures.
fn edge(name: &str) -> String {
    format!("edge_over_{name}")
}

/// The figures of draws.
pub(super) fn of_draws(traffic: &Streams, compared: &Compared<'_>) -> ByMetric {
    let Some(stream) = traffic.0.first() else { return ByMetric::new() };
    let value = |run: &ClaimRun, metric: &str| {
        let first = run.result.of(NAME).next();
        first.and_then(|stream| stream.value(metric)).unwrap_or(f64::NAN)
    };
    // Above 0 where the judged scheme has the better of two figures, or more.
    let edge_of = |ours: &ClaimRun, theirs: &ClaimRun| {
        let less = |metric: &str| (value(theirs, metric) / value(ours, metric)).ln();
        match stream.video {
            Video::FrameRate => less("age_p50_s").max(less("age_p99_s")),
            Video::Quality | Video::Volumetric => less("latency_p99_s").max(-less("sqi_ssim_db")),
        }
    };
    let others = compared.names.iter().enumerate().skip(1);
    others.map(|(i, name)| (edge(name), compared.each(|runs| edge_of(runs[0], runs[i])))).collect()
}
