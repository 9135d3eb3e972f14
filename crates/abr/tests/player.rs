//! The player's buffer: conservation, stalls against wall time, and the constant-rate session
//! against the same machine driven by events.

use std::sync::Arc;
use std::time::Duration;

use airlane_abr::fixed_rate::fixed_rate;
use airlane_abr::{AbrKind, PlayerConfig, PlayerModel, PlayerPhase, TitleModel};
use airlane_base::{Seed, Time};
use airlane_media::{Metric, Perceptual, Video, synthetic};
use airlane_quality::QoeParams;
use proptest::prelude::*;

fn setting(video: Arc<Video>) -> Arc<TitleModel> {
    let view = Perceptual::new(video, Metric::Vmaf).unwrap();
    Arc::new(TitleModel::new(view, QoeParams::default(), PlayerConfig::default()).unwrap())
}

fn secs(s: f64) -> Duration {
    Duration::from_secs_f64(s)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn what_arrived_is_played_or_held_and_stalls_fill_the_wall_time(
        start_ms in 0_u64..5_000,
        downloads in prop::collection::vec((1_u64..9_000, 0_usize..8, 0_u64..3_000), 1..40),
    ) {
        let s = setting(synthetic::flat("flat", 40, 1e6));
        let start = Time::from_millis(start_ms);
        let mut p = PlayerModel::new(s.clone(), start);
        let cap = s.player().buffer_cap;
        let mut now = start;
        for (ms, rung, late_ms) in downloads {
            let at = p.next_request_at().unwrap();
            prop_assert!(at >= now);
            if let Some(last) = p.chunks().last() {
                prop_assert!(at >= last.arrived + s.player().chunk_overhead);
                prop_assert!(p.buffer(at) <= cap);
            }
            // The caller may be late.
            now = at + Duration::from_millis(late_ms);
            p.on_request(now, rung);
            prop_assert_eq!(p.next_request_at(), None);
            let download = Duration::from_millis(ms);
            now += download;
            let before = p.stalled(now);
            let phase = p.phase(now);
            let chunk = p.on_chunk(now, 1_000, download);
            prop_assert_eq!(p.phase(now), PlayerPhase::Playing);
            prop_assert_eq!(p.stalled(now), before, "a stall under way is charged once");
            prop_assert_eq!(phase == PlayerPhase::Stalled, chunk.stall > Duration::ZERO);
            prop_assert!(p.buffer(now) <= cap + s.chunk());
            prop_assert!(chunk.begins >= chunk.arrived);

            for after_ms in [0, 1_500, 3_999, 60_000] {
                let t = now + Duration::from_millis(after_ms);
                let startup = p.startup().unwrap();
                let downloaded = s.chunk() * u32::try_from(p.chunks().len()).unwrap();
                let ended = p.phase(t) == PlayerPhase::Ended;
                let played = downloaded - p.buffer(t);
                // start-up + pictures + stalls = wall time, until the end.
                let accounted = startup + played + p.stalled(t);
                if ended {
                    prop_assert!(accounted <= t - start);
                } else {
                    prop_assert_eq!(accounted, t - start);
                }
            }
        }
        let n = p.chunks().len() as f64;
        let mean = p.chunks().iter().map(|c| c.qoe).sum::<f64>() / n;
        prop_assert!((p.totals().mean_qoe().unwrap() - mean).abs() < 1e-9);
        prop_assert!((p.session_qoe(Duration::from_secs(1_000_000)).unwrap() - mean).abs() < 1e-9);
    }

    #[test]
    fn a_session_at_a_constant_rate_is_the_machine_driven_by_events(
        seed in 0_u64..20,
        log_rate in 5.2..7.2_f64,
        robust in any::<bool>(),
    ) {
        let rate = 10_f64.powf(log_rate);
        let s = setting(synthetic::corpus(1, 60, Seed(seed)).remove(0));
        let abr: AbrKind = if robust { "robust-mpc" } else { "mpc" }.parse().unwrap();
        let within = Duration::from_secs(200);
        let mut p = PlayerModel::new(s.clone(), Time::ZERO);
        while let Some(at) = p.next_request_at() {
            let (chunk, rung) = (p.next_chunk().unwrap(), p.choose(&abr, at).unwrap());
            p.on_request(at, rung);
            let bytes = s.video().size_bytes(rung, chunk);
            let download = secs(bytes as f64 * 8.0 / rate);
            p.on_chunk(at + download, bytes, download);
        }
        let expected = fixed_rate(&s, &abr, rate, within);
        let measured = p.session_qoe(within).unwrap();
        // Nanoseconds may tip a decision that is all but a tie.
        prop_assert!((measured - expected.qoe).abs() < 0.05, "{measured} {expected:?}");
    }
}

