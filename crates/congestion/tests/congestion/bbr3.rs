//! BBR version 3, told round by round what became of its packets.

use std::time::Duration;

use airlane_base::{Rate, Seed, Time};
use airlane_congestion::{
    Ack, Algorithm, Controller, ControllerConfig, Limit, Loss, LossCause, Marked, RateSample, Rtt,
    Sent,
};

const MTU: u64 = 1200;
const RTT: Duration = Duration::from_millis(50);
/// Packets of a round trip.
const PACKETS: u64 = 50;
const MBPS: f64 = 10.0;
const STARTUP: f64 = 2.77;

/// Fate of the packets of a round trip.
#[derive(Clone, Copy)]
struct Round {
    /// Delivery rate that each packet measures.
    mbps: f64,
    app_limited: bool,
    /// Number of lost packets: one of each two if `apart`, else one behind the other.
    lost: u64,
    apart: bool,
    /// Packets that a queue drops on purpose, and packets that come marked.
    dropped: u64,
    marked: u64,
}

/// A round trip at the rate of the path, in which all packets arrive.
const GOOD: Round =
    Round { mbps: MBPS, app_limited: false, lost: 0, apart: true, dropped: 0, marked: 0 };

/// A sender of [`PACKETS`] packets per round trip, acknowledged at once.
struct Driven {
    bbr: Box<dyn Controller>,
    now: Time,
    pn: u64,
    delivered: u64,
}

impl Driven {
    fn new() -> Self {
        let bbr = ControllerConfig::new(Algorithm::Bbr3).build(Time::ZERO, MTU, Seed(1));
        Self { bbr, now: Time::ZERO, pn: 0, delivered: 0 }
    }

    /// One that has filled the path, and now cruises.
    fn cruising() -> Self {
        let mut driven = Self::new();
        (0..10).for_each(|_| driven.round(GOOD));
        assert!(driven.bbr.has_filled_path());
        assert_eq!(driven.gain(), 1.0);
        driven
    }

    /// One that has begun to probe, after the round trip that fills the path.
    fn probing() -> Self {
        let mut driven = Self::cruising();
        for _ in 0..60 {
            if driven.gain() == 1.25 {
                return driven;
            }
            driven.round(GOOD);
        }
        panic!("no probe within three seconds");
    }

    fn send(&mut self) {
        for i in 1..=PACKETS {
            let (now, pn, in_flight) = (self.now, self.pn, i * MTU);
            self.bbr.on_sent(&Sent { now, pn, bytes: MTU, in_flight });
            self.pn += 1;
        }
    }

    fn round(&mut self, round: Round) {
        let (first, sent_at, prior_delivered) = (self.pn, self.now, self.delivered);
        self.send();
        self.now += RTT;
        let (now, bytes) = (self.now, MTU);
        // From the last one on: they left with the most in flight.
        let step = if round.apart { 2 } else { 1 };
        let is_lost = |i: u64| {
            let later = PACKETS - 1 - i;
            later.is_multiple_of(step) && later / step < round.lost
        };
        let mut in_flight = PACKETS * MTU;
        let arrived = (0..PACKETS).filter(|&i| !is_lost(i)).skip(round.dropped as usize);
        for i in arrived {
            in_flight -= MTU;
            self.delivered += MTU;
            self.bbr.on_ack(&Ack {
                now,
                pn: first + i,
                bytes,
                sent_at,
                in_flight,
                limit: Limit::Window,
                rtt: Rtt { latest: RTT, smoothed: RTT, min: RTT },
                sample: Some(RateSample {
                    rate: Rate::from_mbps(round.mbps),
                    prior_delivered,
                    delivered: self.delivered,
                    app_limited: round.app_limited,
                }),
            });
        }
        self.bbr.on_ack_end(now, in_flight);
        for i in (0..PACKETS).filter(|&i| is_lost(i)) {
            in_flight -= MTU;
            let (pn, cause) = (first + i, LossCause::Reordering);
            self.bbr.on_loss(&Loss { now, pn, bytes, sent_at, in_flight, cause });
        }
        (0..round.dropped).for_each(|_| self.bbr.on_dropped(now));
        if round.marked > 0 {
            let (pn, packets) = (self.pn - 1, round.marked);
            self.bbr.on_marked(&Marked { now, pn, sent_at, in_flight: 0, packets });
        }
    }

