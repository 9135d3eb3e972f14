//! Calls over emulated links, in the numbers that `docs/design/salsify.md` tells:
//! `cargo run --release -p airlane-salsify --example salsify_calls -- table` prints four calls of each estimator
//! second by second, `-- round-trips` what Sprout has of links by rate and round trip, and `-- grid`
//! what comes of each estimator over each of ten links.

#[path = "../tests/salsify/scene.rs"]
mod scene;

use std::time::Duration;

use airlane_base::{Rate, Seed, Time};
use airlane_salsify::{Config, Delivered, Estimator, SenderReport, SproutConfig};

use crate::scene::{Outcome, Scene, run};

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("table") => table(),
        Some("round-trips") => round_trips(),
        Some("grid") => grid(),
        _ => eprintln!("say `table`, `round-trips` or `grid`"),
    }
}

fn published() -> Estimator {
    Estimator::Sprout(SproutConfig::default())
}

fn tuned() -> Estimator {
    Estimator::Sprout(SproutConfig::tuned())
}

/// Prints calls over a constant link, one that slows down, one with an outage and one with losses.
fn table() {
    for estimator in [Estimator::Own, published(), tuned()] {
        let new = || Scene::new(estimator);
        println!("{estimator:?}");
        println!("constant\n{}", seconds(&run(&new()), 30));
        println!("1 Mbit/s from 15 s on\n{}", seconds(&run(&new().step(15, 1.0)), 30));
        let outage = new().step(15, 0.0).step(17, 6.0).lasting(40);
        println!("nothing from 15 to 17 s\n{}", seconds(&run(&outage), 40));
        println!("2 % lost\n{}", seconds(&run(&Scene { loss: 0.02, ..new() }), 30));
    }
}

/// A line for every second of a call, and what came of all of it.
fn seconds(outcome: &Outcome, secs: u64) -> String {
    let mut lines = String::from("   s  budget  arrived  decoded  delay p95\n");
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
            outcome.budget(s, s + 1),
            outcome.arrived(s, s + 1),
            outcome.decoded(s, s + 1),
            delays.len(),
        );
    }
    let report = SenderReport { budgets: Vec::new(), ..outcome.sent.clone() };
    lines += &format!("{report:?}\n");
    lines + &format!("{} datagrams, packet hash {:016x}\n", outcome.packets.len(), outcome.hash)
}

/// Prints Sprout's share of the link from 10 to 30 s, per cent, by rate and round trip.
fn round_trips() {
    for estimator in [published(), tuned()] {
        println!("{estimator:?}");
        for mbps in [0.5, 1.0, 2.0, 4.0, 6.0, 10.0] {
            let mut line = format!("{mbps}:");
            for rtt in [20, 40, 60, 80] {
                let mut scene = Scene::new(estimator);
                scene.steps[0].1 = Rate::from_mbps(mbps);
                scene.rtt = Duration::from_millis(rtt);
                line += &format!(" | {:.0}", run(&scene).arrived(10, 30) / mbps * 100.0);
            }
            println!("{line}");
        }
    }
}

/// The time from capture on that all but one in a hundred frames take at most, ms.
fn delay_p99_ms(outcome: &Outcome) -> f64 {
    let mut delays: Vec<_> = outcome.frames.iter().map(|f| f.at - f.captured).collect();
    delays.sort_unstable();
    delays.get(delays.len() * 99 / 100).map_or(0.0, |delay| delay.as_secs_f64() * 1e3)
}

/// Changes of rate every half second between 0.5 and 10 Mbit/s, and an outage of half a second.
fn varying() -> Scene {
    let mut scene = Scene::new(Estimator::Own);
    scene.steps.clear();
    let rates = [6.0, 4.0, 8.0, 10.0, 3.0, 1.0, 2.0, 5.0, 0.5, 4.0, 9.0, 7.0, 0.0, 3.0, 6.0, 2.0];
    for half in 0..60 {
        let rate = Rate::from_mbps(rates[half % rates.len()]);
        scene.steps.push((Duration::from_millis(500) * half as u32, rate));
    }
    scene
}

/// The estimators of the grid.
fn configs() -> Vec<Config> {
    let mut configs = Vec::new();
    for (delay, cautious) in [(75, 5), (100, 5), (150, 5), (200, 5), (100, 0), (100, 1)] {
        let delay = Duration::from_millis(delay);
        let cautious = Duration::from_secs(cautious);
        configs.push(Config { delay, cautious, ..Config::new(Estimator::Own) });
    }
    for (noise, ahead) in [(200.0, 5), (200.0, 8), (100.0, 5)] {
        for quantile in [0.05, 0.25, 0.5] {
            let horizon = ahead + 5;
            let sprout =
                SproutConfig { noise, quantile, ahead, horizon, ..SproutConfig::default() };
            configs.push(Config::new(Estimator::Sprout(sprout)));
        }
    }
    configs
}

/// Runs of each cell of the grid.
const DRAWS: u64 = 2;

/// Prints for each estimator over each link Mbit/s of frames decoded from 5 to 30 s, per cent of the
/// frames, and ms from capture on, mean and 99th percentile.
fn grid() {
    let constant = |mbps, rtt| Scene {
        steps: vec![(Duration::ZERO, Rate::from_mbps(mbps))],
        rtt: Duration::from_millis(rtt),
        ..Scene::new(Estimator::Own)
    };
    let scenes = [
        constant(2.0, 60),
        constant(6.0, 20),
        constant(6.0, 60),
        constant(6.0, 120),
        constant(12.0, 60),
        Scene::new(Estimator::Own).step(15, 1.0),
        Scene::new(Estimator::Own).step(15, 0.0).step(17, 6.0),
        varying(),
        Scene { rtt: Duration::from_millis(120), ..varying() },
        Scene { loss: 0.02, ..Scene::new(Estimator::Own) },
    ];
    for config in configs() {
        let mut line = match config.estimator {
            Estimator::Own => format!("own {:?} {:?}", config.delay, config.cautious),
            Estimator::Sprout(s) => format!("Sprout {} {} {}", s.noise, s.ahead, s.quantile),
        };
        for scene in &scenes {
            // None of a claim's.
            let of_seed =
                |seed| Scene { seed: Seed(seed), config: config.clone(), ..scene.clone() };
            let outcomes: Vec<Outcome> = (77..77 + DRAWS).map(|s| run(&of_seed(s))).collect();
            let mean = |of: &dyn Fn(&Outcome) -> f64| {
                outcomes.iter().map(of).sum::<f64>() / outcomes.len() as f64
            };
            let rate = mean(&|o| o.decoded(5, 30));
            let frames = mean(&|o| o.share() * 100.0);
            let (delay, p99) = (mean(&Outcome::delay_ms), mean(&delay_p99_ms));
            line += &format!(" | {rate:.2} {frames:.0} {delay:.0} {p99:.0}");
        }
        println!("{line}");
    }
}
