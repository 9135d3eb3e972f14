//! The search of MPC against full enumeration, and the algorithms' plain properties.

use std::sync::Arc;
use std::time::Duration;

use airlane_abr::mpc::{TIE, best_plan};
use airlane_abr::{
    Abr, AbrKind, Fixed, History, Mpc, PlayerConfig, PlayerState, RateBased, TitleModel, next_rung,
};
use airlane_base::Seed;
use airlane_media::{Metric, Perceptual, Video, synthetic};
use airlane_quality::{QoeParams, Smoothness};
use proptest::prelude::*;

fn setting(video: Arc<Video>, smoothness: Smoothness, player: PlayerConfig) -> TitleModel {
    let view = Perceptual::new(video, Metric::Vmaf).unwrap();
    TitleModel::new(view, QoeParams { smoothness, ..QoeParams::default() }, player).unwrap()
}

/// Every plan, scored step by step as the module's documentation defines it.
fn enumerate(s: &TitleModel, state: &PlayerState, rate: f64, depth: usize) -> Vec<f64> {
    fn go(
        s: &TitleModel,
        chunk: usize,
        b: f64,
        last: Option<usize>,
        rate: f64,
        depth: usize,
    ) -> f64 {
        if depth == 0 {
            return 0.0;
        }
        (0..s.rungs())
            .map(|r| after(s, chunk, b, last, rate, depth, r))
            .fold(f64::NEG_INFINITY, f64::max)
    }
    fn after(
        s: &TitleModel,
        chunk: usize,
        b: f64,
        last: Option<usize>,
        rate: f64,
        depth: usize,
        r: usize,
    ) -> f64 {
        let d = s.bits(chunk)[r] / rate;
        let player = s.player();
        let next = ((b - d).max(0.0) + s.chunk_s() - player.chunk_overhead.as_secs_f64())
            .min(player.buffer_cap.as_secs_f64());
        s.chunk_qoe(chunk, r, (d - b).max(0.0), last)
            + go(s, chunk + 1, next, Some(r), rate, depth - 1)
    }
    let depth = depth.min(s.chunks() - state.next_chunk);
    (0..s.rungs())
        .map(|r| after(s, state.next_chunk, state.buffer_s, state.last_rung, rate, depth, r))
        .collect()
}

