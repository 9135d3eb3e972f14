//! Single runs of scenarios that stand in a test.

use std::path::Path;

use airlane_scenario::Scenario;
use airlane_sim::Common;
use airlane_sim::plan::{Plan, RunKey};
use airlane_sim::pool::{self, Job, StopFlag, Ticket};
use airlane_sim::workload::Caches;
use airlane_sim::world::{self, Options, RunOutput};

/// The plan of a scenario's text.
pub(crate) fn plan(text: &str, set: &[&str]) -> Plan {
    let set: Vec<String> = set.iter().map(|s| (*s).to_owned()).collect();
    let scenario = Scenario::from_bytes(
        airlane_lab::registry().scenarios(),
        text.as_bytes(),
        Path::new("s.toml"),
        &set,
    )
    .unwrap();
    Plan::new(scenario, &Common::default()).unwrap()
}

/// The output of one run of a plan.
pub(crate) fn run_one(plan: &Plan, key: RunKey) -> RunOutput {
    let caches = Caches::of_plan(plan).unwrap();
    let job = Job {
        label: plan.label(key),
        seed: key.seed,
        command: String::new(),
        units: 1,
        work: Box::new(|ticket: &Ticket<'_>| {
            world::run(plan, &caches, key, &Options::default(), ticket)
        }),
    };
    let mut done = pool::run(vec![job], 1, "runs", &StopFlag::default(), &());
    assert!(done.error.is_none(), "{:?}", done.error);
    done.results.remove(0).unwrap()
}
