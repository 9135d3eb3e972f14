//! Decisions of MPC as JSON, for anybody who writes it again in another language:
//! `cargo run -p airlane-abr --example mpc_vectors > vectors.json`.
//!
//! Each case is a state and what [`airlane_abr::next_rung`] says to it; `tests/browser` holds the
//! player page's rule to them. Numbers are written so that they read back bit for bit.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use airlane_abr::mpc::best_plan;
use airlane_abr::{History, Mpc, PlayerConfig, PlayerState, TitleModel, next_rung};
use airlane_base::{Rng, Seed};
use airlane_media::{Metric, Perceptual, Video, synthetic, table};
use airlane_quality::{QoeParams, Smoothness};
use rand::RngExt;
use serde_json::{Value, json};

/// Random states per video.
const STATES: usize = 60;

/// Mean qualities that do not rise with the rungs.
const FALLING: [f64; 8] = [40.0, 62.0, 55.0, 55.0, 71.0, 70.0, 90.0, 88.0];

fn main() -> std::io::Result<()> {
    let videos = videos();
    let mut rng = Seed(7).rng();
    let mut cases = Vec::new();
    for (index, video) in videos.iter().enumerate() {
        for (state, samples_bps) in states(video, &mut rng) {
            cases.push(case(index, video, &state, &samples_bps, &mut rng));
        }
    }
    let tables: Vec<Value> = videos.iter().map(|v| json!(table::to_json(v))).collect();
    let all = json!({
        "format": "airlane-mpc-vectors", "version": 1, "tables": tables, "cases": cases,
    });
    writeln!(std::io::stdout().lock(), "{all}")
}

/// Ordinary videos, and those whose ladders are odd: of two rungs, of one quality, with dips.
fn videos() -> Vec<Arc<Video>> {
    let mut videos = synthetic::corpus(4, 20, Seed(3));
    let flat = (*synthetic::flat("flat", 12, 1e6)).clone();
    let mut two = flat.clone();
    two.name = "two".to_owned();
    two.rungs.drain(1..7);
    let mut alike = flat.clone();
    alike.name = "alike".to_owned();
    let mut dips = flat.clone();
    dips.name = "dips".to_owned();
    for (rung, quality) in dips.rungs.iter_mut().zip(FALLING) {
        rung.quality.insert(Metric::Vmaf, (0..12).map(|c| quality - f64::from(c % 3)).collect());
    }
    for rung in &mut alike.rungs {
        rung.quality.insert(Metric::Vmaf, vec![50.0; 12]);
    }
    videos.extend([flat, two, alike, dips].map(Arc::new));
    videos
}

/// The state before the first request, states at the edges, and random ones; with each the
/// throughputs that its history was made of, bits per second.
fn states(video: &Video, rng: &mut Rng) -> Vec<(PlayerState, Vec<f64>)> {
    let (chunks, rungs) = (video.chunks(), video.rungs.len());
    let mut states = vec![
        state(0, 0.0, None, vec![]),
        state(1, 0.0, Some(0), vec![]),
        state(chunks - 1, 0.0, Some(rungs - 1), vec![5e4]),
        state(0, 60.0, Some(1), vec![1e9; 3]),
    ];
    states.extend((0..STATES).map(|_| {
        let centre = rng.random_range(4.9..7.3);
        let samples = (0..rng.random_range(1..=10))
            .map(|_| 10_f64.powf(centre + rng.random_range(-0.4..0.4)))
            .collect();
        let buffer_s = if rng.random_bool(0.1) { 0.0 } else { rng.random_range(0.0..44.0) };
        state(rng.random_range(1..chunks), buffer_s, Some(rng.random_range(0..rungs)), samples)
    }));
    states
}

fn state(
    next_chunk: usize,
    buffer_s: f64,
    last_rung: Option<usize>,
    samples_bps: Vec<f64>,
) -> (PlayerState, Vec<f64>) {
    let mut history = History::default();
    samples_bps.iter().for_each(|&r| history.push(r));
    (PlayerState { next_chunk, buffer_s, last_rung, history }, samples_bps)
}

fn case(
    table: usize,
    video: &Arc<Video>,
    state: &PlayerState,
    samples_bps: &[f64],
    rng: &mut Rng,
) -> Value {
    let default = rng.random_bool(0.7);
    let (cap_s, overhead_ms) = if default {
        (40, 600)
    } else {
        (rng.random_range(4..60), [0, 250, 600, 5000][rng.random_range(0..4)])
    };
    let player = PlayerConfig {
        buffer_cap: Duration::from_secs(cap_s),
        chunk_overhead: Duration::from_millis(overhead_ms),
    };
    let chunkwise = rng.random_bool(0.2);
    let qoe = QoeParams {
        smoothness: if chunkwise { Smoothness::Chunk } else { Smoothness::MeanCurve },
        ..QoeParams::default()
    };
    let mpc = if rng.random_bool(0.8) { Mpc::robust() } else { Mpc::plain() };
    let view = Perceptual::new(video.clone(), Metric::Vmaf).expect("each video has VMAF");
    let setting = TitleModel::new(view, qoe, player).expect("each ladder has at most 8 rungs");
    let rate = mpc.prediction_bps(state);
    let value = rate.map(|r| best_plan(&setting, state, r, mpc.horizon).value);
    json!({
        "table": table,
        "player": {
            "buffer_cap_s": player.buffer_cap.as_secs_f64(),
            "chunk_overhead_s": player.chunk_overhead.as_secs_f64(),
        },
        "qoe": { "beta": qoe.beta, "gamma": qoe.gamma, "chunkwise": chunkwise },
        "robust": mpc.robust,
        "state": {
            "next_chunk": state.next_chunk,
            "buffer_s": state.buffer_s,
            "last_rung": state.last_rung,
        },
        "samples_bps": samples_bps,
        "prediction_bps": rate,
        "value": value,
        "rung": next_rung(&mpc, &setting, state),
    })
}
