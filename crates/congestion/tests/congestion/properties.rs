//! What holds for every controller whatever happens to it.

use std::time::Duration;

use airlane_base::{Rate, Seed, Time};
use airlane_congestion::{
    Ack, Algorithm, Controller, ControllerConfig, Cubic, CubicConfig, Limit, Loss, LossCause,
    Marked, RateSampler, Rtt, Sent, WeightRule,
};
use proptest::prelude::*;

const MTU: u64 = 1350;

/// Something that a transport may tell a controller, sensible or not.
#[derive(Clone, Debug)]
enum Step {
    Send(u8),
    Ack { skip: u8, count: u8, app_limited: bool },
    Lose { skip: u8, count: u8 },
    Wait(u32),
    Persistent,
    Spurious,
    Mtu(u16),
    Weight(f64),
    Mark,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0u8..40).prop_map(Step::Send),
        8 => (0u8..4, 0u8..30, prop::bool::weighted(0.2))
            .prop_map(|(skip, count, app_limited)| Step::Ack { skip, count, app_limited }),
        3 => (0u8..4, 0u8..20).prop_map(|(skip, count)| Step::Lose { skip, count }),
        6 => (0u32..2_000_000).prop_map(Step::Wait),
        1 => Just(Step::Persistent),
        1 => Just(Step::Spurious),
        1 => Just(Step::Mark),
        1 => (0u16..9_000).prop_map(Step::Mtu),
        2 => prop_oneof![
            0.05f64..30.0, Just(f64::NAN), Just(f64::INFINITY), Just(-1.0), Just(0.0), Just(1.0)
        ].prop_map(Step::Weight),
    ]
}

/// A transport that does what it is told.
struct Driver {
    now: Time,
    next: u64,
    open: Vec<(u64, Time)>,
    mtu: u64,
    sampler: RateSampler,
    min_rtt: Duration,
}

impl Driver {
    fn new() -> Self {
        Self {
            now: Time::from_millis(1),
            next: 0,
            open: Vec::new(),
            mtu: MTU,
            sampler: RateSampler::new(),
            min_rtt: Duration::MAX,
        }
    }

    fn in_flight(&self) -> u64 {
        self.open.len() as u64 * MTU
    }

    fn take(&mut self, skip: u8, count: u8) -> Vec<(u64, Time)> {
        let from = usize::from(skip).min(self.open.len());
        let to = (from + usize::from(count)).min(self.open.len());
        self.open.drain(from..to).collect()
    }

    fn apply(&mut self, controller: &mut dyn Controller, step: &Step) {
        let now = self.now;
        match *step {
            Step::Send(count) => {
                for _ in 0..count {
                    let pn = self.next;
                    self.next += 1;
                    self.open.push((pn, now));
                    let in_flight = self.in_flight();
                    self.sampler.on_sent(now, pn, MTU, in_flight);
                    controller.on_sent(&Sent { now, pn, bytes: MTU, in_flight });
                }
            }
            Step::Ack { skip, count, app_limited } => {
                for (pn, sent_at) in self.take(skip, count) {
                    let latest = now - sent_at;
                    self.min_rtt = self.min_rtt.min(latest);
                    let rtt = Rtt { latest, smoothed: latest, min: self.min_rtt };
                    let sample = self.sampler.on_ack(now, pn, MTU, self.min_rtt);
                    let in_flight = self.in_flight();
                    controller.on_ack(&Ack {
                        now,
                        pn,
                        bytes: MTU,
                        sent_at,
                        in_flight,
                        limit: if app_limited { Limit::Application } else { Limit::Window },
                        rtt,
                        sample,
                    });
                }
                controller.on_ack_end(now, self.in_flight());
            }
            Step::Lose { skip, count } => {
                for (pn, sent_at) in self.take(skip, count) {
                    self.sampler.on_loss(pn);
                    let in_flight = self.in_flight();
                    controller.on_loss(&Loss {
                        now,
                        pn,
                        bytes: MTU,
                        sent_at,
                        in_flight,
                        cause: LossCause::Reordering,
                    });
                }
            }
            Step::Wait(micros) => self.now += Duration::from_micros(micros.into()),
            Step::Persistent => controller.on_persistent_congestion(now),
            Step::Spurious => controller.on_spurious_loss(now),
            Step::Mtu(bytes) => {
                self.mtu = u64::from(bytes).max(1);
                controller.on_mtu(now, bytes.into());
            }
            Step::Weight(weight) => {
                controller.set_weight(now, weight);
            }
            Step::Mark => {
                if let Some((pn, sent_at)) = self.open.first().copied() {
                    let in_flight = self.in_flight();
                    controller.on_marked(&Marked { now, pn, sent_at, in_flight, packets: 1 });
                }
            }
        }
    }
}

