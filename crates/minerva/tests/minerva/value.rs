//! The forms of the value function against the simulation, and against each other.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use crate::common::setting_with;
use airlane_abr::fixed_rate::Walk;
use airlane_abr::{Abr, AbrKind, History, PlayerConfig, PlayerState, TitleModel};
use airlane_base::{Rng, Seed};
use airlane_media::corpus::Corpus;
use airlane_media::{Metric, Perceptual, synthetic};
use airlane_minerva::value::Ahead;
use airlane_minerva::{Fitted, OnDemand, Optimal, ValueFunction, ValueTable};
use airlane_quality::{QoeParams, Smoothness};
use proptest::prelude::*;
use rand::RngExt;

const NAMES: [&str; 5] = ["robust-mpc", "mpc", "bola", "buffer-based", "rate-based"];

fn abr(name: &str) -> Arc<dyn Abr> {
    Arc::new(name.parse::<AbrKind>().unwrap())
}

/// A title of the embedded corpus, short, and watched with a small buffer, so that a table of it
/// takes a moment only.
fn short(chunks: usize) -> Arc<TitleModel> {
    let corpus = Corpus::embedded().unwrap();
    let video = Arc::new(corpus.video("rally").unwrap().cut_to(chunks));
    let player = PlayerConfig { buffer_cap: Duration::from_secs(12), ..PlayerConfig::default() };
    setting_with(video, player)
}

/// Tables of the same title for every algorithm.
fn tables() -> &'static (Arc<TitleModel>, Vec<ValueTable>) {
    static TABLES: LazyLock<(Arc<TitleModel>, Vec<ValueTable>)> = LazyLock::new(|| {
        let s = short(6);
        let tables = NAMES.iter().map(|n| ValueTable::build(&s, &*abr(n), 5)).collect();
        (s, tables)
    });
    &TABLES
}

fn draw(rng: &mut Rng, s: &TitleModel, t: &ValueTable) -> (Ahead, f64) {
    let (b, r) = (t.buffers_s(), t.rates_bps());
    let at = Ahead {
        next_chunk: rng.random_range(1..s.chunks()),
        last_rung: rng.random_range(0..s.rungs()),
        buffer_s: rng.random_range(b[0]..b[b.len() - 1]),
    };
    (at, rng.random_range(r[0]..r[r.len() - 1]))
}

#[test]
fn on_demand_is_the_simulation_to_the_last_bit() {
    let s = short(20);
    let mut rng = Seed(1).rng();
    for name in NAMES {
        let (abr, horizon) = (abr(name), rng.random_range(1..8));
        let v = OnDemand::new(s.clone(), abr.clone(), horizon);
        for _ in 0..200 {
            let at = Ahead {
                next_chunk: rng.random_range(1..20),
                last_rung: rng.random_range(0..8),
                buffer_s: rng.random_range(0.0..12.0),
            };
            let rate = rng.random_range(1e5..9e6);
            let state = PlayerState {
                next_chunk: at.next_chunk,
                buffer_s: at.buffer_s,
                last_rung: Some(at.last_rung),
                history: History::constant(rate),
            };
            let mut walk = Walk { state };
            let n = horizon.min(20 - at.next_chunk);
            let mut sum = 0.0;
            for _ in 0..n {
                sum += walk.step(&*abr, &s, rate).qoe;
            }
            assert_eq!(v.value(at, rate), Some(sum / n as f64));
        }
    }
}

#[test]
fn no_form_answers_what_makes_no_sense() {
    let (s, tables) = tables();
    let fitted = Fitted::of_table(&tables[0], 0.0);
    let on_demand = OnDemand::new(s.clone(), abr("mpc"), 5);
    let optimal = Optimal::new(s.clone(), 5).discounted(0.9).unwrap();
    let all: [&dyn ValueFunction; 4] = [&on_demand, &tables[0], &fitted, &optimal];
    let fine = Ahead { next_chunk: 2, last_rung: 1, buffer_s: 6.0 };
    for v in all {
        assert!(v.value(fine, 1e6).is_some_and(f64::is_finite));
        assert!(v.value(Ahead { next_chunk: 5, ..fine }, 1e6).is_some());
        for next_chunk in [0, 6, usize::MAX] {
            assert_eq!(v.value(Ahead { next_chunk, ..fine }, 1e6), None, "chunk {next_chunk}");
        }
        assert_eq!(v.value(Ahead { last_rung: 8, ..fine }, 1e6), None);
        assert_eq!(v.value(Ahead { buffer_s: f64::NAN, ..fine }, 1e6), None);
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(v.value(fine, rate), None, "{rate}");
        }
    }
    assert_eq!(OnDemand::new(s.clone(), abr("mpc"), 0).value(fine, 1e6), None);
    assert_eq!(Optimal::new(s.clone(), 0).value(fine, 1e6), None);
    assert_eq!(ValueTable::build(s, &*abr("bola"), 0).value(fine, 1e6), None);
    for discount in [0.0, 1.1, f64::NAN] {
        assert!(Optimal::new(s.clone(), 5).discounted(discount).is_none());
    }
}