    fn mbps(&self) -> f64 {
        self.bbr.bandwidth().unwrap().mbps()
    }

    /// Pacing gain, to two decimals: the rate at which packets leave, in bandwidths less one percent.
    fn gain(&self) -> f64 {
        let gain = self.bbr.pacing_rate().unwrap().mbps() / self.mbps() / 0.99;
        (gain * 100.0).round() / 100.0
    }

    /// Window in bandwidth-delay products of the path.
    fn window_bdp(&self) -> f64 {
        self.bbr.window() as f64 * 8.0 / (MBPS * 1e6 * RTT.as_secs_f64())
    }
}

#[test]
fn startup_ends_after_three_rounds_without_growth() {
    let mut driven = Driven::new();
    // A quarter more is growth, and ten times eight percent more are as well.
    let slowly = (1..=10).map(|i| MBPS / 2.0 * 1.08f64.powi(i));
    for mbps in [2.0, 4.0, MBPS / 2.0].into_iter().chain(slowly) {
        driven.round(Round { mbps, ..GOOD });
        assert_eq!(driven.gain(), STARTUP, "{mbps}");
        assert!(!driven.bbr.has_filled_path());
    }
    driven.round(Round { mbps: 1.3 * MBPS, ..GOOD });
    (0..2).for_each(|_| driven.round(GOOD));
    assert!(!driven.bbr.has_filled_path());
    driven.round(GOOD);
    assert!(driven.bbr.has_filled_path());
}

#[test]
fn startup_lasts_while_the_application_is_the_limit_and_nothing_is_lost() {
    let mut driven = Driven::new();
    (0..80).for_each(|_| driven.round(Round { app_limited: true, ..GOOD }));
    assert!(!driven.bbr.has_filled_path());
    assert_eq!(driven.gain(), STARTUP);
}

#[test]
fn startup_ends_by_losses_whoever_limits_the_samples() {
    let limited = Round { app_limited: true, ..GOOD };
    let lossy = [
        (Round { lost: 6, ..limited }, true),
        // Too few ranges of packets: bursts are not the path's capacity.
        (Round { lost: 5, ..limited }, false),
        (Round { lost: 12, apart: false, ..limited }, false),
        (Round { dropped: 6, ..limited }, true),
        (Round { dropped: 5, ..limited }, false),
    ];
    for (i, (round, ends)) in lossy.into_iter().enumerate() {
        let mut driven = Driven::new();
        (0..5).for_each(|_| driven.round(limited));
        driven.round(round);
        assert!(!driven.bbr.has_filled_path(), "case {i}: a round trip has to pass");
        driven.round(round);
        assert_eq!(driven.bbr.has_filled_path(), ends, "case {i}");
    }
}

#[test]
fn spurious_losses_take_startup_up_again() {
    let mut driven = Driven::new();
    let limited = Round { app_limited: true, ..GOOD };
    driven.round(limited);
    driven.round(Round { lost: 8, ..limited });
    driven.round(limited);
    assert!(driven.bbr.has_filled_path());
    driven.bbr.on_spurious_loss(driven.now);
    assert!(!driven.bbr.has_filled_path());
    driven.round(Round { mbps: 2.0 * MBPS, ..limited });
    assert_eq!(driven.gain(), STARTUP);
}

