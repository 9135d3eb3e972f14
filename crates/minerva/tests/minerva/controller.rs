//! The controller of one flow: timing, samples, averages, bounds.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use crate::common::{abr, normalisation, setting};
use airlane_abr::TitleModel;
use airlane_base::{Seed, Time};
use airlane_media::synthetic;
use airlane_minerva::curve::sustaining_rate_bps;
use airlane_minerva::utility::{Blend, Download, client_aware};
use airlane_minerva::{
    Config, Minerva, Normalisation, OnDemand, Progress, Request, Update, UtilityKind,
};
use proptest::prelude::*;

const RTT: Duration = Duration::from_millis(20);

type World = (Vec<Arc<TitleModel>>, Arc<Normalisation>);

/// Five videos and their f, made once.
fn world(i: usize) -> World {
    static WORLDS: LazyLock<Vec<World>> = LazyLock::new(|| {
        (1..=3)
            .map(|seed| {
                let videos = synthetic::corpus(5, 60, Seed(seed));
                let settings: Vec<_> = videos.into_iter().map(setting).collect();
                let f = normalisation(&settings, 2.0);
                (settings, f)
            })
            .collect()
    });
    WORLDS[i].clone()
}

struct Flow {
    m: Minerva,
    now: Time,
    progress: Progress,
}

impl Flow {
    fn new(config: Config) -> (Self, Arc<TitleModel>) {
        let (settings, f) = world(0);
        (Self::of(settings[2].clone(), f, config), settings[2].clone())
    }

    fn of(setting: Arc<TitleModel>, f: Arc<Normalisation>, config: Config) -> Self {
        Self {
            m: Minerva::new(setting, abr(), f, config),
            now: Time::ZERO,
            progress: Progress { min_rtt: RTT, ..Progress::default() },
        }
    }

    fn request(&mut self, chunk: usize, rung: usize, buffer_s: f64, stalled_s: f64) {
        let request = Request {
            chunk,
            rung,
            buffer: Duration::from_secs_f64(buffer_s),
            stalled: Duration::from_secs_f64(stalled_s),
            after_seek: false,
        };
        self.m.on_request(self.now, request, self.progress);
    }

    /// Goes on to the next event at `rate_bps`, busy for `busy` of the time.
    fn event(&mut self, rate_bps: f64, busy: f64) -> Option<Update> {
        let at = self.m.next_event().unwrap();
        let dt = (at - self.now).mul_f64(busy);
        self.event_of((rate_bps * dt.as_secs_f64() / 8.0).round() as u64, busy)
    }

    /// The same with so many bytes delivered.
    fn event_of(&mut self, bytes: u64, busy: f64) -> Option<Update> {
        let at = self.m.next_event().unwrap();
        self.progress.busy += (at - self.now).mul_f64(busy);
        self.progress.acked_bytes += bytes;
        self.now = at;
        self.m.poll(self.now, self.progress)
    }

    fn interval(&mut self, rate_bps: f64, busy: f64) -> Option<Update> {
        assert_eq!(self.event(rate_bps, busy), None, "the first half gives nothing");
        self.event(rate_bps, busy)
    }
}

#[test]
fn updates_start_with_the_second_chunk_and_come_every_25_round_trips() {
    let (mut f, _) = Flow::new(Config::default());
    assert_eq!((f.m.next_event(), f.m.weight()), (None, 2.0));
    f.request(0, 0, 0.0, 0.0);
    assert_eq!(f.m.next_event(), None);
    f.now = Time::from_millis(900);
    f.request(1, 2, 3.4, 0.0);
    assert_eq!(f.m.next_event(), Some(Time::from_millis(1_150)));
    assert_eq!(f.event(1e6, 1.0), None);
    assert_eq!(f.m.next_event(), Some(Time::from_millis(1_400)));
    assert_eq!(f.m.poll(Time::from_millis(1_399), f.progress), None, "too early");
    // The next interval is as long as the round trip of now says, from 20 to 100 ms.
    for (rtt_ms, half_us) in [(10, 250_000), (20, 250_000), (33, 412_500), (300, 1_250_000)] {
        f.progress.min_rtt = Duration::from_millis(rtt_ms);
        while f.event(1e6, 1.0).is_none() {}
        let half = f.m.next_event().unwrap() - f.now;
        assert_eq!(half, Duration::from_micros(half_us));
    }
}

