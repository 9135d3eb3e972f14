//! Cupid's sender: it obeys reports, lets another controller decide without them or when the bottleneck is
//! elsewhere, and comes back.

use std::time::Duration;

use airlane_base::{Rate, Seed, Time};
use airlane_congestion::{
    Ack, Algorithm, Controller, ControllerConfig, Cupid, Fallback, Grant, Limit, Rtt, Sent, Signal,
};
use airlane_cupid::RuleKind;

use crate::harness::{Air, Discipline, Flow, Outcome, PACKET_BYTES, Scene, run};

const RTT: Duration = Duration::from_millis(20);

fn service(mbps: f64) -> Duration {
    Duration::from_secs_f64((PACKET_BYTES + 28) as f64 * 8.0 / (mbps * 1e6))
}

/// A link of so many Mbit/s of IP packets, with a queue of so many bandwidth-delay products.
fn scene(mbps: f64, bdp: f64, seconds: u64) -> Scene {
    let service = service(mbps);
    Scene {
        discipline: Discipline::DropTail((RTT.div_duration_f64(service) * bdp).ceil() as usize),
        service,
        jitter: 1.0,
        duration: Duration::from_secs(seconds),
        warmup: Duration::from_secs(2),
        seed: Seed(1),
    }
}

/// What the link carries of payload.
fn payload(mbps: f64) -> Rate {
    Rate::of(PACKET_BYTES, service(mbps))
}

fn cupid(fallback: Fallback, air: Air, id: usize) -> Flow {
    let config = ControllerConfig::Cupid { fallback, weight: 1.0 };
    let mut flow = Flow::new(config.build(Time::ZERO, PACKET_BYTES, Seed(id as u64)), RTT);
    flow.reports = Some(air.reports(id, Seed(7)));
    flow
}

fn plain(algorithm: Algorithm) -> Flow {
    Flow::new(ControllerConfig::new(algorithm).build(Time::ZERO, PACKET_BYTES, Seed(9)), RTT)
}

/// Mbit/s of payload of a flow between two times, in seconds.
fn mbps(out: &Outcome, flow: usize, from: f64, to: f64) -> f64 {
    let bins = &out.flows[flow].bins;
    let of = |at: f64| ((at * 10.0).round() as usize).min(bins.len());
    let packets: u32 = bins[of(from)..of(to)].iter().sum();
    f64::from(packets) * PACKET_BYTES as f64 * 8.0 / (to - from) / 1e6
}

/// Of what the first flow sent the part that was lost.
fn lost(out: &Outcome) -> f64 {
    let flow = &out.flows[0];
    flow.lost as f64 / (flow.lost + flow.packets) as f64
}

fn jain(rates: &[f64]) -> f64 {
    let squares = rates.iter().map(|r| r * r).sum::<f64>();
    rates.iter().sum::<f64>().powi(2) / (rates.len() as f64 * squares)
}

#[test]
fn flows_share_eta_of_the_link_and_hardly_wait() {
    for count in [1, 2, 4] {
        for loss in [0.0, 0.3] {
            let air = Air { loss, ..Air::new(payload(50.0), RuleKind::Default) };
            let flows = (0..count).map(|i| {
                let mut flow = cupid(Fallback::Cubic, air, i);
                flow.start = Time::from_millis(300 * i as u64);
                flow
            });
            let out = run(&scene(50.0, 4.0, 12), flows.collect());
            let rates: Vec<f64> = (0..count).map(|i| mbps(&out, i, 2.0, 12.0)).collect();
            let used = out.link.utilisation;
            let wait = out.link.mean_sojourn.as_secs_f64() * 1e3;
            println!("{count} flows, {loss}: {used:.3}, {wait:.1} ms, {:.4}", jain(&rates));
            assert!((0.75..0.85).contains(&used), "{count}, {loss}: {used}");
            assert!(jain(&rates) > 0.98 && wait < 2.0, "{count}, {loss}: {rates:?} {wait}");
        }
    }
}

#[test]
fn a_late_joiner_has_its_part_within_a_second() {
    let air = Air::new(payload(50.0), RuleKind::Default);
    let flows = (0..3).map(|i| {
        let mut flow = cupid(Fallback::Cubic, air, i);
        flow.start = Time::from_millis(4_000 * i as u64);
        flow
    });
    let out = run(&scene(50.0, 4.0, 12), flows.collect());
    for (present, from) in [(2, 5.0), (3, 9.0)] {
        let rates: Vec<f64> = (0..present).map(|i| mbps(&out, i, from, from + 2.0)).collect();
        assert!(jain(&rates) > 0.98, "{present}: {rates:?}");
    }
}

