//! From the output of a run to its result.

use std::collections::BTreeMap;

use airlane_base::DropReason;
use airlane_quality::stats;

use crate::plan::Plan;
use crate::workload::{
    DirectionResult, EndedRun, Figure, Figures, Flow, Metric, PartResult, RunResult, Scope, Sense,
    Unit, traffic_of,
};
use crate::world::{AirDirection, DirectionOutput, RunOutput};

/// Quantiles of the time that packets waited in the queue until their service began: by metric, the
/// share of packets that waited no longer.
const WAITS: [(&str, f64); 4] = [
    ("queue_p50_ms", 0.5),
    ("queue_p99_ms", 0.99),
    ("queue_p999_ms", 0.999),
    ("queue_max_ms", 1.0),
];

/// The metrics of a run that are no workload's: what the bottleneck did, how even rates were, how
/// many sessions failed.
pub fn network_metrics() -> Vec<Metric> {
    let dropped = |reason: DropReason| {
        Metric::of_run(format!("drops_{}", reason.name()), Unit::PACKETS, Sense::Lower)
    };
    let mut metrics = vec![
        Metric::of_run("link_utilisation", Unit::ONE, Sense::Higher),
        Metric::of_run("air_share", Unit::ONE, Sense::Neutral),
        Metric::of_run("mean_queue_packets", Unit::PACKETS, Sense::Lower),
        Metric::of_run("mean_queue_ms", Unit::MILLISECONDS, Sense::Lower),
    ];
    metrics.extend(WAITS.map(|(name, _)| Metric::of_run(name, Unit::MILLISECONDS, Sense::Lower)));
    metrics.extend(DropReason::ALL.into_iter().map(dropped));
    metrics.push(Metric::of_run("jain_rates", Unit::ONE, Sense::Higher));
    metrics.push(Metric::of_run("jain_air", Unit::ONE, Sense::Higher));
    metrics.push(Metric::of_run("failed_sessions", Unit::ONE, Sense::Lower));
    metrics
}

impl RunOutput {
    /// All connections that were sampled.
    pub fn flows(&self) -> Vec<Flow<'_>> {
        self.parts.iter().flat_map(|part| part.flows()).collect()
    }

    /// Its result as a run of `plan`.
    pub fn result(&self, plan: &Plan) -> RunResult {
        let ended = EndedRun { plan, at: self.ended };
        let mut result = RunResult {
            packet_hash: self.packet_hash.map(|hash| format!("{hash:016x}")),
            virtual_s: self.ended.since_start().as_secs_f64(),
            ..RunResult::default()
        };
        for part in self.parts.iter() {
            let part = part.result(&ended);
            debug_assert_eq!(unlisted(plan, &part), None, "every figure is one of a metric");
            result.actors.extend(part.actors);
            result.figures.extend(part.figures);
        }
        self.of_network(&mut result);
        let jain = jain(&result);
        result.figures.add("jain_rates", Unit::ONE, jain);
        result.figures.add("jain_air", Unit::ONE, self.jain_air());
        let failed = result.failures().count() as f64;
        result.figures.add("failed_sessions", Unit::ONE, Some(failed));
        result
    }

    /// Jain's index of the shares of the air that stations have, both ways; `None` below two of them.
    fn jain_air(&self) -> Option<f64> {
        let share = |way: &AirDirection| Some((way.place, self.ways.get(way.way)?.air_share()?));
        let mut stations: BTreeMap<(usize, usize), f64> = BTreeMap::new();
        for (i, air) in self.airs.iter().enumerate() {
            for (place, share) in air.ways.iter().filter_map(share) {
                *stations.entry((i, place)).or_default() += share;
            }
        }
        let shares: Vec<f64> = stations.into_values().collect();
        (shares.len() > 1).then(|| stats::jain(&shares)).flatten()
    }

    /// Adds the metrics of the links to the result.
    fn of_network(&self, result: &mut RunResult) {
        if let Some(only) = self.bottleneck() {
            result.figures.extend(of_way(only));
            return;
        }
        let way = |way: &DirectionOutput| DirectionResult {
            name: format!("{}.{}", way.access, way.direction.name()),
            figures: of_way(way),
        };
        result.ways = self.ways.iter().map(way).collect();
    }
}

/// The figures of one direction of an access.
fn of_way(way: &DirectionOutput) -> Figures {
    let mut figures = Figures::default();
    let DirectionOutput { report, counters, .. } = way;
    // Nobody knows beforehand what air can carry.
    let share = way.air_share();
    figures.add("link_utilisation", Unit::ONE, share.is_none().then_some(report.utilisation));
    figures.add("air_share", Unit::ONE, share);
    figures.add("mean_queue_packets", Unit::PACKETS, Some(report.mean_queue_packets));
    let sojourn_ms = report.mean_sojourn.as_secs_f64() * 1e3;
    figures.add("mean_queue_ms", Unit::MILLISECONDS, Some(sojourn_ms));
    for (name, share) in WAITS {
        let waited_ms = report.sojourn_quantile(share).as_secs_f64() * 1e3;
        figures.add(name, Unit::MILLISECONDS, Some(waited_ms));
    }
    for reason in DropReason::ALL {
        let packets = counters.dropped[reason.index()].0 as f64;
        figures.add(&format!("drops_{}", reason.name()), Unit::PACKETS, Some(packets));
    }
    figures
}

/// The first figure that is none of the metrics of any workload.
fn unlisted(plan: &Plan, part: &PartResult) -> Option<String> {
    let metrics: Vec<Metric> = traffic_of(&plan.scenario).flat_map(|c| c.metrics()).collect();
    let listed = |Figure(name, ..): &Figure, scope: Scope| {
        metrics.iter().any(|m| m.name == *name && m.scope == scope)
    };
    let of_actors = part.actors.iter().flat_map(|a| a.figures.iter()).map(|f| (f, Scope::Actor));
    let all = of_actors.chain(part.figures.iter().map(|f| (f, Scope::Run)));
    all.into_iter().find(|(f, of)| !listed(f, *of)).map(|(f, _)| f.0.clone())
}

/// Jain's index of the rates of all that count; `None` below two of them.
fn jain(result: &RunResult) -> Option<f64> {
    let rates: Vec<f64> = result.actors.iter().filter_map(|a| a.rate_bps).collect();
    (rates.len() > 1).then(|| stats::jain(&rates)).flatten()
}