#[test]
fn the_rate_is_bytes_over_busy_time_of_the_second_half() {
    let (mut f, _) = Flow::new(Config::default());
    f.request(0, 0, 0.0, 0.0);
    f.request(1, 2, 3.4, 0.0);
    assert_eq!(f.event(9e6, 1.0), None);
    let u = f.event(1e6, 0.5).unwrap();
    assert!((u.rate_bps - 1e6).abs() < 100.0, "{}", u.rate_bps);
    assert_eq!(u.rate_bps, u.conservative_bps, "one measurement does not scatter");
    assert_eq!(u.smoothed_bps, u.conservative_bps);

    // Under a quarter busy: no sample, and the weight stays.
    let before = f.m.weight();
    assert_eq!(f.interval(5e6, 0.24), None);
    assert_eq!(f.m.weight(), before);

    // 1 and 2 Mbit/s: deviation 0.5, so 1.75; then the moving average.
    let u = f.interval(2e6, 1.0).unwrap();
    assert!((u.conservative_bps - 1.75e6).abs() < 200.0, "{}", u.conservative_bps);
    assert!((u.smoothed_bps - 1.075e6).abs() < 200.0, "{}", u.smoothed_bps);
    assert!((u.weight - (0.9 * before + 0.1 * u.raw_weight)).abs() < 1e-9);
    assert!((u.raw_weight - u.smoothed_bps / u.normalised_bps).abs() < 1e-9);
    // A jump by far more: 0.8 of the measurement is the least.
    let u = f.interval(0.1e6, 1.0).unwrap();
    assert!((u.conservative_bps - 0.08e6).abs() < 200.0, "{}", u.conservative_bps);
    // After four more alike the scatter is forgotten.
    for _ in 0..3 {
        f.interval(1e6, 1.0);
    }
    let u = f.interval(1e6, 1.0).unwrap();
    assert!((u.conservative_bps - 1e6).abs() < 200.0);
}

#[test]
fn the_buffer_falls_between_requests_and_the_past_is_recomputed() {
    let (mut f, s) = Flow::new(Config::default());
    f.request(0, 0, 0.0, 0.0);
    f.now = Time::from_millis(1_000);
    f.request(1, 3, 3.4, 0.0);
    f.now = Time::from_millis(1_200);
    let u = f.interval(1e5, 1.0).unwrap();
    // 3.4 at the request, half a second ago, and 0.6 for the overhead.
    assert!((u.buffer_s - 2.3).abs() < 1e-9, "{}", u.buffer_s);
    assert_eq!(u.chunk, 1);
    assert!((u.utility.past - s.quality(0)[0]).abs() < 1e-9);
    // Six seconds and a half later, so that half a second of it can have been a stall.
    for _ in 0..13 {
        f.interval(1e5, 1.0);
    }
    f.request(2, 2, 1.0, 0.5);
    let u = f.interval(1e5, 1.0).unwrap();
    let past = s.chunk_qoe(0, 0, 0.0, None) + s.chunk_qoe(1, 3, 0.5, Some(0));
    assert!((u.utility.past - past / 2.0).abs() < 1e-9);
    // The picture stands: the expected stall goes on growing.
    let first = u.utility.current;
    let u = f.interval(1e5, 1.0).unwrap();
    assert!(u.buffer_s < 0.0 || u.utility.current <= first);
}

#[test]
fn with_a_full_buffer_and_after_the_last_chunk_the_weight_stays() {
    let (mut f, s) = Flow::new(Config::default());
    f.request(0, 0, 0.0, 0.0);
    f.request(1, 0, 39.0, 0.0);
    // The chunk is through, and 39 + 4 - 0.6 - 0.5 s are above the cap.
    let before = f.m.weight();
    assert_eq!(f.interval(8e6, 1.0), None);
    assert_eq!(f.m.weight(), before);
    f.request(s.chunks() - 1, 0, 10.0, 0.0);
    assert_eq!(f.interval(1e5, 1.0), None);
    assert_eq!(f.m.weight(), before);
    f.request(s.chunks(), 0, 10.0, 0.0);
    f.request(20, 99, 10.0, 0.0);
    assert_eq!(f.interval(1e5, 1.0), None, "requests for what is not there are ignored");
}

#[test]
fn weights_keep_their_bounds() {
    for (mu, lo, hi) in [(None, 0.5, 20.0), (Some(1.5), 2.0 / 1.5, 3.0), (Some(100.0), 0.5, 20.0)] {
        let config = Config { mu, ..Config::default() };
        let (mut f, _) = Flow::new(config);
        f.request(0, 0, 0.0, 0.0);
        // A stall without end, then plenty.
        for (intervals, rate, bound) in [(24, 0.2e6, hi), (4, 1e3, lo)] {
            for chunk in 1..50 {
                f.request(chunk, 1, 0.5, 500.0);
                for _ in 0..intervals {
                    if let Some(u) = f.interval(rate, 1.0) {
                        assert!(u.weight >= lo && u.weight <= hi, "{u:?}");
                        assert!((0.5..=20.0).contains(&u.raw_weight));
                    }
                }
            }
            assert!((f.m.weight() - bound).abs() < 0.4 * bound, "{} {bound}", f.m.weight());
        }
    }
}

