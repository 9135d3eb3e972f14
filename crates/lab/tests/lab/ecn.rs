//! Marks instead of drops, from the queue to the controller and back.

use std::path::Path;
use std::sync::Arc;

use airlane_lab::workloads::bulk;
use airlane_quic::{ControlHandle, ControlStats};
use airlane_scenario::Scenario;
use airlane_sim::Common;
use airlane_sim::plan::{Plan, RunKey, Sources, TraceUse};
use airlane_sim::pool::{self, Job, StopFlag};
use airlane_sim::workload::Caches;
use airlane_sim::world::{self, DirectionOutput, Options, RunOutput, SenderHook};
use parking_lot::Mutex;

/// Two transfers of 20 s through PIE: what came of it, and the statistics of their senders.
fn run(controller: &str, ecn: bool) -> (RunOutput, Vec<ControlStats>) {
    let text = format!(
        "duration_s = 20\n[link]\nrate_bps = 20e6\nrtt_s = 0.04\n\
         queue = {{ kind = \"pie\", limit_packets = 1000, ecn = {ecn} }}\n\
         [transport]\necn = {ecn}\n\
         [[scheme]]\nname = \"it\"\ncontroller = \"{controller}\"\n\
         [[bulk]]\ncount = 2\n"
    );
    let scenario = Scenario::from_bytes(
        airlane_lab::registry().scenarios(),
        text.as_bytes(),
        Path::new("x.toml"),
        &[],
    )
    .unwrap();
    let mut sources = Sources::new(TraceUse::Each);
    let plan = Plan::with(scenario, &Common::default(), &mut sources).unwrap();
    let caches = Caches::of_plan(&plan).unwrap();
    let key = RunKey { case: 0, scheme: 0, seed: 1 };
    let handles: Arc<Mutex<Vec<ControlHandle>>> = Arc::default();
    let seen = handles.clone();
    let hook = SenderHook::new(move |_, _, control: &ControlHandle| {
        seen.lock().push(control.clone());
    });
    let options = Options { on_sender: Some(hook), ..Options::default() };
    let job = Job {
        label: plan.label(key),
        seed: 1,
        command: String::new(),
        units: 1,
        work: Box::new(|ticket| world::run(&plan, &caches, key, &options, ticket)),
    };
    let mut done = pool::run(vec![job], 1, "ecn", &StopFlag::default(), &());
    let output = done.results.remove(0).unwrap_or_else(|| panic!("{:?}", done.error));
    let stats = handles.lock().iter().map(ControlHandle::stats).collect();
    (output, stats)
}

/// Packets dropped in the second half of a run: while slow start ends, PIE would drop more than one
/// packet of ten, and then it drops them whether they allow marks or not.
fn dropped(output: &RunOutput) -> u64 {
    let half = output.ended.since_start() / 2;
    let of_way = |way: &DirectionOutput| {
        let at_half = way.rows.iter().find(|row| row.at.since_start() >= half);
        way.rows.last().map_or(0, |row| row.dropped_packets)
            - at_half.map_or(0, |row| row.dropped_packets)
    };
    output.ways.iter().map(of_way).sum()
}

fn bytes(output: &RunOutput) -> f64 {
    bulk::Output::of(output).iter().map(|b| b.bytes as f64).sum()
}

#[test]
fn marks_take_the_place_of_drops_and_the_link_stays_as_full() {
    for controller in ["reno", "cubic", "fast"] {
        let (plain, plain_stats) = run(controller, false);
        let (marked, stats) = run(controller, true);
        let ratio = bytes(&marked) / bytes(&plain);
        assert!((0.97..1.05).contains(&ratio), "{controller}: {ratio} of the bytes");
        assert!(plain_stats.iter().all(|s| s.mark_reports == 0), "{plain_stats:?}");
        if controller == "fast" {
            continue; // It keeps the queue below what PIE aims at.
        }
        let (drops, with_marks) = (dropped(&plain), dropped(&marked));
        assert!(drops > 5, "{controller}: {drops} drops without marks");
        assert!(with_marks * 3 <= drops, "{controller}: {with_marks} drops instead of {drops}");
        for s in &stats {
            assert!(s.mark_reports > 5, "{controller}: {s:?}");
            assert!(s.lost_packets * 50 < s.sent_packets, "{controller}: {s:?}");
            // They were answered: slow start is over, and the window no larger than the path.
            assert!(s.ssthresh.is_some() && s.window < 300_000, "{controller}: {s:?}");
        }
    }
}