fn config(algorithm: Algorithm, rule: WeightRule) -> ControllerConfig {
    match algorithm {
        Algorithm::Cubic => ControllerConfig::Cubic(CubicConfig { rule, ..CubicConfig::default() }),
        other => ControllerConfig::new(other),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn windows_stay_finite_and_above_the_least(
        steps in prop::collection::vec(step(), 1..120),
        textbook: bool,
        seed: u64,
    ) {
        let rule = if textbook { WeightRule::Textbook } else { WeightRule::Synchronised };
        for algorithm in Algorithm::ALL {
            let mut controller = config(algorithm, rule).build(Time::ZERO, MTU, Seed(seed));
            let mut driver = Driver::new();
            for step in &steps {
                driver.apply(controller.as_mut(), step);
                let window = controller.window();
                prop_assert!(window >= driver.mtu, "{algorithm}: {window} after {step:?}");
                prop_assert!(window <= 1 << 42, "{algorithm}: {window} after {step:?}");
                if let Some(rate) = controller.pacing_rate() {
                    prop_assert!(rate > Rate::ZERO, "{algorithm} after {step:?}");
                }
                prop_assert!(controller.weight().is_finite() && controller.weight() > 0.0);
            }
        }
    }

    #[test]
    fn weight_one_is_a_plain_flow_under_either_rule(
        steps in prop::collection::vec(step(), 1..120),
    ) {
        // The textbook's formulas at w = 1 are RFC 9438's by construction.
        let build = |rule| {
            Cubic::new(CubicConfig { rule, ..CubicConfig::default() }, Time::ZERO, MTU)
        };
        let (mut a, mut b) = (build(WeightRule::Synchronised), build(WeightRule::Textbook));
        let (mut da, mut db) = (Driver::new(), Driver::new());
        for step in steps.iter().filter(|s| !matches!(s, Step::Weight(_))) {
            da.apply(&mut a, step);
            db.apply(&mut b, step);
            prop_assert_eq!(a.window(), b.window());
            prop_assert_eq!(a.pacing_rate(), b.pacing_rate());
        }
    }

    #[test]
    fn acknowledgements_never_shrink_a_loss_based_window(
        steps in prop::collection::vec(step(), 1..120),
    ) {
        for algorithm in [Algorithm::Reno, Algorithm::Cubic] {
            let mut controller =
                config(algorithm, WeightRule::Synchronised).build(Time::ZERO, MTU, Seed(1));
            let mut driver = Driver::new();
            for step in &steps {
                let before = controller.window();
                driver.apply(controller.as_mut(), step);
                if matches!(step, Step::Ack { .. }) {
                    prop_assert!(controller.window() >= before);
                }
            }
        }
    }
}

/// Sends and acknowledges one full window per round trip for `rounds`.
fn grow(driver: &mut Driver, controller: &mut dyn Controller, rounds: u32, rtt: Duration) {
    for _ in 0..rounds {
        let count = controller.window() / MTU;
        for _ in 0..count {
            driver.apply(controller, &Step::Send(1));
        }
        driver.now += rtt;
        for _ in 0..count {
            driver.apply(controller, &Step::Ack { skip: 0, count: 1, app_limited: false });
        }
    }
}

#[test]
fn slow_start_doubles_and_an_unused_window_stays() {
    let rtt = Duration::from_millis(50);
    for algorithm in [Algorithm::Reno, Algorithm::Cubic] {
        let mut c = ControllerConfig::new(algorithm).build(Time::ZERO, MTU, Seed(1));
        let mut d = Driver::new();
        grow(&mut d, c.as_mut(), 3, rtt);
        assert_eq!(c.window(), 80 * MTU, "{algorithm}");
        for _ in 0..20 {
            d.apply(c.as_mut(), &Step::Send(5));
            d.now += rtt;
            d.apply(c.as_mut(), &Step::Ack { skip: 0, count: 5, app_limited: true });
        }
        assert_eq!(c.window(), 80 * MTU, "{algorithm}: application-limited");
    }
}

#[test]
fn the_losses_of_one_flight_are_one_event_and_the_window_survives_idle_time() {
    let rtt = Duration::from_millis(50);
    for (algorithm, kept) in [(Algorithm::Reno, 0.5), (Algorithm::Cubic, 0.7)] {
        let mut c = ControllerConfig::new(algorithm).build(Time::ZERO, MTU, Seed(1));
        let mut d = Driver::new();
        grow(&mut d, c.as_mut(), 3, rtt);
        d.apply(c.as_mut(), &Step::Send(80));
        d.apply(c.as_mut(), &Step::Lose { skip: 0, count: 10 });
        d.apply(c.as_mut(), &Step::Lose { skip: 3, count: 10 });
        let window = c.window();
        assert!((window as f64 / (80.0 * MTU as f64) - kept).abs() < 1e-3, "{algorithm}");
        // Acknowledgements of packets from before the event do not grow it.
        d.now += rtt;
        d.apply(c.as_mut(), &Step::Ack { skip: 0, count: 60, app_limited: false });
        assert_eq!(c.window(), window, "{algorithm}");
        // Ten idle minutes neither shrink the window nor let the cubic clock run.
        d.now += Duration::from_secs(600);
        assert_eq!(c.window(), window, "{algorithm}");
        grow(&mut d, c.as_mut(), 1, rtt);
        let grown = c.window() - window;
        assert!(grown <= 8 * MTU, "{algorithm}: {grown} bytes in the round after idle time");
        assert!(grown > 0, "{algorithm}");
    }
}

#[test]
fn a_spurious_event_is_undone_once() {
    let rtt = Duration::from_millis(50);
    for algorithm in [Algorithm::Reno, Algorithm::Cubic] {
        let mut c = ControllerConfig::new(algorithm).build(Time::ZERO, MTU, Seed(1));
        let mut d = Driver::new();
        grow(&mut d, c.as_mut(), 3, rtt);
        d.apply(c.as_mut(), &Step::Send(80));
        let (window, threshold) = (c.window(), c.ssthresh());
        d.apply(c.as_mut(), &Step::Lose { skip: 0, count: 3 });
        assert!(c.window() < window);
        d.apply(c.as_mut(), &Step::Spurious);
        assert_eq!((c.window(), c.ssthresh()), (window, threshold), "{algorithm}");
        d.apply(c.as_mut(), &Step::Lose { skip: 0, count: 1 });
        d.apply(c.as_mut(), &Step::Persistent);
        let least = c.window();
        assert_eq!(least, 2 * MTU);
        d.apply(c.as_mut(), &Step::Spurious);
        assert_eq!(c.window(), least, "{algorithm}: what is gone is gone");
    }
}

#[test]
fn a_new_weight_scales_the_window_at_once_and_back() {
    let rtt = Duration::from_millis(50);
    let mut c = ControllerConfig::cubic(1.0).build(Time::ZERO, MTU, Seed(1));
    let mut d = Driver::new();
    c.set_weight(d.now, 2.0);
    assert_eq!(c.window(), (10.0 * MTU as f64 - 0.5 * MTU as f64) as u64, "the initial window");
    c.set_weight(d.now, 1.0);
    grow(&mut d, c.as_mut(), 3, rtt);
    let (window, rate) = (c.window(), c.pacing_rate().expect("paced"));
    c.set_weight(d.now, 3.0);
    // Three flows of 80 packets; whole-packet gates cost three such flows a packet more.
    assert_eq!(c.window(), 3 * window - MTU);
    assert!((c.pacing_rate().expect("paced").as_f64() / rate.as_f64() - 3.0).abs() < 1e-6);
    c.set_weight(d.now, 1.0);
    assert_eq!(c.window(), window);
}

#[test]
fn below_two_packets_the_pacer_carries_the_rate() {
    let rtt = Duration::from_millis(50);
    let mut c = ControllerConfig::cubic(0.5).build(Time::ZERO, MTU, Seed(1));
    let mut d = Driver::new();
    grow(&mut d, c.as_mut(), 1, rtt);
    d.apply(c.as_mut(), &Step::Send(10));
    d.apply(c.as_mut(), &Step::Lose { skip: 0, count: 1 });
    c.on_persistent_congestion(d.now);
    d.apply(c.as_mut(), &Step::Send(1));
    for _ in 0..3 {
        d.apply(c.as_mut(), &Step::Lose { skip: 0, count: 40 });
        d.apply(c.as_mut(), &Step::Send(1));
    }
    let rate = c.pacing_rate().expect("paced").as_f64();
    let packet_per_rtt = MTU as f64 * 8.0 / rtt.as_secs_f64();
    assert!((0.99..=2.0).contains(&(rate / packet_per_rtt)), "{rate}");
    assert_eq!(c.window(), 2 * MTU);
}

#[test]
fn the_explicit_rate_is_set_through_the_trait() {
    let mut c = ControllerConfig::new(Algorithm::Explicit).build(Time::ZERO, MTU, Seed(1));
    assert!(c.set_rate(Time::ZERO, Rate::from_mbps(7.0)));
    assert_eq!(c.pacing_rate(), Some(Rate::from_mbps(7.0)));
}

#[test]
fn a_mark_is_answered_as_a_loss_is_and_once_per_flight() {
    for algorithm in [Algorithm::Reno, Algorithm::Cubic, Algorithm::Fast, Algorithm::Bbr] {
        let full = || {
            let mut d = Driver::new();
            let mut c = config(algorithm, WeightRule::Synchronised).build(Time::ZERO, MTU, Seed(1));
            for _ in 0..6 {
                while d.in_flight() + MTU <= c.window() {
                    d.apply(c.as_mut(), &Step::Send(1));
                }
                d.apply(c.as_mut(), &Step::Wait(20_000));
                d.apply(c.as_mut(), &Step::Ack { skip: 0, count: 200, app_limited: false });
            }
            while d.in_flight() + MTU <= c.window() {
                d.apply(c.as_mut(), &Step::Send(1));
            }
            (d, c)
        };
        let (mut marked, mut by_mark) = full();
        let before = by_mark.window();
        // The packet that is lost in one run is the one that is marked in the other.
        let (pn, sent_at) = marked.open[0];
        let in_flight = marked.in_flight() - MTU;
        by_mark.on_marked(&Marked { now: marked.now, pn, sent_at, in_flight, packets: 1 });
        let (mut lost, mut by_loss) = full();
        lost.apply(by_loss.as_mut(), &Step::Lose { skip: 0, count: 1 });
        let after = by_mark.window();
        assert_eq!(after, by_loss.window(), "{algorithm}");
        assert!(algorithm == Algorithm::Bbr || after < before, "{algorithm}: {after} of {before}");
        // The rest of that flight belongs to the same event.
        for (pn, sent_at) in marked.open.clone() {
            by_mark.on_marked(&Marked { now: marked.now, pn, sent_at, in_flight, packets: 1 });
        }
        assert_eq!(by_mark.window(), after, "{algorithm}");
        // What was marked is never undone.
        marked.apply(by_mark.as_mut(), &Step::Spurious);
        assert!(algorithm == Algorithm::Bbr || by_mark.window() == after, "{algorithm}");
    }
}