#[test]
fn drain_ends_by_time_where_the_flight_does_not_fall() {
    let mut driven = Driven::new();
    (0..3).for_each(|_| driven.round(GOOD));
    // But the first, the packets of a round are never acknowledged: the flight stays above the path's capacity.
    let mut gains = Vec::new();
    for _ in 0..6 {
        let (pn, sent_at, prior_delivered) = (driven.pn, driven.now, driven.delivered);
        driven.send();
        driven.now += RTT;
        driven.delivered += MTU;
        let (now, in_flight) = (driven.now, 3 * PACKETS * MTU);
        driven.bbr.on_ack(&Ack {
            now,
            pn,
            bytes: MTU,
            sent_at,
            in_flight,
            limit: Limit::Window,
            rtt: Rtt { latest: RTT, smoothed: RTT, min: RTT },
            sample: Some(RateSample {
                rate: Rate::from_mbps(MBPS),
                prior_delivered,
                delivered: driven.delivered,
                app_limited: false,
            }),
        });
        driven.bbr.on_ack_end(now, in_flight);
        gains.push(driven.gain());
    }
    assert_eq!(gains, [0.5, 0.5, 0.5, 0.5, 0.9, 0.9]);
}

#[test]
fn what_the_application_limits_does_not_lower_the_bandwidth_but_may_raise_it() {
    let mut driven = Driven::cruising();
    for _ in 0..200 {
        driven.round(Round { mbps: 1.0, app_limited: true, ..GOOD });
        assert_eq!(driven.mbps(), MBPS);
    }
    driven.round(Round { mbps: 12.0, app_limited: true, ..GOOD });
    assert_eq!(driven.mbps(), 12.0);
}

#[test]
fn a_lower_bandwidth_is_believed_after_two_cycles() {
    let mut driven = Driven::cruising();
    let mut rounds = 0;
    while driven.mbps() > 1.0 {
        driven.round(Round { mbps: 1.0, ..GOOD });
        rounds += 1;
        assert!(rounds < 200, "{} Mbit/s", driven.mbps());
    }
    // At least one cycle of two seconds, at most two of three, each with a probe.
    assert!((40..150).contains(&rounds), "{rounds}");
}

#[test]
fn losses_while_it_cruises_bring_rate_and_window_down_to_what_arrives_and_no_faster_than_cubic() {
    let mut driven = Driven::cruising();
    let before = driven.bbr.window() as f64;
    driven.round(Round { lost: 2, ..GOOD });
    driven.round(GOOD);
    assert_eq!(driven.mbps(), MBPS, "as much arrives as did");
    let kept = driven.bbr.window() as f64 / before;
    assert!((kept - 0.7).abs() < 0.02, "{kept}");
    let slow = Round { mbps: 5.0, lost: 2, ..GOOD };
    driven.round(slow);
    driven.round(slow);
    assert!((driven.mbps() - 7.0).abs() < 1e-6, "{}", driven.mbps());
    driven.round(slow);
    assert!((driven.mbps() - 5.0).abs() < 1e-6, "{}", driven.mbps());
    assert!(driven.window_bdp() >= 0.95, "{}", driven.window_bdp());
    // The next probe starts without memory of them.
    for _ in 0..60 {
        driven.round(Round { mbps: 5.0, ..GOOD });
    }
    assert_eq!(driven.mbps(), MBPS);
}

#[test]
fn marks_are_answered_as_losses_are_but_never_undone() {
    let slow = Round { mbps: 5.0, ..GOOD };
    let [lost, marked] =
        [Round { lost: 2, ..slow }, Round { marked: 2, ..slow }].map(|congested| {
            let mut driven = Driven::cruising();
            driven.round(congested);
            driven.round(slow);
            let reduced = driven.mbps();
            driven.bbr.on_spurious_loss(driven.now);
            [reduced, driven.mbps()].map(f64::round)
        });
    assert_eq!((lost, marked), ([7.0, MBPS], [7.0, 7.0]));
}

#[test]
fn a_probe_ends_by_more_losses_than_two_percent_and_bounds_what_is_in_flight() {
    for marked in [false, true] {
        // One of fifty is two percent.
        for (n, goes_on) in [(0, true), (1, true), (2, false)] {
            let mut driven = Driven::probing();
            let lost = Round { lost: n, ..GOOD };
            driven.round(if marked { Round { marked: n, lost: 0, ..lost } } else { lost });
            driven.round(GOOD);
            assert_eq!(driven.gain() == 1.25, goes_on, "{n} of fifty, marked: {marked}");
            (0..10).for_each(|_| driven.round(GOOD));
            // Fifty packets were in flight, of which it leaves 15 % free.
            let bound = 0.85 * PACKETS as f64 * MTU as f64;
            let window = driven.bbr.window() as f64;
            assert_eq!(window > bound, goes_on, "{n} of fifty: {window} bytes of {bound}");
            assert!(window > 0.9 * bound, "{n} of fifty: {window} bytes of {bound}");
        }
    }
}

