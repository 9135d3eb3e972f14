//! What one decision of MPC costs: `cargo run --release -p airlane-abr --example mpc_cost`.

#![allow(clippy::disallowed_methods, reason = "a benchmark reads the machine's clock")]

use std::hint::black_box;
use std::time::Instant;

use airlane_abr::mpc::best_plan;
use airlane_abr::{History, PlayerConfig, PlayerState, TitleModel};
use airlane_base::Seed;
use airlane_media::{Metric, Perceptual, synthetic};
use airlane_quality::QoeParams;
use rand::RngExt;

fn main() {
    let videos = synthetic::corpus(12, 75, Seed(1));
    let settings: Vec<TitleModel> = videos
        .iter()
        .map(|v| {
            let view =
                Perceptual::new(v.clone(), Metric::Vmaf).expect("synthetic videos have VMAF");
            TitleModel::new(view, QoeParams::default(), PlayerConfig::default()).expect("8 rungs")
        })
        .collect();
    let mut rng = Seed(2).rng();
    let cases: Vec<(usize, PlayerState, f64)> = (0..50_000)
        .map(|_| {
            let rate = 10_f64.powf(rng.random_range(5.4..7.0));
            let state = PlayerState {
                next_chunk: rng.random_range(1..70),
                buffer_s: rng.random_range(0.0..40.0),
                last_rung: Some(rng.random_range(0..8)),
                history: History::constant(rate),
            };
            (rng.random_range(0..settings.len()), state, rate)
        })
        .collect();
    let mut nodes: Vec<u32> = Vec::new();
    let mut ns: Vec<u64> = Vec::new();
    for round in 0..3 {
        nodes.clear();
        ns.clear();
        for (i, state, rate) in &cases {
            let t = Instant::now();
            let plan = black_box(best_plan(&settings[*i], state, *rate, 5));
            ns.push(u64::try_from(t.elapsed().as_nanos()).unwrap_or(u64::MAX));
            nodes.push(plan.nodes);
        }
        let mean = ns.iter().sum::<u64>() as f64 / ns.len() as f64;
        ns.sort_unstable();
        nodes.sort_unstable();
        let n = ns.len();
        println!(
            "round {round}: mean {mean:.0} ns, median {} ns, p99 {} ns; nodes mean {:.1}, p99 {}, \
             max {}",
            ns[n / 2],
            ns[n * 99 / 100],
            nodes.iter().map(|&k| f64::from(k)).sum::<f64>() / n as f64,
            nodes[n * 99 / 100],
            nodes[n - 1],
        );
    }
}
