//! The shares and time constants of a model, found by simulation.

use std::time::Duration;

use airlane_base::Seed;
use airlane_net::trace::{BIN, STEP};
use airlane_net::{CapacityModel, Shape};

/// Traces that a model is judged by, in seconds.
const JUDGED_S: f64 = 1_200_000.0;

/// What the search moves, in this order. The shares are of what the place leaves, so that moving
/// the place keeps the others' proportions.
const NAMES: [&str; 5] = ["place", "slow.share", "slow.time_s", "fast.share", "fast.time_s"];

type Point = [f64; NAMES.len()];

fn point(model: &CapacityModel) -> Point {
    let left = 1.0 - model.place;
    let CapacityModel { place, slow, fast, .. } = model;
    [*place, slow.share / left, slow.time_s, fast.share / left, fast.time_s].map(three_digits)
}

fn with(model: &CapacityModel, p: Point) -> CapacityModel {
    let share = |part: f64| three_digits((1.0 - p[0]) * part);
    let mut model = model.clone();
    model.place = p[0];
    (model.slow.share, model.slow.time_s) = (share(p[1]), p[2]);
    (model.fast.share, model.fast.time_s) = (share(p[3]), p[4]);
    model
}

/// What `model` gives for traces of these lengths, over and over with other seeds.
pub fn simulate(model: &CapacityModel, lengths: &[Duration]) -> Shape {
    let all: f64 = lengths.iter().map(Duration::as_secs_f64).sum();
    let sets = (JUDGED_S / all).ceil() as usize;
    let per_bin = (BIN.as_nanos() / STEP.as_nanos()) as usize;
    let seed = Seed(0).split("fit");
    let bins: Vec<Vec<f64>> = (0..sets * lengths.len())
        .map(|i| {
            let steps = model.steps_bps(seed.index(i as u64), lengths[i % lengths.len()]);
            steps.chunks_exact(per_bin).map(|b| b.iter().sum::<f64>() / per_bin as f64).collect()
        })
        .collect();
    Shape::of_bins(&bins)
}

/// How far apart two shapes are: squares of the differences, each over what is thought small.
fn distance(ours: &Shape, real: &Shape, means: bool) -> f64 {
    let ratio = |a: f64, b: f64, small: f64| match a == b {
        // Recordings without any outage ask for none.
        true => 0.0,
        false => ((a / b).ln() / small).powi(2),
    };
    let memory = ours.autocorrelation.iter().zip(real.autocorrelation);
    let memory: f64 = memory.map(|(a, b)| ((a - b) / 0.03).powi(2)).sum();
    let spread = if means { ratio(ours.means_cv, real.means_cv, 0.05) } else { 0.0 };
    let seconds = |s: &Shape| s.outage_mean.as_secs_f64();
    memory
        + spread
        + ratio(ours.cv_100ms, real.cv_100ms, 0.03)
        + ratio(ours.cv_1s, real.cv_1s, 0.03)
        + ratio(ours.outage_share, real.outage_share, 0.1)
        + ratio(seconds(ours), seconds(real), 0.2)
}

/// Moves one parameter at a time by a factor while that brings the shape nearer to `real`, then
/// makes the factor smaller. A parameter of zero stays. Rounded to three digits at each step.
pub fn search(start: CapacityModel, real: &Shape, lengths: &[Duration]) -> CapacityModel {
    let means = start.place > 0.0;
    let judge = |p: Point| {
        if p[0] >= 1.0 || p[1] + p[3] > 1.0 {
            return f64::INFINITY;
        }
        distance(&simulate(&with(&start, p), lengths), real, means)
    };
    let mut best = point(&start);
    let mut least = judge(best);
    eprintln!("start: {least:.2} at {best:?}");
    for factor in [1.3, 1.12, 1.05, 1.02] {
        let mut moved = true;
        while moved {
            moved = false;
            for i in 0..NAMES.len() {
                for factor in [factor, 1.0 / factor] {
                    let mut tried = best;
                    tried[i] = three_digits(best[i] * factor);
                    let found = if tried == best { f64::INFINITY } else { judge(tried) };
                    if found < least {
                        (best, least, moved) = (tried, found, true);
                        eprintln!("{} {}: {least:.2}", NAMES[i], best[i]);
                        break;
                    }
                }
            }
        }
    }
    with(&start, best)
}

/// Rounded to three significant digits.
pub fn three_digits(v: f64) -> f64 {
    format!("{v:.2e}").parse().expect("a number that was just printed")
}
