//! Rows of a summary from the results of runs.

use airlane_sim::plan::{Plan, RunKey};
use airlane_sim::workload::{AllCachedMetrics, ClaimContext, ClaimRun, Figure, RunResult};
use airlane_sim::world::RunOutput;

use crate::summary::{Row, RunEntry};

/// Data of a run that claims need, with its course over time if it is `drawn`.
pub fn claim_run(plan: &Plan, output: &RunOutput, drawn: bool) -> ClaimRun {
    let flows = output.flows();
    let run = ClaimContext {
        plan,
        key: output.key,
        at: output.ended,
        flows: &flows,
        ways: &output.ways,
        airs: &output.airs,
    };
    ClaimRun {
        result: output.result(plan),
        kept: AllCachedMetrics::new(
            output.parts.iter().filter_map(|part| part.keep(&run)).collect(),
        ),
        over_time: drawn.then(|| super::over_time(plan, output)),
    }
}

/// A run's entry in a summary, as one of `experiment`.
pub fn entry(plan: &Plan, experiment: &str, key: RunKey, result: &RunResult) -> RunEntry {
    RunEntry {
        experiment: experiment.to_owned(),
        case: plan.cases[key.case].name.clone(),
        scheme: plan.scenario.schemes[key.scheme].name.clone(),
        seed: key.seed,
        packet_hash: result.packet_hash.clone(),
    }
}

/// A run's rows in a summary: actor by actor, way by way, then the run's
/// own. What was not measured has no row.
pub fn rows<'a>(run: &'a RunEntry, result: &'a RunResult) -> impl Iterator<Item = Row> + 'a {
    let row = |case: String, Figure(metric, unit, value): &Figure| Row {
        experiment: run.experiment.clone(),
        case,
        scheme: run.scheme.clone(),
        seed: run.seed,
        metric: metric.clone(),
        unit: unit.clone(),
        value: *value,
    };
    let of_actors = result.actors.iter().flat_map(move |actor| {
        let of_actor = move |figure| row(format!("{}/{}", run.case, actor.name), figure);
        actor.figures.iter().map(of_actor)
    });
    let of_ways = result.ways.iter().flat_map(move |way| {
        let of_way = move |figure| row(format!("{}/{}", run.case, way.name), figure);
        way.figures.iter().map(of_way)
    });
    of_actors
        .chain(of_ways)
        .chain(result.figures.iter().map(move |figure| row(run.case.clone(), figure)))
}