#[test]
fn invented_stalls_and_buffers_reported_too_low_buy_little() {
    let weight = |lie: bool| {
        let (mut f, _) = Flow::new(Config::default());
        f.request(0, 0, 0.0, 0.0);
        for chunk in 1..40 {
            // Delivered in two seconds each: the buffer grows by two.
            let buffer = if lie { 0.0 } else { (2.0 * chunk as f64).min(36.0) };
            f.request(chunk, 3, buffer, if lie { 8.0 * chunk as f64 } else { 0.0 });
            for _ in 0..4 {
                f.interval(2e6, 1.0);
            }
        }
        f.m.weight()
    };
    let (honest, liar) = (weight(false), weight(true));
    assert!(liar < 1.1 * honest, "{liar} instead of {honest}");
}

#[test]
fn updates_come_as_often_as_the_provider_says() {
    for (config, round_trips) in
        [(Config::default(), 25), (Config { interval_round_trips: 10, ..Config::default() }, 10)]
    {
        let (mut f, _) = Flow::new(config);
        f.request(0, 0, 0.0, 0.0);
        f.request(1, 2, 3.4, 0.0);
        f.interval(1e6, 1.0).unwrap();
        let first = f.now;
        f.interval(1e6, 1.0).unwrap();
        assert_eq!(f.now - first, RTT * round_trips);
    }
}

#[test]
fn the_basic_form_reads_the_mean_curve() {
    let (mut f, s) = Flow::new(Config { utility: UtilityKind::Basic, ..Config::default() });
    f.request(0, 0, 0.0, 0.0);
    f.request(1, 2, 3.4, 0.0);
    let u = f.interval(1e6, 1.0).unwrap();
    assert!((u.utility.total - s.view().curve().eval(u.smoothed_bps)).abs() < 1e-9);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn no_weight_grows_while_the_rate_exceeds_the_top_rung(
        i in 0_usize..3,
        chunk in 1_usize..50,
        rung in 0_usize..8,
        buffer_s in 0.0..36.0_f64,
        stalled_s in prop_oneof![Just(0.0), 0.0..40.0_f64],
        factor in 1.0..4.0_f64,
        more in 1.0..3.0_f64,
        basic in any::<bool>(),
    ) {
        let (settings, f) = world(i);
        let utility = if basic { UtilityKind::Basic } else { UtilityKind::ClientAware };
        for s in &settings {
            let top = sustaining_rate_bps(s, s.rungs() - 1);
            let bytes = (top * factor * 0.25 / 8.0) as u64;
            let raw = |busy: f64| {
                let config = Config { utility, ..Config::default() };
                let mut flow = Flow::of(s.clone(), f.clone(), config);
                flow.request(0, 0, 0.0, 0.0);
                flow.request(chunk, rung, buffer_s, stalled_s);
                assert_eq!(flow.event_of(bytes, busy), None);
                flow.event_of(bytes, busy).map(|u| (u.rate_bps, u.raw_weight))
            };
            // The same bytes in less time: were more of the chunk through, the player would hold more,
            // and its own choices may cost it a little then.
            if let (Some((slower, a)), Some((faster, b))) = (raw(1.0), raw(1.0 / more)) {
                prop_assert!(slower >= 0.99 * top && faster >= slower, "{slower} {faster} of {top}");
                prop_assert!(b <= a + 1e-9, "{} at {factor} -> {} times more: {a} -> {b}", s.video().name, more);
            }
        }
    }

    #[test]
    fn more_buffer_is_never_worth_less(
        seed in 0_u64..6,
        chunk in 1_usize..50,
        rung in 0_usize..8,
        buffer_s in 0.0..30.0_f64,
        more_s in 0.0..10.0_f64,
        log_rate in 5.3..6.9_f64,
    ) {
        // On content that does not vary, a plan for a small buffer is one for a larger one too.
        let half = 2e5 + 1e5 * seed as f64;
        let s = setting(synthetic::flat("flat", 60, half));
        let value = OnDemand::new(s.clone(), abr(), 5);
        let u = |buffer_s: f64| {
            let d = Download { chunk, rung, previous: Some(rung), left_bits: 1e6, buffer_s, past_qoe: 50.0 };
            client_aware(&s, &value, &d, 10_f64.powf(log_rate), &Blend::default()).unwrap()
        };
        let (a, b) = (u(buffer_s), u(buffer_s + more_s));
        prop_assert!(b.current >= a.current);
        // The player replans at every chunk, so that its own choices may cost it a little.
        prop_assert!(b.value >= a.value - 12.0, "{a:?} {b:?}");
    }
}
