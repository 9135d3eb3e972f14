//! The algorithms that go by the buffer, on cases worked out by hand.

use std::sync::Arc;
use std::time::Duration;

use airlane_abr::{
    Abr, Bola, BufferBased, History, PlayerConfig, PlayerModel, PlayerState, TitleModel,
};
use airlane_base::{Seed, Time};
use airlane_media::{Metric, Perceptual, Video, synthetic};
use airlane_quality::QoeParams;
use proptest::prelude::*;

/// Rates of the rungs, bits per second; chunks of 4 s.
const RATES: [f64; 8] = [0.3e6, 0.5e6, 0.85e6, 1.3e6, 2.0e6, 3.0e6, 4.3e6, 6.2e6];

fn setting(video: Arc<Video>) -> TitleModel {
    let view = Perceptual::new(video, Metric::Vmaf).unwrap();
    TitleModel::new(view, QoeParams::default(), PlayerConfig::default()).unwrap()
}

fn at(next_chunk: usize, buffer_s: f64, last_rung: usize, rate: f64) -> PlayerState {
    PlayerState {
        next_chunk,
        buffer_s,
        last_rung: Some(last_rung),
        history: History::constant(rate),
    }
}

/// Where the scores of two rungs meet: equation of the paper's section on thresholds,
/// Q = V (gamma_p + (R_b u_a - R_a u_b) / (R_b - R_a)), in seconds.
fn bola_threshold(v: f64, a: usize, b: usize) -> f64 {
    let u = |m: usize| (RATES[m] / RATES[0]).ln();
    let cross = (RATES[b] * u(a) - RATES[a] * u(b)) / (RATES[b] - RATES[a]);
    4.0 * v * (5.0 + cross)
}

#[test]
fn bola_climbs_at_the_buffers_where_two_scores_meet() {
    let s = setting(synthetic::flat("flat", 200, 1e6));
    // In the middle of the video, with the whole cap of 40 s to use.
    let v = 9.0 / ((RATES[7] / RATES[0]).ln() + 5.0);
    let rung = |buffer| Bola::default().choose(&s, &at(100, buffer, 7, 100e6));
    let mut before = 0.0;
    for m in 0..7 {
        let meet = bola_threshold(v, m, m + 1);
        assert!(meet > before, "the ladder is climbed in order");
        assert_eq!((rung(meet - 0.05), rung(meet + 0.05)), (m, m + 1), "at {meet}");
        before = meet;
    }
    // At the cap less a chunk the top rung's score is zero, and the others' are below.
    assert!((before..36.0).contains(&35.9));
    assert_eq!(rung(40.0), 7);
}

#[test]
fn bola_uses_less_of_the_buffer_near_the_beginning_and_the_end() {
    let s = setting(synthetic::flat("flat", 200, 1e6));
    let rung = |chunk| Bola::default().choose(&s, &at(chunk, 12.0, 7, 100e6));
    // Three chunks' worth while less than 24 s are played or left.
    assert_eq!(rung(3), 7);
    assert_eq!(rung(198), 7);
    assert!(rung(100) < 2);
}

#[test]
fn bola_climbs_no_further_than_a_rung_above_what_the_last_download_carried() {
    let s = setting(synthetic::flat("flat", 200, 1e6));
    let rung = |last, rate| Bola::default().choose(&s, &at(100, 35.0, last, rate));
    assert_eq!(rung(2, 10e6), 7, "carried");
    assert_eq!(rung(2, 2.1e6), 5, "2.0 Mbit/s are carried, and one more");
    assert_eq!(rung(5, 0.9e6), 5, "less than the last is carried: stay");
    let down = Bola::default().choose(&s, &at(100, 1.0, 5, 10e6));
    assert_eq!(down, 0, "nothing holds it on the way down");
}

#[test]
fn buffer_based_follows_its_line_and_sticks_to_a_rung() {
    let s = setting(synthetic::flat("flat", 200, 1e6));
    let rung = |buffer, last| BufferBased::default().choose(&s, &at(50, buffer, last, 1e6));
    assert_eq!((rung(5.0, 7), rung(15.0, 0)), (0, 7), "reservoir and cushion");
    // 0.3 + 0.59 Mbit/s per second above 5: 3.25 at 10 s, 1.48 at 7 s.
    assert_eq!(rung(10.0, 0), 5);
    assert_eq!(rung(10.0, 5), 5);
    assert_eq!(rung(9.0, 5), 5, "2.66 Mbit/s has not come down to the neighbour's 2.0");
    assert_eq!(rung(7.8, 5), 4, "1.95 has: the lowest above the line");
    assert_eq!(rung(11.0, 5), 5, "3.84 has not come up to 4.3");
    assert_eq!(rung(12.0, 5), 6, "4.43 has");
}

/// Mean rung of a viewer at a constant rate.
fn watch(s: &TitleModel, abr: &dyn Abr, rate: f64) -> f64 {
    let mut player = PlayerModel::new(Arc::new(s.clone()), Time::ZERO);
    while let Some(at) = player.next_request_at() {
        let rung = player.choose(abr, at).unwrap();
        let chunk = player.next_chunk().unwrap();
        let bits = s.bits(chunk)[rung];
        let download = Duration::from_secs_f64(bits / rate);
        player.on_request(at, rung);
        player.on_chunk(at + download, (bits / 8.0) as u64, download);
    }
    let played = player.chunks();
    played.iter().map(|p| p.rung as f64).sum::<f64>() / played.len() as f64
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Both use what a constant rate carries, whatever the video. Neither promises not to stall:
    /// both go by the buffer and mean rates, and a large chunk may take them by surprise.
    #[test]
    fn a_constant_rate_is_used(seed in any::<u64>(), mbps in 0.7f64..8.0) {
        for video in synthetic::corpus(2, 60, Seed(seed)) {
            let s = setting(video);
            for abr in [&Bola::default() as &dyn Abr, &BufferBased::default()] {
                let rung = watch(&s, abr, mbps * 1e6);
                let carried = s.mean_rate_bps().iter().rposition(|r| *r <= mbps * 1e6);
                let carried = carried.unwrap_or(0) as f64;
                prop_assert!(rung >= 0.5 * carried, "{abr:?}: {rung} of {carried}");
            }
        }
    }
}