#[test]
fn a_table_is_the_simulation_on_its_grid() {
    let (s, tables) = tables();
    let mut rng = Seed(2).rng();
    for (name, table) in NAMES.iter().zip(tables) {
        let (buffers, rates) = (table.buffers_s(), table.rates_bps());
        assert_eq!((buffers[0], buffers[1], *buffers.last().unwrap()), (4.0, 4.5, 12.0));
        assert_eq!((rates[0], rates[1]), (1e5, 2e5));
        assert!(*rates.last().unwrap() >= *s.mean_rate_bps().last().unwrap());
        let direct = OnDemand::new(s.clone(), abr(name), 5);
        for _ in 0..2000 {
            let (at, _) = draw(&mut rng, s, table);
            let at = Ahead { buffer_s: buffers[rng.random_range(0..buffers.len())], ..at };
            let rate = rates[rng.random_range(0..rates.len())];
            let (v, truth) = (table.value(at, rate).unwrap(), direct.value(at, rate).unwrap());
            let off = (v - truth.max(table.least())).abs();
            assert!(off <= 0.5 * table.step() + 1e-9, "{name} {at:?} {rate}: {v} for {truth}");
        }
        // Two bytes for each point, and little else.
        let points = 5 * s.rungs() * buffers.len() * rates.len();
        assert!((2 * points..2 * points + 2000).contains(&table.bytes()), "{}", table.bytes());
    }
}

#[test]
fn between_its_points_a_table_is_close() {
    let (s, tables) = tables();
    let mut rng = Seed(3).rng();
    // Players that look at the buffer alone jump by a rung at one point of it.
    for ((name, table), most) in NAMES.iter().zip(tables).zip([0.5, 0.5, 3.0, 4.0, 1.0]) {
        let direct = OnDemand::new(s.clone(), abr(name), 5);
        let mut sum = 0.0;
        for _ in 0..2000 {
            let (at, rate) = draw(&mut rng, s, table);
            let truth = direct.value(at, rate).unwrap().max(table.least());
            sum += (table.value(at, rate).unwrap() - truth).abs() / 2000.0;
        }
        println!("{name}: {sum:.3}, equal bits {}", table.along_equal_bits());
        assert!(sum < most, "{name}: mean error {sum}");
        let (at, _) = draw(&mut rng, s, table);
        let edge = |b: f64, r: f64| table.value(Ahead { buffer_s: b, ..at }, r).unwrap();
        assert_eq!(edge(99.0, 99e6), edge(12.0, *table.rates_bps().last().unwrap()));
        assert_eq!(edge(-3.0, 1.0), edge(4.0, 1e5));
    }
    assert!(!tables[3].along_equal_bits());
}

#[test]
fn a_table_stands_for_any_length_of_video_buffer_and_ladder() {
    for (chunks, cap_s, half_bps) in [(1, 40, 1e6), (2, 2, 1e6), (3, 4, 1e6), (2, 5, 0.01e6)] {
        let player =
            PlayerConfig { buffer_cap: Duration::from_secs(cap_s), ..PlayerConfig::default() };
        let s = setting_with(synthetic::flat("flat", chunks, half_bps), player);
        let table = ValueTable::build(&s, &*abr("robust-mpc"), 5);
        let at = Ahead { next_chunk: 1, last_rung: 3, buffer_s: 3.0 };
        assert_eq!(table.value(at, 2.5e6).is_some(), chunks > 1);
        assert_eq!(Fitted::of_table(&table, 1e12).value(at, 2.5e6).is_some(), chunks > 1);
    }
}

