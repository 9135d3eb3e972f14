//! Calls in worlds: video over WebRTC, and what waits for an uplink.

use std::path::Path;

use airlane_report::model::{Panel, Span};
use airlane_scenario::Scenario;
use airlane_sim::plan::Plan;
use airlane_sim::workload::{EndedRun, OverTime, RunResult};
use airlane_sim::world::RunOutput;

use crate::runs::{plan, run_one};

/// A call of three, one of them on a half-duplex channel of 3 Mbit/s.
const CALL: &str = r#"
name = "calls"
duration_s = 6
seeds = [1]
core = { rtt_s = 0.02 }
access = [
  { name = "wifi", kind = "half_duplex", rate_bps = 3e6, down = { queue = { limit_bytes = 40000 } }, up = { queue = { limit_bytes = 40000 } } },
  { name = "fibre", kind = "cell", down = { rate_bps = 20e6 }, up = { rate_bps = 20e6 } },
]
scheme = [{ name = "gcc", controller = "bbr", call_transport = "webrtc" }]
call = [
  { name = "wifi", at = "wifi", min_video_bps = 0.1e6, max_video_bps = 2e6, skip_s = 3 },
  { name = "fibre", at = "fibre", count = 2, min_video_bps = 0.1e6, max_video_bps = 2e6, skip_s = 3 },
]
"#;

/// The only run of the scene with these values.
fn run(set: &[&str]) -> (RunResult, OverTime) {
    let plan = plan(CALL, set);
    let output = run_one(&plan, plan.runs().next().unwrap());
    (output.result(&plan), over_time(&plan, &output))
}

/// The panels of a call.
fn over_time(plan: &Plan, output: &RunOutput) -> OverTime {
    let ended = EndedRun { plan, at: output.ended };
    let mut all = output.parts.iter().map(|part| part.over_time(&ended));
    all.find(|of| !of.panels.is_empty()).unwrap()
}

fn figure(result: &RunResult, participant: &str, metric: &str) -> f64 {
    let actor = result.actors.iter().find(|actor| actor.name == participant).unwrap();
    actor.value(metric).unwrap()
}

