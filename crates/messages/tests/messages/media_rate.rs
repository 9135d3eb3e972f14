//! The rate that an encoder is asked for, by controllers that estimate the path and by one that sets it.

use std::time::Duration;

use airlane_base::{Rate, Time};
use airlane_congestion::{Algorithm, ControllerConfig};
use airlane_messages::{Config, Ids, Session};
use airlane_octopus::Marking;
use bytes::Bytes;

use crate::link::{Link, config, ms};

const FRAME_INTERVAL: Duration = Duration::from_millis(20);

/// Target over estimate at each frame of an encoder that follows the target, on 6 Mbit/s and 60 ms for
/// 20 s, and the link.
fn encoded(algorithm: Algorithm) -> (Vec<f64>, Link) {
    let session = |local, remote, algorithm| {
        let config = config(Ids { local, remote }, local as u8, remote as u8);
        Session::new(Time::ZERO, Config { controller: ControllerConfig::new(algorithm), ..config })
    };
    let pair = (session(1, 2, algorithm), session(2, 1, Algorithm::Reno));
    let mut link = Link::between(pair, |_| Some(Rate::from_mbps(6.0)), Duration::from_millis(30));
    let mut ratios = Vec::new();
    let mut at = ms(0);
    while at < ms(20_000) {
        link.run(at);
        let target = link.sender.target(link.now);
        if let (Some(target), Some(estimate)) = (target, link.sender.bandwidth()) {
            ratios.push(target.as_f64() / estimate.as_f64());
        }
        let rate = target.unwrap_or(Rate::from_mbps(0.2));
        let frame = Bytes::from(vec![0; rate.bytes_in(FRAME_INTERVAL) as usize]);
        link.sender.send(link.now, 1, Marking::default(), frame).unwrap();
        at += FRAME_INTERVAL;
    }
    (ratios, link)
}

#[test]
fn an_estimate_is_probed_and_a_rate_of_media_is_not() {
    let (bbr, _) = encoded(Algorithm::Bbr);
    assert!(bbr.iter().any(|ratio| *ratio > 1.2), "{bbr:?}");
    let (scream, _) = encoded(Algorithm::Scream);
    assert!(scream.len() > 900 && scream.iter().all(|ratio| *ratio == 1.0), "{scream:?}");
}

#[test]
fn a_rate_of_media_grows_to_the_path_by_itself() {
    let (_, link) = encoded(Algorithm::Scream);
    let rate = link.sender.bandwidth().unwrap().mbps();
    assert!((5.0..6.3).contains(&rate), "{rate}");
    // Half of a target of 60 ms waits, and a frame takes its 16 ms or so and the way.
    let late = link.delivered.iter().filter(|message| message.at > ms(15_000));
    let mut took: Vec<Duration> =
        late.map(|message| message.at.since(ms(0) + FRAME_INTERVAL * message.message)).collect();
    took.sort_unstable();
    assert!(took.len() > 240, "{}", took.len());
    let median = took[took.len() / 2];
    assert!((60..110).contains(&median.as_millis()), "{median:?}");
}