#[test]
fn when_reports_stop_the_fallback_goes_on_and_comes_back_without_a_swing() {
    for fallback in [Fallback::Cubic, Fallback::Bbr] {
        let silent = (Time::from_millis(4_000), Time::from_millis(8_000));
        let air = Air { silent, ..Air::new(payload(50.0), RuleKind::Default) };
        let out = run(&scene(50.0, 1.0, 12), vec![cupid(fallback, air, 0)]);
        let (before, without, after) =
            (mbps(&out, 0, 2.0, 4.0), mbps(&out, 0, 6.0, 8.0), mbps(&out, 0, 8.5, 12.0));
        println!("{fallback:?}: {before:.1} {without:.1} {after:.1}");
        let eta = 0.8 * payload(50.0).mbps();
        assert!((before / eta - 1.0).abs() < 0.05, "{before}");
        assert!(without > 1.1 * eta, "{fallback:?} takes the whole link: {without}");
        assert!((after / eta - 1.0).abs() < 0.05, "{after}");
        for bin in 40..120 {
            let rate = mbps(&out, 0, f64::from(bin) / 10.0, f64::from(bin + 1) / 10.0);
            assert!(rate > 0.6 * eta, "{fallback:?}: {rate:.1} at {bin}");
        }
    }
}

#[test]
fn a_bottleneck_elsewhere_is_found_and_left_to_the_fallback() {
    for fallback in [Fallback::Cubic, Fallback::Bbr] {
        // The air would carry ten times what the wire does.
        let air = Air::new(payload(200.0), RuleKind::Default);
        let out = run(&scene(20.0, 1.0, 30), vec![cupid(fallback, air, 0)]);
        let algorithm = match fallback {
            Fallback::Cubic => Algorithm::Cubic,
            Fallback::Bbr => Algorithm::Bbr,
        };
        let alone = run(&scene(20.0, 1.0, 30), vec![plain(algorithm)]);
        let (lost, usual) = (lost(&out), lost(&alone));
        println!("{fallback:?}: {:.3} {lost:.4} {usual:.4}", out.link.utilisation);
        assert!(out.link.utilisation > 0.9, "{}", out.link.utilisation);
        assert!(lost < 2.0 * usual + 0.001, "{fallback:?} loses {lost}, alone {usual}");
    }
    // Beside a plain Cubic on that wire it is one more Cubic.
    let air = Air::new(payload(200.0), RuleKind::Default);
    let flows = vec![cupid(Fallback::Cubic, air, 0), plain(Algorithm::Cubic)];
    let out = run(&scene(20.0, 1.0, 60), flows);
    let (own, other) = (mbps(&out, 0, 10.0, 60.0), mbps(&out, 1, 10.0, 60.0));
    println!("beside a Cubic: {own:.1} {other:.1}");
    assert!((0.6..1.6).contains(&(own / other)), "{own} {other}");
}

/// A sender that is driven by hand: packets of one round at a time.
struct Driver {
    now: Time,
    pn: u64,
    cupid: Cupid,
}

impl Driver {
    fn new(fallback: Fallback) -> Self {
        let cupid = Cupid::new((fallback, 1.0), Time::ZERO, PACKET_BYTES, Seed(1));
        Self { now: Time::from_millis(1), pn: 0, cupid }
    }

    /// Sends at the asked rate for a round trip, which takes `rtt`, and is acknowledged all of it, or half.
    fn round(&mut self, rtt: Duration, half: bool) {
        let rate = self.cupid.pacing_rate().unwrap_or(Rate::from_mbps(5.0));
        let count = (rate.bytes_in(rtt) / PACKET_BYTES).clamp(8, 2_000);
        let (sent_at, first) = (self.now, self.pn);
        for n in 0..count {
            let in_flight = (n + 1) * PACKET_BYTES;
            self.cupid.on_sent(&Sent { now: sent_at, pn: self.pn, bytes: PACKET_BYTES, in_flight });
            self.pn += 1;
        }
        self.now += rtt;
        let times = Rtt { latest: rtt, smoothed: rtt, min: RTT };
        for n in (0..count).filter(|n| !half || n % 2 == 0) {
            self.cupid.on_ack(&Ack {
                now: self.now,
                pn: first + n,
                bytes: PACKET_BYTES,
                sent_at,
                in_flight: (count - n) * PACKET_BYTES,
                limit: Limit::Pacing,
                rtt: times,
                sample: None,
            });
        }
        self.cupid.on_ack_end(self.now, 0);
    }

    fn grant(&mut self, mbps: f64, has_room: bool) {
        self.report(mbps, has_room, false);
    }

    fn report(&mut self, mbps: f64, has_room: bool, is_full: bool) {
        let interval = Duration::from_millis(40);
        let rate = Rate::from_mbps(mbps);
        let grant = Grant { rate, interval, has_room, is_full, is_isolated: false };
        assert!(self.cupid.on_signal(self.now, Signal::Grant(grant)));
    }

    /// A report from behind an access point that divides the air by itself.
    fn isolated(&mut self, mbps: f64) {
        let (rate, interval) = (Rate::from_mbps(mbps), Duration::from_millis(40));
        let (has_room, is_full, is_isolated) = (false, true, true);
        let grant = Grant { rate, interval, has_room, is_full, is_isolated };
        assert!(self.cupid.on_signal(self.now, Signal::Grant(grant)));
    }
}

