//! Calls over emulated links, in the numbers that `docs/design/webrtc.md` tells:
//! `cargo run --release -p airlane-webrtc --example webrtc_calls -- table` prints four calls second by second,
//! `-- grid` what comes of each pace and target over each of nine links.

#[path = "../tests/webrtc/scene.rs"]
mod scene;

use std::time::Duration;

use airlane_base::{Rate, Seed, Time};
use airlane_webrtc::{Delivered, Target};

use crate::scene::{Outcome, Scene, run};

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("table") => table(),
        Some("grid") => grid(),
        _ => eprintln!("say `table` or `grid`"),
    }
}

/// Prints calls over a constant link, one that slows down, one with an outage and one with losses.
fn table() {
    println!("constant\n{}", seconds(&run(&Scene::new()), 30));
    println!("1 Mbit/s from 15 s on\n{}", seconds(&run(&Scene::new().step(15, 1.0)), 30));
    let outage = Scene::new().step(15, 0.0).step(17, 6.0).lasting(40);
    println!("nothing from 15 to 17 s\n{}", seconds(&run(&outage), 40));
    println!("2 % lost\n{}", seconds(&run(&Scene { loss: 0.02, ..Scene::new() }), 30));
}

/// A line for every second of a call, and what came of all of it.
fn seconds(outcome: &Outcome, secs: u64) -> String {
    let mut lines = String::from("   s  target  arrived  decoded  delay p95\n");
    for s in 0..secs {
        let within = |f: &&Delivered| {
            (Time::from_millis(s * 1_000)..Time::from_millis(s * 1_000 + 1_000)).contains(&f.at)
        };
        let inside = outcome.frames.iter().filter(within);
        let mut delays: Vec<u64> = inside.map(|f| (f.at - f.captured).as_millis() as u64).collect();
        delays.sort_unstable();
        let p95 = delays.get(delays.len() * 95 / 100).copied().unwrap_or(0);
        lines += &format!(
            "{:4}  {:6.2}  {:7.2}  {:7.2}  {p95:6} ms {:3} frames\n",
            s + 1,
            outcome.target(s * 1_000 + 999),
            outcome.arrived(s, s + 1),
            outcome.decoded(s, s + 1),
            delays.len(),
        );
    }
    let sent = &outcome.sent;
    lines += &format!("{:?} {:?}\n", sent.sent, outcome.received);
    lines += &format!(
        "rtt {:?} loss {:?} frames {} keys {} requests {}\n",
        sent.rtt, sent.loss, sent.frames, sent.key_frames, sent.key_requests
    );
    lines + &format!("{} datagrams, packet hash {:016x}\n", outcome.packets.len(), outcome.hash)
}

/// The mean time from the capture of a frame until it can be decoded, ms.
fn delay_ms(outcome: &Outcome) -> f64 {
    let sum: f64 = outcome.frames.iter().map(|f| (f.at - f.captured).as_secs_f64()).sum();
    sum * 1e3 / outcome.frames.len() as f64
}

/// Runs of each cell of the grid.
const DRAWS: u64 = 4;

/// Prints Mbit/s of frames decoded from 5 to 30 s, per cent of the frames, and ms from capture on.
fn grid() {
    let constant = |mbps, rtt| Scene {
        steps: vec![(Duration::ZERO, Rate::from_mbps(mbps))],
        rtt: Duration::from_millis(rtt),
        ..Scene::new()
    };
    let scenes = [
        constant(2.0, 60),
        constant(6.0, 20),
        constant(6.0, 60),
        constant(6.0, 120),
        constant(12.0, 60),
        Scene::new().step(15, 1.0),
        Scene::new().step(15, 0.0).step(17, 6.0),
        Scene { loss: 0.01, ..Scene::new() },
        Scene { loss: 0.02, ..Scene::new() },
    ];
    for pace in [None, Some(1.1), Some(1.3), Some(1.5), Some(2.0), Some(2.5)] {
        for target in [Target::Current, Target::Smoothed] {
            let mut line = format!("{pace:?} {target:?}:");
            for mut scene in scenes.clone() {
                scene.config.pace = pace;
                scene.config.target = target;
                // None of a claim's.
                let outcomes: Vec<Outcome> = (77..77 + DRAWS)
                    .map(|seed| run(&Scene { seed: Seed(seed), ..scene.clone() }))
                    .collect();
                let mean = |of: &dyn Fn(&Outcome) -> f64| {
                    outcomes.iter().map(of).sum::<f64>() / outcomes.len() as f64
                };
                let rate = mean(&|o| o.decoded(5, 30));
                let (frames, delay) = (mean(&|o| o.share() * 100.0), mean(&delay_ms));
                line += &format!(" | {rate:.2} {frames:.0} {delay:.0}");
            }
            println!("{line}");
        }
    }
}
