//! How long a rate step takes, and the same instances for another solver.
//!
//! ```text
//! cargo run --release -p airlane-viewport --example rate_step              # prints times
//! cargo run --release -p airlane-viewport --example rate_step -- 20 > FILE # prints 20 instances
//! python3 scripts/bench/ows_cvxpy.py FOLDER FILE
//! ```
#![allow(clippy::disallowed_methods, reason = "it measures how long a computation takes")]

use std::time::Instant;

use airlane_base::Seed;
use airlane_viewport::synthetic::{self, Gop};
use airlane_viewport::{Level, Workspace};
use serde::Serialize;

const TILES: usize = 96;
const LEVELS: usize = 20;

/// An instance as the script reads it.
#[derive(Serialize)]
struct Instance {
    /// Of each tile, the size of each level.
    bits: Vec<Vec<u64>>,
    /// Of each tile, the distortion of each level.
    mse: Vec<Vec<f64>>,
    weights: Vec<f64>,
    budget_bits: u64,
    /// The optimum of the relaxation that the rate step found.
    bound: f64,
    /// Microseconds that it took.
    rate_step_us: f64,
}

fn instance(gop: &Gop, workspace: &mut Workspace) -> Instance {
    // Once before, so that the workspace has its memory.
    workspace.rate_step(&gop.curves, &gop.probabilities, gop.capacity_bits);
    let start = Instant::now();
    let found = workspace.rate_step(&gop.curves, &gop.probabilities, gop.capacity_bits);
    let rate_step_us = start.elapsed().as_secs_f64() * 1e6;
    let levels = || gop.curves.iter().map(|curve| curve.levels().iter());
    Instance {
        bits: levels().map(|all| all.map(|&Level { bits, .. }| bits).collect()).collect(),
        mse: levels().map(|all| all.map(|&Level { mse, .. }| mse).collect()).collect(),
        weights: gop.probabilities.clone(),
        budget_bits: gop.capacity_bits,
        bound: found.bound,
        rate_step_us,
    }
}

fn print_times(gops: &[Gop], workspace: &mut Workspace) {
    let mut times_us: Vec<f64> = Vec::new();
    for round in 0..21 {
        for gop in gops {
            let start = Instant::now();
            let found = workspace.rate_step(&gop.curves, &gop.probabilities, gop.capacity_bits);
            let time = start.elapsed().as_secs_f64() * 1e6;
            assert!(found.fits, "the mean lies above the lowest levels");
            // The first round warms up.
            if round > 0 {
                times_us.push(time);
            }
        }
    }
    times_us.sort_by(f64::total_cmp);
    let at = |share: f64| times_us[(share * (times_us.len() - 1) as f64) as usize];
    println!("{TILES} tiles, {LEVELS} levels, {} rate steps", times_us.len());
    println!("median {:.1} us, 99 % {:.1} us, longest {:.1} us", at(0.5), at(0.99), at(1.0));
}

fn main() {
    let instances = std::env::args().nth(1).map(|n| n.parse().expect("a number of instances"));
    let count = instances.unwrap_or(200);
    let gops: Vec<Gop> =
        (0..count).map(|n| synthetic::gop(Seed(7).index(n), TILES, LEVELS)).collect();
    let mut workspace = Workspace::default();
    if instances.is_none() {
        return print_times(&gops, &mut workspace);
    }
    let all: Vec<Instance> = gops.iter().map(|gop| instance(gop, &mut workspace)).collect();
    println!("{}", serde_json::to_string(&all).expect("numbers make JSON"));
}
