//! Prague behind DualPI2: next to nothing waits, flows of both kinds share, and a queue without L4S sees
//! Reno.

use std::time::Duration;

use airlane_base::Time;
use airlane_congestion::controller::{Limit, Rtt};
use airlane_congestion::{Ack, Algorithm, Controller, Marked, Prague, Sent};

use crate::contention::{Kind, contend};
use crate::harness::{Discipline, Outcome};

/// Flows of these controllers, which always have data, on a link.
fn bulk(algorithms: &[Algorithm], discipline: Discipline, mbps: f64, rtt_ms: u64) -> Outcome {
    let kinds: Vec<Kind> = algorithms.iter().copied().map(Kind::Bulk).collect();
    contend(&kinds, discipline, mbps, rtt_ms)
}

#[test]
fn alone_it_fills_the_link_and_hardly_waits() {
    let out = bulk(&[Algorithm::Prague], Discipline::DualPi2(1_000), 40.0, 20);
    assert!(out.link.utilisation > 0.95, "{}", out.link.utilisation);
    // The step threshold is 1 ms; a packet takes 0.3 ms by itself.
    assert!(out.flows[0].wait_ms(0.99) < 3.0, "{}", out.flows[0].wait_ms(0.99));
    assert_eq!(out.flows[0].lost, 0);
}

#[test]
fn beside_cubic_both_have_their_part_and_only_cubic_waits() {
    let algorithms = [Algorithm::Prague, Algorithm::Cubic];
    let out = bulk(&algorithms, Discipline::DualPi2(1_000), 40.0, 20);
    let [prague, cubic] = &out.flows[..] else { panic!("two flows") };
    let share = prague.packets as f64 / (prague.packets + cubic.packets) as f64;
    assert!((0.35..0.65).contains(&share), "{share:.3}");
    assert!(prague.wait_ms(0.99) < 5.0, "{}", prague.wait_ms(0.99));
    assert!((8.0..30.0).contains(&cubic.wait_ms(0.5)), "{}", cubic.wait_ms(0.5));
    assert!(out.link.utilisation > 0.97, "{}", out.link.utilisation);
}

#[test]
fn where_nothing_is_marked_it_is_reno() {
    let discipline = Discipline::DropTail(100);
    let out = bulk(&[Algorithm::Prague, Algorithm::Reno], discipline, 20.0, 40);
    let [prague, reno] = &out.flows[..] else { panic!("two flows") };
    let share = prague.packets as f64 / (prague.packets + reno.packets) as f64;
    assert!((0.35..0.65).contains(&share), "{share:.3}");
    assert!(prague.lost > 0);
}

/// A sender with a full window, of which each packet is acknowledged by itself.
struct Fed {
    prague: Prague,
    pn: u64,
}

impl Fed {
    fn acknowledge(&mut self, marked: bool) {
        let rtt = Duration::from_millis(40);
        let now = Time::from_millis(50) + Duration::from_millis(self.pn);
        let (pn, bytes, in_flight) = (self.pn, 1_000, self.prague.window());
        self.pn += 1;
        // 40 packets are in flight.
        self.prague.on_sent(&Sent { now, pn: pn + 40, bytes, in_flight });
        self.prague.on_ack(&Ack {
            now,
            pn,
            bytes,
            sent_at: now - rtt,
            in_flight,
            limit: Limit::Window,
            rtt: Rtt { latest: rtt, smoothed: rtt, min: rtt },
            sample: None,
        });
        self.prague.on_ack_end(now, in_flight);
        if marked {
            let sent_at = now - rtt;
            self.prague.on_marked(&Marked { now, pn, sent_at, in_flight, packets: 1 });
        }
    }

    fn new() -> Self {
        Self { prague: Prague::new(Time::ZERO, 1_000), pn: 0 }
    }
}

#[test]
fn the_first_mark_halves_the_window_and_ends_slow_start() {
    let mut fed = Fed::new();
    (0..10).for_each(|_| fed.acknowledge(false));
    assert_eq!(fed.prague.window(), 20_000);
    fed.acknowledge(true);
    // The marked packet has added nothing.
    assert_eq!((fed.prague.window(), fed.prague.ssthresh()), (10_000, Some(10_000)));
}

#[test]
fn alpha_becomes_the_share_of_marks_and_the_window_gives_half_of_it_once_per_round() {
    let mut fed = Fed::new();
    // One packet of four comes marked, for a hundred round trips of 40 packets.
    for i in 0..4_000 {
        fed.acknowledge(i % 4 == 0);
    }
    assert!((fed.prague.alpha() - 0.25).abs() < 0.02, "{}", fed.prague.alpha());
    // A round without a mark, then one: the window falls by alpha / 2, and not again in this round.
    (0..41).for_each(|_| fed.acknowledge(false));
    let before = fed.prague.window() as f64;
    fed.acknowledge(true);
    let kept = fed.prague.window() as f64 / before;
    assert!((kept - (1.0 - fed.prague.alpha() / 2.0)).abs() < 0.01, "{kept}");
    let reduced = fed.prague.window();
    (0..10).for_each(|_| fed.acknowledge(true));
    assert!(fed.prague.window().abs_diff(reduced) <= 10, "{} {reduced}", fed.prague.window());
}