#[test]
fn start_up_is_no_rebuffering_and_the_first_chunk_plays_at_once() {
    let s = setting(synthetic::flat("flat", 10, 1e6));
    let mut p = PlayerModel::new(s.clone(), Time::from_millis(500));
    assert_eq!(p.phase(Time::from_millis(900)), PlayerPhase::Starting);
    assert_eq!(p.next_request_at(), Some(Time::from_millis(500)));
    p.on_request(Time::from_millis(500), 0);
    let first = p.on_chunk(Time::from_millis(1_500), 150_000, secs(1.0));
    assert_eq!((first.begins, first.stall), (Time::from_millis(1_500), Duration::ZERO));
    assert_eq!(first.throughput_bps, 1.2e6);
    assert_eq!(p.startup(), Some(secs(1.0)));
    assert_eq!(p.totals().startup_s, 1.0);
    assert_eq!(p.next_request_at(), Some(Time::from_millis(2_100)));

    // The second chunk takes until a second after the picture stops.
    p.on_request(Time::from_millis(2_100), 1);
    assert_eq!(p.buffer(Time::from_millis(3_500)), secs(2.0));
    assert_eq!(p.phase(Time::from_millis(5_499)), PlayerPhase::Playing);
    assert_eq!(p.phase(Time::from_millis(6_000)), PlayerPhase::Stalled);
    assert_eq!(p.stalled(Time::from_millis(6_000)), secs(0.5));
    let second = p.on_chunk(Time::from_millis(6_500), 250_000, secs(4.4));
    assert_eq!((second.begins, second.stall), (Time::from_millis(6_500), secs(1.0)));
    let jump = s.quality(0)[1] - s.quality(0)[0];
    assert!((second.qoe - (s.quality(1)[1] - 25.0 - 2.5 * jump)).abs() < 1e-9);
    assert_eq!(p.session_qoe(secs(2.0)), Some(first.qoe));
    assert_eq!(
        p.mean_over(Time::from_millis(2_000), Time::from_millis(9_000), |c| c.qoe),
        Some(second.qoe)
    );
}

#[test]
fn a_full_buffer_waits_and_the_last_chunk_ends_it() {
    let s = setting(synthetic::flat("flat", 14, 1e6));
    let mut p = PlayerModel::new(s.clone(), Time::ZERO);
    let mut now = Time::ZERO;
    while let Some(at) = p.next_request_at() {
        p.on_request(at, 0);
        now = at + Duration::from_millis(100);
        p.on_chunk(now, 1, Duration::from_millis(100));
        if p.chunks().len() == 13 {
            // 52 s arrived within 8.5 s: the player waits until it holds 40.
            let next = p.next_request_at().unwrap();
            assert_eq!(p.buffer(next), secs(40.0));
            assert!(next > now + secs(0.6));
        }
    }
    assert_eq!((p.next_chunk(), p.choose(&AbrKind::default(), now)), (None, None));
    assert_eq!(p.phase(now + p.buffer(now)), PlayerPhase::Ended);
    assert_eq!(p.stalled(now + secs(1e4)), Duration::ZERO);
}

#[test]
fn a_rate_above_the_ladder_gives_the_top_and_one_below_stalls() {
    let s = setting(synthetic::flat("flat", 60, 1e6));
    let abr = AbrKind::default();
    let within = Duration::from_secs(200);
    let fast = fixed_rate(&s, &abr, 50e6, within);
    let top = s.quality(0)[7];
    // Only the first chunk and the change from it cost.
    assert!(fast.stall_s == 0.0 && top - fast.qoe < 5.0, "{fast:?}");
    assert!(fast.delivered_bps < 50e6 / 4.0);
    // 0.24 Mbit/s for a lowest rung of 0.3: each chunk takes 5 s and 0.6 s of pause for 4 s.
    let slow = fixed_rate(&s, &abr, 0.24e6, within);
    let stall_per_chunk = slow.stall_s / (200.0 / 5.6);
    assert!((stall_per_chunk - 1.6).abs() < 0.1, "{slow:?}");
    assert_eq!(fixed_rate(&s, &abr, 0.0, within).qoe, f64::NEG_INFINITY);
}