fn check(s: &TitleModel, state: &PlayerState, rate: f64, depth: usize) {
    let values = enumerate(s, state, rate, depth);
    let best = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let plan = best_plan(s, state, rate, depth);
    assert!((plan.value - best).abs() < 2.0 * TIE, "{} {best}", plan.value);
    let lowest = values.iter().position(|v| *v > best - TIE).unwrap();
    // A value within rounding of the edge of the tie may fall on either side.
    assert!(
        plan.rung == lowest || (values[plan.rung] - (best - TIE)).abs() < 1e-9,
        "{} {values:?}",
        plan.rung
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn the_plan_is_that_of_full_enumeration(
        seed in 0_u64..50,
        chunk in 1_usize..24,
        buffer_s in prop_oneof![Just(0.0), 0.0..44.0_f64],
        last in 0_usize..8,
        log_rate in 4.9..7.3_f64,
        depth in 1_usize..=4,
        smooth in any::<bool>(),
        overhead_ms in prop_oneof![Just(600_u64), Just(0), Just(5_000)],
        cap_s in prop_oneof![Just(40_u64), Just(8)],
    ) {
        let video = synthetic::corpus(1, 24, Seed(seed)).remove(0);
        let smooth = if smooth { Smoothness::MeanCurve } else { Smoothness::Chunk };
        let player = PlayerConfig {
            buffer_cap: Duration::from_secs(cap_s),
            chunk_overhead: Duration::from_millis(overhead_ms),
        };
        let s = setting(video, smooth, player);
        let rate = 10_f64.powf(log_rate);
        let state = PlayerState {
            next_chunk: chunk,
            buffer_s,
            last_rung: Some(last),
            history: History::constant(rate),
        };
        check(&s, &state, rate, depth);
    }
}

#[test]
fn the_plan_is_that_of_full_enumeration_at_the_full_horizon() {
    for (i, rate) in [0.2e6, 0.7e6, 1.1e6, 2.0e6, 3.7e6, 9e6].into_iter().enumerate() {
        let video = synthetic::corpus(1, 30, Seed(i as u64)).remove(0);
        let s = setting(video, Smoothness::MeanCurve, PlayerConfig::default());
        for (buffer_s, last) in [(0.5, 0), (6.0, 3), (20.0, 5), (40.0, 7)] {
            let state = PlayerState {
                next_chunk: 3 * i + 1,
                buffer_s,
                last_rung: Some(last),
                history: History::constant(rate),
            };
            check(&s, &state, rate, 5);
        }
    }
}

#[test]
fn equal_plans_go_to_the_lower_rung() {
    // Quality alike on every rung, and nothing stalls: all plans are worth the same.
    let mut video = (*synthetic::flat("flat", 20, 1e6)).clone();
    for rung in &mut video.rungs {
        rung.quality.insert(Metric::Vmaf, vec![50.0; 20]);
    }
    let view = Perceptual::new(Arc::new(video), Metric::Vmaf).unwrap();
    let qoe = QoeParams { gamma: 0.0, ..QoeParams::default() };
    let s = TitleModel::new(view, qoe, PlayerConfig::default()).unwrap();
    let state = PlayerState {
        next_chunk: 4,
        buffer_s: 40.0,
        last_rung: Some(6),
        history: History::constant(1e9),
    };
    assert_eq!(Mpc::plain().choose(&s, &state), 0);
}

#[test]
fn robust_mpc_counts_on_less_after_errors() {
    let mut state = PlayerState::start();
    assert_eq!(Mpc::robust().prediction_bps(&state), None);
    for t in [2e6, 4e6, 4e6] {
        state.history.push(t);
    }
    let plain = Mpc::plain().prediction_bps(&state).unwrap();
    let robust = Mpc::robust().prediction_bps(&state).unwrap();
    assert!((plain - 3e6).abs() < 1e-6);
    assert!((robust - plain / 1.5).abs() < 1e-6, "the worst error was 2 for 4");
}

#[test]
fn rate_based_takes_the_highest_rung_within_its_margin() {
    let s =
        setting(synthetic::flat("flat", 20, 1e6), Smoothness::MeanCurve, PlayerConfig::default());
    let abr = RateBased { safety: 0.8 };
    let rung = |rate: f64| {
        let history = History::constant(rate);
        abr.choose(&s, &PlayerState { next_chunk: 1, history, ..PlayerState::start() })
    };
    // The ladder's rates are 0.3, 0.5, 0.85, 1.3, 2.0, 3.0, 4.3 and 6.2 Mbit/s.
    assert_eq!(rung(0.1e6), 0);
    assert_eq!(rung(0.626e6), 1);
    assert_eq!(rung(0.624e6), 0);
    assert_eq!(rung(100e6), 7);
}

#[test]
fn the_first_chunk_is_the_lowest_and_names_round_trip() {
    let s =
        setting(synthetic::flat("flat", 20, 1e6), Smoothness::MeanCurve, PlayerConfig::default());
    for name in ["robust-mpc", "mpc", "bola", "buffer-based", "rate-based", "fixed:3"] {
        let abr: AbrKind = name.parse().unwrap();
        assert_eq!(abr.to_string(), name);
        assert_eq!(next_rung(&abr, &s, &PlayerState::start()), 0);
    }
    assert_eq!(AbrKind::default().to_string(), "robust-mpc");
    let later = PlayerState { next_chunk: 1, last_rung: Some(0), ..PlayerState::start() };
    assert_eq!(next_rung(&Fixed(3), &s, &later), 3);
    assert_eq!(next_rung(&Fixed(99), &s, &later), 7);
    let e = "festive".parse::<AbrKind>().unwrap_err().to_string();
    assert_eq!(
        e,
        "unknown ABR `festive`; expected one of robust-mpc, mpc, bola, buffer-based, rate-based, \
         fixed:RUNG"
    );
}
