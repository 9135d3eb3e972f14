//! SCReAM: next to nothing waits behind DualPI2, half of its target without marks, and what is left of it
//! beside others.

mod delay;
mod fed;
mod window;

use airlane_congestion::Algorithm;

use crate::contention::{Kind, contend};
use crate::harness::{Discipline, Outcome, PACKET_BYTES};

/// A droptail queue of `bdp` bandwidth-delay products.
fn droptail(mbps: f64, rtt_ms: u64, bdp: f64) -> Discipline {
    let packets = mbps * 1e3 * rtt_ms as f64 * bdp / 8.0 / (PACKET_BYTES + 28) as f64;
    Discipline::DropTail(packets as usize)
}

fn share(out: &Outcome) -> f64 {
    let all: u64 = out.flows.iter().map(|flow| flow.packets).sum();
    out.flows[0].packets as f64 / all as f64
}

#[test]
fn alone_behind_dualpi2_it_fills_the_link_and_hardly_waits() {
    let queue = Discipline::DualPi2(1_000);
    let out = contend(&[Kind::Bulk(Algorithm::Scream)], queue, 40.0, 20);
    assert!(out.link.utilisation > 0.95, "{}", out.link.utilisation);
    // The step threshold is 1 ms; a packet takes 0.3 ms by itself.
    assert!(out.flows[0].wait_ms(0.99) < 3.0, "{}", out.flows[0].wait_ms(0.99));
    assert_eq!(out.flows[0].lost, 0);
}

#[test]
fn its_frames_are_paced_to_what_a_queue_that_marks_early_lets_through() {
    let out = contend(&[Kind::Media], Discipline::DualPi2(1_000), 40.0, 20);
    // Each frame leaves at 1.5 times the media's rate: above two thirds of the link frames are marked.
    assert!((0.62..0.78).contains(&out.link.utilisation), "{}", out.link.utilisation);
    assert!(out.flows[0].wait_ms(0.99) < 2.0, "{}", out.flows[0].wait_ms(0.99));
    assert_eq!(out.flows[0].lost, 0);
}

#[test]
fn without_marks_it_fills_the_link_and_keeps_its_delay_target() {
    for (kind, mbps, rtt_ms) in [
        (Kind::Media, 12.0, 60),
        (Kind::Media, 40.0, 20),
        (Kind::Bulk(Algorithm::Scream), 12.0, 60),
    ] {
        let out = contend(&[kind], droptail(mbps, rtt_ms, 8.0), mbps, rtt_ms);
        assert!(out.link.utilisation > 0.97, "{}", out.link.utilisation);
        // It yields from half of the target of 60 ms on.
        let (median, tail) = (out.flows[0].wait_ms(0.5), out.flows[0].wait_ms(0.99));
        assert!((25.0..40.0).contains(&median) && tail < 60.0, "{median:.1} {tail:.1} ms");
        assert_eq!(out.flows[0].lost, 0);
    }
}

#[test]
fn beside_cubic_its_part_depends_on_whether_the_queue_holds_its_target() {
    let kinds = [Kind::Media, Kind::Bulk(Algorithm::Cubic)];
    let shallow = contend(&kinds, droptail(12.0, 20, 2.0), 12.0, 20);
    let deep = contend(&kinds, droptail(12.0, 60, 2.0), 12.0, 60);
    println!("of 40 ms: {:.3}, of 120 ms: {:.3}", share(&shallow), share(&deep));
    assert!(share(&shallow) > 0.3, "{:.3}", share(&shallow));
    assert!((0.01..0.3).contains(&share(&deep)), "{:.3}", share(&deep));
}

#[test]
fn beside_prague_both_have_their_part_and_neither_waits() {
    let kinds = [Kind::Media, Kind::Bulk(Algorithm::Prague)];
    let out = contend(&kinds, Discipline::DualPi2(1_000), 40.0, 20);
    assert!((0.2..0.5).contains(&share(&out)), "{:.3}", share(&out));
    assert!(out.flows.iter().all(|flow| flow.wait_ms(0.99) < 3.0));
    assert!(out.link.utilisation > 0.85, "{}", out.link.utilisation);
}
