//! Calls whose video goes over WebRTC, in worlds.

use airlane_report::model::Span;
use airlane_sim::plan::{Plan, RunKey};
use airlane_sim::workload::{Ended, OverTime, RunResult};
use airlane_sim::world::RunOutput;

use crate::runs::{plan, run_one};

/// The built-in call, its first scheme without coordination and its second with Plum.
const CALL: &str = include_str!("../../../../scenarios/call.toml");
const WEBRTC: &str = "scheme.0.call_transport=webrtc";
const PLUM_WEBRTC: &str = "scheme.1.call_transport=webrtc";

#[test]
#[ignore = "explore"]
fn explore() {
    let set = std::env::var("SET").unwrap_or_default();
    let mut set: Vec<&str> = set.split_whitespace().collect();
    set.extend([WEBRTC, PLUM_WEBRTC]);
    let plan = plan(CALL, &set);
    for key in plan.runs() {
        let output = run_one(&plan, key);
        let result = output.result(&plan);
        println!("== {}", plan.label(key));
        for actor in &result.actors {
            print!("{:10}", actor.name);
            for m in [
                "received_bps",
                "sent_bps",
                "frame_delay_p50_s",
                "frame_delay_p95_s",
                "shown_fps",
                "freezes_per_minute",
                "frozen_share",
                "held_up_share",
                "held_down_share",
                "capacity_bps",
                "key_frames_per_minute",
            ] {
                let v = actor.value(m).unwrap_or(f64::NAN);
                print!(
                    " {}={:.3}",
                    m.trim_end_matches("_bps"),
                    if m.ends_with("_bps") { v / 1e6 } else { v }
                );
            }
            println!(" {:?}", actor.failure);
        }
        println!("hash {:?}", result.packet_hash);
        let over_time = over_time(&plan, &output);
        for panel in &over_time.panels {
            let line = &panel.series[0];
            let text: Vec<String> = line
                .times_s
                .iter()
                .zip(&line.values)
                .step_by(if panel.id == "call-received" { 1 } else { 2 })
                .map(|(_, v)| format!("{v:.1}"))
                .collect();
            println!("{} {}: {}", panel.id, line.name, text.join(" "));
        }
    }
}

/// The panels of a call.
fn over_time(plan: &Plan, output: &RunOutput) -> OverTime {
    let ended = Ended { plan, at: output.ended };
    let mut all = output.parts.iter().map(|part| part.over_time(&ended));
    all.find(|of| !of.panels.is_empty()).unwrap()
}