#[test]
fn fits_are_increasing_concave_and_near() {
    let (s, tables) = tables();
    let mut rng = Seed(4).rng();
    let from = s.mean_rate_bps()[0];
    let fitted = Fitted::of_table(&tables[0], from);
    let direct = OnDemand::new(s.clone(), abr("robust-mpc"), 5);
    let mut off = 0.0;
    for _ in 0..1000 {
        let (at, rate) = draw(&mut rng, s, &tables[0]);
        let v = |r: f64| fitted.value(at, r).unwrap();
        let (low, high) = (rng.random_range(0.2..0.9) * rate, rng.random_range(1.1..3.0) * rate);
        let chord = v(low) + (v(high) - v(low)) * (rate - low) / (high - low);
        let scale = 1e-9 * (1.0 + v(low).abs());
        assert!(v(low) <= v(rate) + scale && v(rate) <= v(high) + scale, "{at:?} {rate}");
        assert!(v(rate) >= chord - scale, "{at:?} {rate}");
        off += (v(rate.max(from)) - direct.value(at, rate.max(from)).unwrap()).abs() / 1000.0;
    }
    assert!(off < 2.0, "mean error {off}");
    assert!(fitted.bytes() < tables[0].bytes() / 8);
}

/// Every plan of so many chunks, as appendix C has it, with the player's pause and cap.
fn enumerate(s: &TitleModel, at: Ahead, rate: f64, chunks: usize, discount: f64) -> f64 {
    if chunks == 0 {
        return 0.0;
    }
    let player = s.player();
    let (pause, cap) = (player.chunk_overhead.as_secs_f64(), player.buffer_cap.as_secs_f64());
    (0..s.rungs())
        .map(|rung| {
            let d = s.bits(at.next_chunk)[rung] / rate;
            let stall = (d - at.buffer_s).max(0.0);
            let after = Ahead {
                next_chunk: at.next_chunk + 1,
                last_rung: rung,
                buffer_s: ((at.buffer_s - d).max(0.0) + s.chunk_s() - pause).min(cap),
            };
            s.chunk_qoe(at.next_chunk, rung, stall, Some(at.last_rung))
                + discount * enumerate(s, after, rate, chunks - 1, discount)
        })
        .fold(f64::NEG_INFINITY, f64::max)
}

fn any_setting(seed: u64, chunk_smoothness: bool, overhead_ms: u64, cap_s: u64) -> Arc<TitleModel> {
    let video = synthetic::corpus(1, 24, Seed(seed)).remove(0);
    let smoothness = if chunk_smoothness { Smoothness::Chunk } else { Smoothness::MeanCurve };
    let player = PlayerConfig {
        buffer_cap: Duration::from_secs(cap_s),
        chunk_overhead: Duration::from_millis(overhead_ms),
    };
    let qoe = QoeParams { smoothness, ..QoeParams::default() };
    let view = Perceptual::new(video, Metric::Vmaf).unwrap();
    Arc::new(TitleModel::new(view, qoe, player).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn optimal_is_the_best_of_all_plans(
        seed in 0_u64..20,
        next_chunk in 1_usize..24,
        last_rung in 0_usize..8,
        buffer_s in 0.0..44.0_f64,
        log_rate in 4.9..7.2_f64,
        horizon in 1_usize..=4,
        discount in prop_oneof![Just(1.0), 0.3..1.0_f64],
        smooth in any::<bool>(),
        overhead_ms in prop_oneof![Just(600_u64), Just(0), Just(5_000)],
        cap_s in prop_oneof![Just(40_u64), Just(8)],
    ) {
        let s = any_setting(seed, smooth, overhead_ms, cap_s);
        let at = Ahead { next_chunk, last_rung, buffer_s };
        let rate = 10_f64.powf(log_rate);
        let chunks = horizon.min(24 - next_chunk);
        let weights: f64 = (0..chunks).map(|k| discount.powi(k as i32)).sum();
        let best = enumerate(&s, at, rate, chunks, discount) / weights;
        let v = Optimal::new(s, horizon).discounted(discount).unwrap().value(at, rate).unwrap();
        prop_assert!((v - best).abs() < 1e-6, "{v} {best}");
    }

    #[test]
    fn no_player_beats_optimal(
        seed in 0_u64..20,
        next_chunk in 1_usize..24,
        last_rung in 0_usize..8,
        buffer_s in 0.0..40.0_f64,
        log_rate in 4.9..7.2_f64,
        name in 0_usize..NAMES.len(),
        horizon in 1_usize..=10,
        smooth in any::<bool>(),
        overhead_ms in prop_oneof![Just(600_u64), Just(0), Just(5_000)],
        cap_s in prop_oneof![Just(40_u64), Just(8)],
    ) {
        let s = any_setting(seed, smooth, overhead_ms, cap_s);
        let at = Ahead { next_chunk, last_rung, buffer_s };
        let rate = 10_f64.powf(log_rate);
        let best = Optimal::new(s.clone(), horizon).value(at, rate).unwrap();
        let played = OnDemand::new(s, abr(NAMES[name]), horizon).value(at, rate).unwrap();
        prop_assert!(best >= played - 1e-6, "{} plays {played}, best {best}", NAMES[name]);
    }
}