#[test]
fn the_last_report_is_what_is_sent_at() {
    let mut d = Driver::new(Fallback::Cubic);
    assert!(!d.cupid.is_granted());
    assert_eq!(d.cupid.window(), 10 * PACKET_BYTES, "Cubic's");
    for mbps in [40.0, 90.0, 3.0, 0.0] {
        d.grant(mbps, false);
        d.round(RTT, false);
        assert_eq!(d.cupid.pacing_rate(), Some(Rate::from_mbps(mbps).max(Rate::from_bps(1_000))));
        let flight = Rate::from_mbps(mbps).bytes_in(RTT);
        assert!(d.cupid.window() >= flight + 10 * PACKET_BYTES);
        assert!(d.cupid.window() <= 2 * flight + 11 * PACKET_BYTES);
    }
    assert!(!d.cupid.on_signal(d.now, Signal::Rate(Rate::from_mbps(9.0))));
    assert_eq!(d.cupid.last_signals().grant.map(|g| g.rate), Some(Rate::ZERO));
}

#[test]
fn a_weight_multiplies_what_is_granted_and_what_it_falls_back_on() {
    let mut d = Driver::new(Fallback::Cubic);
    assert!(d.cupid.on_signal(d.now, Signal::Weight(2.5)));
    assert_eq!(d.cupid.last_signals().weight, Some(2.5));
    d.grant(8.0, false);
    assert_eq!(d.cupid.pacing_rate(), Some(Rate::from_mbps(20.0)));
    // A full air takes what is beyond an equal part.
    for _ in 0..100 {
        d.report(8.0, false, true);
    }
    let rate = d.cupid.pacing_rate().unwrap();
    assert!((8e6..8.01e6).contains(&rate.as_f64()), "{rate}");
}

#[test]
fn reports_that_come_now_and_then_do_not_toggle_it() {
    let mut d = Driver::new(Fallback::Cubic);
    d.grant(40.0, true);
    // Three reports are missed: 120 ms and a round trip.
    for _ in 0..6 {
        d.round(RTT, false);
        assert!(d.cupid.is_granted());
    }
    d.round(RTT, false);
    d.round(RTT, false);
    assert!(!d.cupid.is_granted());
    // One each 400 ms does not bring it back, three in time do.
    for _ in 0..5 {
        d.grant(40.0, true);
        (0..20).for_each(|_| d.round(RTT, false));
        assert!(!d.cupid.is_granted());
    }
    for n in 0..3 {
        d.grant(40.0, true);
        assert_eq!(d.cupid.is_granted(), n == 2, "{n}");
        d.round(RTT, false);
        d.round(RTT, false);
    }
}

#[test]
fn a_queue_that_the_air_explains_leaves_it_and_one_that_it_does_not_ends_it() {
    let queued = RTT + Duration::from_millis(40);
    for (has_room, rounds) in [(true, 3), (false, 12)] {
        let mut d = Driver::new(Fallback::Cubic);
        d.grant(40.0, has_room);
        (0..10).for_each(|_| d.round(RTT, false));
        d.grant(40.0, has_room);
        d.grant(40.0, has_room);
        d.grant(40.0, has_room);
        let mut until = 0;
        while d.cupid.pacing_rate() == Some(Rate::from_mbps(40.0)) && until < 50 {
            d.grant(40.0, has_room);
            d.round(queued, true);
            until += 1;
        }
        assert!((rounds..rounds + 3).contains(&until), "{has_room}: {until}");
        assert!(d.cupid.pacing_rate() < Some(Rate::from_mbps(40.0)));
    }
}

#[test]
fn a_queue_of_its_own_is_kept_short_by_taking_less_of_the_grant() {
    let mut d = Driver::new(Fallback::Cubic);
    let rounds = |d: &mut Driver, count: u32, rtt: Duration| {
        for _ in 0..count {
            d.isolated(40.0);
            d.round(rtt, false);
        }
        d.cupid.pacing_rate().unwrap().mbps()
    };
    assert_eq!(rounds(&mut d, 20, RTT), 40.0);
    let queued = RTT + Duration::from_millis(40);
    let cut = rounds(&mut d, 6, queued);
    assert!((26.0..36.0).contains(&cut), "{cut}");
    assert_eq!(rounds(&mut d, 40, queued), 20.0, "half of the grant is the least");
    let back = rounds(&mut d, 40, RTT);
    assert!((24.0..36.0).contains(&back), "{back}");
    assert_eq!(rounds(&mut d, 120, RTT), 40.0);
    // A queue that others wait in too is no reason to take less.
    rounds(&mut d, 6, queued);
    d.grant(40.0, false);
    assert_eq!(d.cupid.pacing_rate(), Some(Rate::from_mbps(40.0)));
}