/// Values of a participant's line from one second to another.
fn values(over_time: &OverTime, panel: &str, from_s: f64, to_s: f64) -> Vec<f64> {
    let panel: &Panel = over_time.panels.iter().find(|p| p.id == panel).unwrap();
    let line = panel.series.iter().find(|series| series.name == "wifi").unwrap();
    let points = line.times_s.iter().zip(&line.values);
    points.filter(|(at, _)| (from_s..to_s).contains(*at)).map(|(_, value)| *value).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
fn video_goes_over_webrtc_and_runs_repeat() {
    let (result, _) = run(&[]);
    for actor in &result.actors {
        assert_eq!(actor.failure, None, "{}", actor.name);
        let shown = actor.value("shown_fps").unwrap();
        assert!(shown > 19.0, "{} was shown {shown} frames a second", actor.name);
    }
    let through = figure(&result, "wifi", "received_bps") + figure(&result, "wifi", "sent_bps");
    assert!((2.1e6..3.0e6).contains(&through), "{through} of 3 Mbit/s");
    // The other one on fibre is seen as it is sent.
    let received = figure(&result, "fibre.1", "received_bps");
    assert!(received > 2.4e6, "{received} bit/s");
    let delay = figure(&result, "wifi", "frame_delay_p50_s");
    assert!(delay < 0.5, "{delay} s");
    let (again, _) = run(&[]);
    assert_eq!((&result.packet_hash, &result.actors), (&again.packet_hash, &again.actors));
    let (quic, _) = run(&["scheme.0.call_transport=quic"]);
    assert_ne!(result.packet_hash, quic.packet_hash);
}

/// The downlink of the channel is held while others wait for what goes up, and is free once its client is muted.
#[test]
fn plum_holds_a_downlink_over_webrtc_and_frees_it() {
    let (result, over_time) = run(&[
        "duration_s=12",
        "access.0.rate_bps=6e6",
        "access.0.down.queue.limit_bytes=80000",
        "access.0.up.queue.limit_bytes=80000",
        "scheme.0.call_coordination=plum",
        "scheme.0.call_rho=0.1",
        "scheme.0.call_max_bps=16e6",
        "scheme.0.call_interval_s=4",
        "call.0.max_video_bps=5e6",
        "call.1.max_video_bps=3e6",
        "call.0.change=[{at_s=9,track=\"camera\"}]",
    ]);
    let held: Vec<&Span> = over_time.spans.iter().filter(|span| span.actor == "wifi").collect();
    let [span] = held.as_slice() else { panic!("{held:?}") };
    assert_eq!(span.kind, "downlink held");
    assert!((3.9..5.0).contains(&span.start_s) && (8.9..9.5).contains(&span.end_s), "{span:?}");
    let sent = |from_s, to_s| mean(&values(&over_time, "call-sent", from_s, to_s));
    let (before, after) = (sent(2.5, 4.0), sent(7.0, 9.0));
    assert!(after > 1.2 * before, "{before} Mbit/s went up before the hold, {after} in it");
    let received = |from_s, to_s| mean(&values(&over_time, "call-received", from_s, to_s));
    let (held, free) = (received(6.0, 9.0), received(10.0, 12.0));
    assert!(free > 1.5 * held, "{held} Mbit/s came down in the hold, {free} after it");
    // The server knows how much the channel carries, whether or not it is held.
    for capacity in values(&over_time, "call-capacity", 3.0, 9.0) {
        assert!((5.4..6.6).contains(&capacity), "{capacity} of 6 Mbit/s");
    }
    assert!(result.actors.iter().all(|actor| actor.failure.is_none()));
}

#[test]
fn layers_and_last_n_work_over_webrtc() {
    let (layers, _) = run(&["scheme.0.call_thinning=layers"]);
    for participant in ["wifi", "fibre.1", "fibre.2"] {
        let shown = figure(&layers, participant, "shown_fps");
        assert!(shown > 4.0, "{participant} was shown {shown} frames a second");
    }
    let through = figure(&layers, "wifi", "received_bps") + figure(&layers, "wifi", "sent_bps");
    assert!((1.5e6..3.0e6).contains(&through), "{through} of 3 Mbit/s");
    let (all, _) = run(&[]);
    let (last, _) = run(&["scheme.0.call_last_n=1"]);
    let received = |result: &RunResult| figure(result, "fibre.1", "received_bps");
    assert!(received(&last) < 0.7 * received(&all), "{} bit/s", received(&last));
    assert!(last.actors.iter().all(|actor| actor.failure.is_none()));
}

/// A queue is seen by the round trips of what stays on the connection: without audio, by probes.
#[test]
fn the_capacity_is_known_without_audio() {
    let (_, over_time) = run(&["call.0.audio=false", "call.1.audio=false", "duration_s=8"]);
    for capacity in values(&over_time, "call-capacity", 4.0, 8.0) {
        assert!((2.7..3.3).contains(&capacity), "{capacity} of 3 Mbit/s");
    }
}

/// By the highest rate delivered of late, as in the daemon: before the controllers' first 15 s are over a channel is
/// taken to carry what both directions are of use with.
#[test]
fn the_highest_rate_of_late_is_the_capacity() {
    let (_, over_time) = run(&[
        "scheme.0.call_transport=quic",
        "scheme.0.call_coordination=plum",
        "scheme.0.call_capacity=peak",
        "scheme.0.call_max_bps=4e6",
        "duration_s=24",
    ]);
    for capacity in values(&over_time, "call-capacity", 2.0, 14.5) {
        assert!(capacity >= 8.0, "{capacity} Mbit/s");
    }
    for capacity in values(&over_time, "call-capacity", 16.0, 24.0) {
        assert!((2.7..3.3).contains(&capacity), "{capacity} of 3 Mbit/s");
    }
}

#[test]
fn a_capacity_from_nowhere_is_refused() {
    let set = ["scheme.0.call_capacity=peek".to_owned()];
    let registry = airlane_lab::registry().scenarios();
    let read = Scenario::from_bytes(registry, CALL.as_bytes(), Path::new("s.toml"), &set);
    let error = read.unwrap_err().to_string();
    let expected = "scheme.0.call_capacity: found the text \"peek\"; expected one of \"delivered\", \
                    \"peak\", \"estimates\", \"air\", \"oracle\": did you mean \"peak\"?";
    assert!(error.contains(expected), "{error}");
}

/// A call of two, one of them behind an uplink that falls to a fifth for 3 s.
const UPLINK: &str = r#"
name = "uplinks"
duration_s = 14
seeds = [1]
core = { rtt_s = 0.04 }
access = [
  { name = "cell", kind = "cell", down = { rate_bps = 20e6 }, up = { steps = [[0, 2e6], [8, 0.4e6], [11, 2e6]], queue = { limit_bytes = 250000 } } },
  { name = "fibre", kind = "cell", down = { rate_bps = 20e6 }, up = { rate_bps = 20e6 } },
]
scheme = [{ name = "quic", controller = "bbr", call_thinning = "layers" }]
call = [
  { name = "cell", at = "cell", min_video_bps = 0.1e6, max_video_bps = 1.5e6 },
  { name = "fibre", at = "fibre", min_video_bps = 0.1e6, max_video_bps = 1.5e6 },
]
"#;

#[test]
fn frames_behind_a_slow_uplink_are_dropped_where_they_wait() {
    let run = |set: &[&str]| {
        let plan = plan(UPLINK, set);
        run_one(&plan, plan.runs().next().unwrap()).result(&plan)
    };
    let limit = "scheme.0.call_uplink_limit_bytes=6000";
    let (aged, fresh) = (run(&[]), run(&[limit, "scheme.0.call_uplink_queue=octopus"]));
    let delay = |result| figure(result, "cell", "seen_delay_p95_s");
    assert!(delay(&fresh) < 0.7 * delay(&aged), "{} of {}", delay(&fresh), delay(&aged));
    assert!(figure(&fresh, "cell", "seen_fps") > 10.0);
    // The other one's uplink has room.
    assert!(figure(&fresh, "fibre", "seen_fps") > 19.0);
}
