//! L4S, from the queue to the controller and back: Prague behind DualPI2, over QUIC, datagrams and the media
//! path.

use std::path::Path;

use airlane_lab::workloads::bulk;
use airlane_scenario::Scenario;
use airlane_sim::Common;
use airlane_sim::plan::{Plan, RunKey};
use airlane_sim::workload::RunResult;
use airlane_sim::world::RunOutput;

use crate::runs::run_one;

fn run(text: &str) -> (Plan, RunOutput) {
    let registry = airlane_lab::registry();
    let scenarios = registry.scenarios();
    let scenario =
        Scenario::from_bytes(scenarios, text.as_bytes(), Path::new("l4s.toml"), &[]).unwrap();
    let plan = Plan::new(scenario, &Common::default()).unwrap();
    let output = run_one(&plan, RunKey { case: 0, scheme: 0, seed: 1 });
    (plan, output)
}

/// Transfers of 30 s under these controllers, on 24 Mbit/s and 20 ms: bytes of each, and the run.
fn transfers(controllers: &[&str], transport: &str) -> (Vec<f64>, RunResult) {
    let bulk: String = controllers
        .iter()
        .map(|name| format!("[[bulk]]\nname = \"{name}\"\ncontroller = \"{name}\"\n"))
        .collect();
    let (plan, output) = run(&format!(
        "duration_s = 30\n[link]\nrate_bps = 24e6\nrtt_s = 0.02\n\
         queue = {{ kind = \"dualpi2\", limit_packets = 1000 }}\n\
         [[scheme]]\nname = \"it\"\nbulk_transport = \"{transport}\"\n{bulk}"
    ));
    let transfers = bulk::Output::of(&output);
    assert!(transfers.iter().all(|transfer| transfer.failure.is_none()));
    let bytes = transfers.iter().map(|transfer| transfer.bytes as f64).collect();
    (bytes, output.result(&plan))
}

#[test]
fn alone_it_fills_the_link_and_hardly_waits_over_quic_and_over_datagrams() {
    for transport in ["quic", "datagrams"] {
        let (_, result) = transfers(&["prague"], transport);
        let value = |metric: &str| result.value(metric).unwrap();
        let (used, wait, tail) =
            (value("link_utilisation"), value("queue_p50_ms"), value("queue_p99_ms"));
        // The first seconds are in it: a mark halves the first window, which then grows by a packet per round trip.
        assert!(used > 0.88 && wait < 2.0 && tail < 20.0, "{transport}: {used} {wait} {tail}");
    }
}

#[test]
fn it_shares_with_cubic_over_quic() {
    let (bytes, result) = transfers(&["prague", "cubic"], "quic");
    let share = bytes[0] / (bytes[0] + bytes[1]);
    assert!((0.3..0.7).contains(&share), "{share}");
    assert!(result.value("link_utilisation").unwrap() > 0.97);
}

#[test]
fn live_video_under_it_waits_less_than_under_bbr() {
    let figures = |controller: &str, queue: &str| {
        let (plan, output) = run(&format!(
            "duration_s = 30\n[core]\nrtt_s = 0.06\n\
             [[access]]\nname = \"cell\"\nkind = \"cell\"\nup = {{ rate_bps = 24e6 }}\n\
             down = {{ generator = \"lte\", queue = {{ {queue}, limit_packets = 250 }} }}\n\
             [[scheme]]\nname = \"it\"\ncontroller = \"{controller}\"\nlive_marks = \"none\"\n\
             [[live]]\nname = \"phone\"\nclip = \"plaza\"\n"
        ));
        let result = output.result(&plan);
        let phone = result.actors.iter().find(|actor| actor.name == "phone").unwrap();
        assert_eq!(phone.failure, None);
        let tail = phone.value("latency_p99_s").unwrap();
        (tail, phone.value("shown_share").unwrap(), result.value("queue_p99_ms").unwrap())
    };
    let bbr = figures("bbr", "kind = \"droptail\"");
    let l4s = figures("prague", "kind = \"dualpi2\", step_threshold_s = 0.005");
    assert!(l4s.0 < bbr.0 && l4s.2 < bbr.2, "{l4s:?} {bbr:?}");
    assert!(l4s.1 > 0.9, "{l4s:?}");
}
