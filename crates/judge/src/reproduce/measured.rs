//! The figures of a scene by metric: those of its runs, those derived from them for baselines and
//! changes, and those that workloads compute over the compared runs.

use airlane_quality::stats;

use crate::claims::{ByMetric, Claim, Statistic, Units};
use airlane_scenario::Scenario;
use airlane_sim::network_metrics;
use airlane_sim::plan::Plan;
use airlane_sim::workload::{
    Caches, ClaimRun, Metric, SceneRuns, Scope, Sense, Traffic, Unit, add_derived, derived,
    traffic_of,
};

/// The metrics that a claim may use on its scene, in the order of [`figures`].
pub(super) struct Metrics(Vec<Metric>);

impl Metrics {
    /// The metrics of `claim` on `scenario`. Of several with one name the last counts, as in
    /// [`figures`].
    pub(super) fn of(claim: &Claim, scenario: &Scenario) -> Self {
        let names = &claim.compare;
        let participants = || traffic_of(scenario);
        if let Some(measure) = &claim.measure {
            return Self(
                participants().find_map(|c| c.measure_metrics(measure)).unwrap_or_default(),
            );
        }
        let of_runs = participants().flat_map(|c| c.metrics()).chain(network_metrics());
        let of_runs = of_runs.chain(participants().flat_map(|c| c.claim_run_metrics()));
        let mut all: Vec<Metric> = of_runs.flat_map(|m| derived(&m, names)).collect();
        all.extend(participants().flat_map(|c| c.claim_metrics(names)));
        Self(all)
    }

    fn find(&self, metric: &str) -> Option<&Metric> {
        let name = metric.split_once('@').map_or(metric, |(name, _)| name);
        self.0.iter().rfind(|m| m.name == name)
    }

    /// True if a claim may use a metric of that name: `x`, or `x@CELL` with one of its cells.
    pub(super) fn has(&self, metric: &str, claim: &Claim) -> bool {
        let cell = metric.split_once('@').map(|(_, cell)| cell);
        self.find(metric).is_some() && cell.is_none_or(|cell| claim.cells.iter().any(|c| c == cell))
    }

    /// Direction in which a statistic of one metric is better: more or less.
    pub(super) fn sense(&self, of: &Statistic) -> Sense {
        let of = of.metrics();
        let [metric] = of.as_slice() else { return Sense::Neutral };
        self.find(metric).map_or(Sense::Neutral, |m| m.sense)
    }

    /// Their units.
    pub(super) fn units(&self) -> Units {
        self.0.iter().map(|metric| (metric.name.to_string(), metric.unit)).collect()
    }

    /// The symbol of a statistic's unit; empty for shares and ratios, and for text that is no
    /// statistic.
    pub(super) fn symbol(&self, statistic: &str) -> &'static str {
        let statistic = Statistic::try_from(statistic.to_owned());
        let unit = statistic.ok().and_then(|statistic| self.units().of(&statistic).ok());
        unit.map_or("", Unit::symbol)
    }
}

/// The figures of a scene, all of whose runs finished. What was not measured is NaN.
pub(super) fn figures(compared: &SceneRuns<'_>) -> ByMetric {
    let participants = || traffic_of(&compared.plan.scenario);
    let mut samples = ByMetric::new();
    for traffic in participants().filter(|traffic| !traffic.is_empty()) {
        for metric in traffic.metrics() {
            add_derived(&mut samples, compared, &metric.name, |run| {
                run_figure(run, &**traffic, &metric).unwrap_or(f64::NAN)
            });
        }
    }
    for metric in network_metrics() {
        add_derived(&mut samples, compared, &metric.name, |run| {
            run.result.value(&metric.name).unwrap_or(f64::NAN)
        });
    }
    for traffic in participants() {
        for metric in traffic.claim_run_metrics() {
            add_derived(&mut samples, compared, &metric.name, |run| {
                traffic.claim_figure(&metric.name, run).unwrap_or(f64::NAN)
            });
        }
    }
    for traffic in participants() {
        samples.extend(traffic.claim_samples(compared));
    }
    samples
}

/// A metric of a run: its own figure, or the mean over the workload's actors, parts of others left
/// out; `None` if one of them has no figure.
fn run_figure(run: &ClaimRun, traffic: &dyn Traffic, metric: &Metric) -> Option<f64> {
    match metric.scope {
        Scope::Run => run.result.value(&metric.name),
        Scope::Actor => {
            let actors = run.result.of(traffic.workload()).filter(|actor| !actor.part);
            let all: Option<Vec<f64>> = actors.map(|actor| actor.value(&metric.name)).collect();
            stats::mean(&all?)
        }
    }
}

/// The figures that a workload computes by a measure of its own, without runs.
pub(super) fn measure_figures(measure: &str, plan: &Plan, caches: &Caches) -> ByMetric {
    let mut participants = traffic_of(&plan.scenario);
    participants.find_map(|traffic| traffic.measure(measure, plan, caches)).unwrap_or_default()
}
