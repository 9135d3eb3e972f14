//! Streams of point clouds in worlds.

use std::path::Path;

use airlane_lab::plan::{Plan, RunKey};
use airlane_lab::request::Common;
use airlane_lab::scenario::Scenario;
use airlane_lab::workload::RunResult;

use crate::runs::run_one;

/// The built-in scenario with these values.
fn plan(set: &[&str]) -> Result<Plan, String> {
    let set: Vec<String> = set.iter().map(|s| (*s).to_owned()).collect();
    let scenario = Scenario::from_file(Path::new("volumetric"), &set).map_err(|e| e.to_string())?;
    Plan::new(scenario, &Common::default()).map_err(|e| e.to_string())
}

/// Its results, under Octopus, Octopus at the sender alone, and ViVo.
fn results(set: &[&str]) -> [RunResult; 3] {
    let set: Vec<&str> = ["live.0.clip=bust"].into_iter().chain(set.iter().copied()).collect();
    let plan = plan(&set).unwrap();
    let runs = plan.runs().map(|key: RunKey| run_one(&plan, key).result(&plan));
    runs.collect::<Vec<_>>().try_into().unwrap_or_else(|_| panic!("three schemes"))
}

fn figure(result: &RunResult, metric: &str) -> f64 {
    let stream = result.actors.iter().find(|a| a.name == "phone").unwrap();
    assert_eq!(stream.failure, None);
    stream.value(metric).unwrap()
}

fn of(all: &[RunResult; 3], metric: &str) -> [f64; 3] {
    [0, 1, 2].map(|i| figure(&all[i], metric))
}

/// 100 Mbit/s, and half of it for three seconds of every six. The clip has 75.
const STEPS: &str =
    "access.0.down.steps=[[0, 100e6], [3, 50e6], [6, 100e6], [9, 50e6], [12, 100e6]]";

#[test]
fn octopus_keeps_the_tail_down_where_the_rate_halves() {
    let all = results(&["duration_s=14", STEPS]);
    let latency = of(&all, "latency_p99_s");
    assert!(latency[0] < 0.25, "{latency:?}");
    assert!(2.0 * latency[0] < latency[2], "{latency:?}");
    let shown = of(&all, "shown_share");
    assert!(shown[0] > 0.9, "{shown:?}");
    // The network takes away what the sender cannot know of.
    assert!(of(&all, "dropped_there_share")[0] > 0.05);
    let quality = of(&all, "sqi_ssim_db");
    assert!(quality[0] > 7.0, "{quality:?}");
}

#[test]
fn where_there_is_room_every_layer_of_every_frame_is_shown() {
    let all = results(&["duration_s=10", "access.0.down.steps=[[0, 200e6]]", "live.0.skip_s=5"]);
    let quality = of(&all, "sqi_ssim_db");
    // As good as the table says of all layers; ViVo climbs to it.
    assert!((quality[0] - 13.19).abs() < 0.01 && (quality[1] - 13.19).abs() < 0.01, "{quality:?}");
    assert!(quality[2] > 10.0, "{quality:?}");
    assert!(of(&all, "shown_share").iter().all(|share| *share > 0.97));
    assert!(of(&all, "latency_p99_s").iter().all(|s| *s < 0.2));
    // Cells in layers cost more.
    let sent = of(&all, "sent_bps");
    assert!(sent[0] > 73e6 && sent[2] < 65e6, "{sent:?}");
}

#[test]
fn queues_that_know_priorities_or_nothing_take_it_too() {
    for set in [
        r#"scheme.0.queue={kind="priority-drop", limit_packets=500}"#,
        "scheme.0.live_marks=none",
        "scheme.0.live_marks=octopus-thresholds",
    ] {
        let all = results(&["duration_s=6", STEPS, set]);
        assert!(figure(&all[0], "shown_share") > 0.2, "{set}");
    }
}

#[test]
fn a_stream_runs_alike_each_time_and_under_both_ciphers() {
    let set = ["duration_s=4", STEPS];
    let (first, again) = (results(&set), results(&set));
    let tls = results(&["duration_s=4", STEPS, "transport.cipher=tls"]);
    for ((a, b), sealed) in first.iter().zip(&again).zip(&tls) {
        assert_eq!(a.packet_hash, b.packet_hash);
        for metric in ["sqi_ssim_db", "latency_p50_s"] {
            let ratio = figure(sealed, metric) / figure(a, metric);
            assert!((0.99..1.01).contains(&ratio), "{metric}: {ratio}");
        }
    }
}

#[test]
fn transports_of_one_layer_are_refused() {
    let error = plan(&["scheme.2.live_transport=webrtc"]).unwrap_err();
    assert!(error.contains("live.video") && error.contains("webrtc"), "{error}");
    let error = plan(&["live.0.clip=plaza"]).unwrap_err();
    assert!(error.contains("dancer"), "{error}");
    let error = plan(&["live.0.clip=plaza", "live.0.video=quality"]).unwrap_err();
    assert!(error.contains("vivo"), "{error}");
}
