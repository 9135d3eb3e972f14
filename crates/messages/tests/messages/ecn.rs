//! Marks of queues, from the receiver to a controller that asks for each.

use std::time::Duration;

use airlane_base::{Ecn, Rate, Time};
use airlane_congestion::{Algorithm, ControllerConfig};
use airlane_messages::{Config, Ids, Session};
use airlane_octopus::Marking;
use bytes::Bytes;

use crate::link::{Link, PAYLOAD_BYTES, config, ms};

/// A sender under `algorithm` that always has data, on 20 Mbit/s and 20 ms for 5 s, with `ecn` on the way.
fn sent(algorithm: Algorithm, ecn: impl FnMut(Ecn) -> Ecn + 'static) -> Link {
    let session = |local, remote, algorithm| {
        let config = config(Ids { local, remote }, local as u8, remote as u8);
        Session::new(Time::ZERO, Config { controller: ControllerConfig::new(algorithm), ..config })
    };
    let pair = (session(1, 2, algorithm), session(2, 1, Algorithm::Reno));
    let mut link = Link::between(pair, |_| Some(Rate::from_mbps(20.0)), Duration::from_millis(10));
    link.ecn = Box::new(ecn);
    for step in 1..500 {
        let now = ms(10 * step);
        if link.sender.waiting_bytes() < 100_000 {
            let data = Bytes::from(vec![0; 50_000]);
            link.sender.send(link.now, 1, Marking::default(), data).unwrap();
        }
        link.run(now);
    }
    link
}

/// Marks one packet of so many that allow it.
fn marking_every(n: u64) -> impl FnMut(Ecn) -> Ecn {
    let mut seen = 0;
    move |ecn| {
        seen += u64::from(ecn != Ecn::NotEct);
        if ecn != Ecn::NotEct && seen % n == 0 { Ecn::Ce } else { ecn }
    }
}

fn window_packets(link: &Link) -> u64 {
    link.sender.controller().unwrap().window() / u64::from(PAYLOAD_BYTES)
}

#[test]
fn a_controller_that_asks_for_it_hears_of_each_mark() {
    let link = sent(Algorithm::Prague, marking_every(10));
    assert_eq!(link.sender.ecn(), Ecn::Ect1);
    // Two packets of a window are marked in equilibrium: one of ten means some twenty packets.
    let few = window_packets(&link);
    assert!((12..30).contains(&few), "{few}");
    let many = window_packets(&sent(Algorithm::Prague, marking_every(40)));
    assert!(many > 2 * few, "{many} {few}");
}

#[test]
fn a_path_that_clears_code_points_is_noticed() {
    let link = sent(Algorithm::Prague, |_| Ecn::NotEct);
    assert_eq!(link.sender.ecn(), Ecn::NotEct);
    assert!(!link.delivered.is_empty());
}

#[test]
fn others_set_no_code_point() {
    for algorithm in [Algorithm::Bbr, Algorithm::Cubic] {
        let link = sent(algorithm, |ecn| {
            assert_eq!(ecn, Ecn::NotEct);
            ecn
        });
        assert!(!link.delivered.is_empty());
    }
}