#[test]
fn spurious_losses_take_a_probe_up_again() {
    let mut driven = Driven::probing();
    let before = driven.bbr.window();
    driven.round(Round { lost: 4, ..GOOD });
    driven.bbr.on_spurious_loss(driven.now);
    driven.round(GOOD);
    assert_eq!(driven.gain(), 1.25);
    assert!(driven.bbr.window() >= before, "{} of {before}", driven.bbr.window());
    // Only once.
    driven.round(Round { lost: 4, ..GOOD });
    driven.bbr.on_spurious_loss(driven.now);
    let window = driven.bbr.window();
    driven.bbr.on_spurious_loss(driven.now);
    assert_eq!(driven.bbr.window(), window);
}

#[test]
fn persistent_congestion_leaves_a_packet_beyond_the_flight() {
    let mut driven = Driven::cruising();
    let before = driven.bbr.window();
    driven.send();
    driven.now += RTT;
    let (now, cause) = (driven.now, LossCause::Late);
    for i in 0..PACKETS {
        let (pn, in_flight) = (driven.pn - PACKETS + i, (PACKETS - 1 - i) * MTU);
        driven.bbr.on_loss(&Loss { now, pn, bytes: MTU, sent_at: now - RTT, in_flight, cause });
    }
    driven.bbr.on_persistent_congestion(now);
    assert_eq!(driven.bbr.window(), MTU);
    // Once packets arrive again, the window of before comes back as far as the model allows it.
    (0..3).for_each(|_| driven.round(GOOD));
    assert!(driven.bbr.window() > before / 2, "{} of {before}", driven.bbr.window());
}

#[test]
fn numbers_of_any_size_leave_a_window_and_a_rate() {
    let sizes = [0, 1, MTU, u64::MAX / 2, u64::MAX];
    let times = [Duration::ZERO, RTT, Duration::MAX];
    let mut driven = Driven::new();
    let mut pn = 0;
    for (i, &a) in sizes.iter().enumerate() {
        for &b in &sizes {
            for latest in times {
                let bbr = &mut driven.bbr;
                driven.now += Duration::from_millis(700);
                let (now, sent_at, cause) = (driven.now, Time::ZERO, LossCause::Late);
                bbr.on_sent(&Sent { now, pn, bytes: a, in_flight: b });
                bbr.on_sent(&Sent { now, pn: pn + 1, bytes: b, in_flight: a });
                bbr.on_ack(&Ack {
                    now,
                    pn,
                    bytes: a,
                    sent_at,
                    in_flight: b,
                    limit: Limit::Window,
                    rtt: Rtt { latest, smoothed: latest, min: latest },
                    sample: Some(RateSample {
                        rate: Rate::from_bps(b),
                        prior_delivered: a,
                        delivered: b,
                        app_limited: i % 2 == 1,
                    }),
                });
                bbr.on_ack_end(now, b);
                let loss = Loss { now, pn: pn + 1, bytes: b, sent_at, in_flight: a, cause };
                bbr.on_loss(&loss);
                bbr.on_marked(&Marked { now, pn, sent_at, in_flight: a, packets: b });
                if pn % 3 == 0 {
                    bbr.on_spurious_loss(now);
                    bbr.on_persistent_congestion(now);
                }
                bbr.on_mtu(now, a.min(9_000));
                let window = bbr.window();
                assert!((1..=1 << 40).contains(&window), "{window} after {a}, {b}, {latest:?}");
                assert!(bbr.pacing_rate() > Some(Rate::ZERO), "after {a}, {b}, {latest:?}");
                pn += 2;
            }
        }
    }
}
