//! Live video beside a transfer that fills the queue, and through handovers.

use std::path::Path;

use airlane_scenario::Scenario;
use airlane_sim::Common;
use airlane_sim::plan::{Plan, RunKey};
use airlane_sim::workload::RunResult;

use crate::runs::run_one;

fn run(text: &str) -> RunResult {
    let registry = airlane_lab::registry();
    let scenarios = registry.scenarios();
    let file = Path::new("isolation.toml");
    let scenario = Scenario::from_bytes(scenarios, text.as_bytes(), file, &[]).unwrap();
    let plan = Plan::new(scenario, &Common::default()).unwrap();
    run_one(&plan, RunKey { case: 0, scheme: 0, seed: 1 }).result(&plan)
}

/// Figures of the stream of a world with this way down, scheme and transfers.
fn figures(down: &str, scheme: &str, rest: &str, metrics: &[&str]) -> Vec<f64> {
    let result = run(&format!(
        "duration_s = 40\n[core]\nrtt_s = 0.06\n\
         [[access]]\nname = \"cell\"\nkind = \"link\"\nup = {{ rate_bps = 24e6 }}\n\
         down = {{ {down} }}\n\
         [[scheme]]\nname = \"it\"\n{scheme}\n\
         [[live]]\nname = \"phone\"\nclip = \"plaza\"\nskip_s = 5\n{rest}\n"
    ));
    let phone = result.actors.iter().find(|actor| actor.name == "phone").unwrap();
    assert_eq!(phone.failure, None);
    metrics.iter().map(|metric| phone.value(metric).unwrap()).collect()
}

const OCTOPUS: &str = "controller = \"bbr\"\nqueue = { kind = \"octopus\", limit_packets = 250";
const CUBIC: &str = "[[bulk]]\nname = \"transfer\"\ncontroller = \"cubic\"";

#[test]
fn a_queue_of_its_own_is_half_a_link() {
    let metrics = ["sqi_ssim_db", "shown_bps", "latency_p99_s", "shown_share"];
    let half = figures("rate_bps = 4e6", &format!("{OCTOPUS} }}"), "", &metrics);
    let (down, own) = ("rate_bps = 8e6", format!("{OCTOPUS}, per_flow = true }}"));
    let isolated = figures(down, &own, CUBIC, &metrics);
    let shared = figures(down, &format!("{OCTOPUS} }}"), CUBIC, &metrics);
    for (n, name) in ["sqi_ssim_db", "shown_bps"].iter().enumerate() {
        assert!((isolated[n] / half[n] - 1.0).abs() < 0.05, "{name}: {isolated:?} {half:?}");
    }
    assert!(isolated[2] < half[2] + 0.1 && isolated[3] > half[3] - 0.02, "{isolated:?} {half:?}");
    assert!(shared[0] < isolated[0] && shared[2] > 2.0 * isolated[2], "{shared:?} {isolated:?}");
}

#[test]
fn a_handover_costs_what_it_lasts() {
    let metrics = ["latency_p99_s", "shown_share", "age_over_time_mean_s"];
    let down = "rate_bps = 8e6, queue = { limit_packets = 250 }";
    let handover = |queue: &str| {
        format!(
            "{down}, handover = {{ interval_s = 4, min_pause_s = 0.3, max_pause_s = 0.3, queue = \"{queue}\" }}"
        )
    };
    let octopus = format!("{OCTOPUS} }}");
    let without = figures(down, &octopus, "", &metrics);
    let lost = figures(&handover("lost"), &octopus, "", &metrics);
    let forwarded = figures(&handover("forwarded"), &octopus, "", &metrics);
    // Nine frames of each 120 are handed over in a pause; what the old cell keeps is shown, late.
    assert!(lost[1] < without[1] - 0.04, "{lost:?} {without:?}");
    assert!(forwarded[1] > lost[1], "{forwarded:?} {lost:?}");
    assert!(forwarded[0] > without[0] + 0.1 && forwarded[0] < 0.6, "{forwarded:?} {without:?}");
    assert!(lost[2] > without[2] && forwarded[2] > without[2], "{lost:?} {forwarded:?}");
}
