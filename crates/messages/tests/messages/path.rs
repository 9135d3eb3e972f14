//! Paths that change: how large packets may be, and where the receiver is.

use std::net::SocketAddr;
use std::time::Duration;

use airlane_base::{Rate, Time};
use airlane_octopus::Marking;
use bytes::Bytes;

use crate::link::{Link, address, daemons, ms};

const DELAY: Duration = Duration::from_millis(30);
/// Every frame drops all older ones.
const FRESHEST: Marking = Marking { priority: 1, drops: Some(1), bitrate_kbps: 0, slack_ms: 0 };

/// A link of 8 Mbit/s between two that do as the daemons do.
fn link() -> Link {
    Link::between(daemons(), |_| Some(Rate::from_mbps(8.0)), DELAY)
}

/// Sends 30 frames of 15 000 bytes a second until `until`: when each was sent.
fn frames(link: &mut Link, until: Time) -> Vec<Time> {
    let mut sent = Vec::new();
    while link.now < until {
        let data = Bytes::from(vec![sent.len() as u8; 15_000]);
        link.sender.send(link.now, 1, FRESHEST, data).unwrap();
        sent.push(link.now);
        let next = link.now + Duration::from_millis(33);
        link.run(next);
    }
    sent
}

/// When the first message came at `from` or later.
fn back(link: &Link, from: Time) -> Time {
    link.delivered.iter().map(|m| m.at).find(|at| *at >= from).expect("something comes")
}

/// How many messages came between two times.
fn came(link: &Link, from: u64, to: u64) -> usize {
    link.delivered.iter().filter(|m| m.at >= ms(from) && m.at < ms(to)).count()
}

#[test]
fn packets_are_as_large_as_the_path_carries() {
    // IPv6's least MTU is 1280: 1232 bytes of UDP payload.
    for carries in [1232, 1300, 1400, 1452, 1500] {
        let mut link = link();
        link.passes = Box::new(move |_| carries);
        frames(&mut link, ms(4_000));
        let found = link.sender.payload_bytes() as usize;
        assert!(found <= carries && found + 16 >= carries.min(1452), "{found} of {carries}");
        // Looking costs no frame.
        assert!(came(&link, 1_000, 4_000) >= 88, "{carries}: {}", came(&link, 1_000, 4_000));
    }
}

#[test]
fn a_path_that_becomes_narrower_is_noticed_within_a_second() {
    for narrow in [1400, 1232, 1200] {
        let mut link = link();
        link.passes = Box::new(move |now| if now < ms(3_000) { 1452 } else { narrow });
        frames(&mut link, ms(3_000));
        assert_eq!(link.sender.payload_bytes(), 1452);
        frames(&mut link, ms(7_000));
        assert_eq!(link.sender.payload_bytes(), 1200);
        let at = back(&link, ms(3_100));
        assert!(at < ms(4_000), "{narrow}: {at:?}");
        assert!(came(&link, 4_000, 7_000) >= 80, "{narrow}: {}", came(&link, 4_000, 7_000));
    }
}

/// Where a receiver is that moves at 2 s to `to` and is reached there from `from_ms` on.
fn moves(to: SocketAddr, from_ms: u64) -> impl Fn(Time) -> Option<SocketAddr> {
    move |now| match now {
        now if now < ms(2_000) => Some(address(2)),
        now if now < ms(from_ms) => None,
        _ => Some(to),
    }
}

#[test]
fn frames_come_within_a_second_of_the_return_of_a_receiver_that_has_moved() {
    let home = address(2);
    for to in [home, SocketAddr::new(home.ip(), 5_000), address(9)] {
        for returns in [2_000, 2_300, 5_000, 9_000] {
            let mut link = link();
            link.receiver_at = Box::new(moves(to, returns));
            frames(&mut link, ms(returns + 4_000));
            assert_eq!(link.sender.remote(), to);
            let at = back(&link, ms(returns + 1));
            assert!(at < ms(returns + 700), "{to} from {returns}: {at:?}");
            let since = came(&link, returns + 1_000, returns + 4_000);
            assert!(since >= 80, "{to} from {returns}: {since}");
        }
    }
}

#[test]
fn a_receiver_that_stands_still_is_given_frames_at_once() {
    // What a suspended process does: it sends nothing, and finds later what came meanwhile.
    let mut link = link();
    frames(&mut link, ms(2_000));
    let stopped = link.now;
    while link.now < ms(9_000) {
        let data = Bytes::from(vec![0; 15_000]);
        link.sender.send(link.now, 1, FRESHEST, data).unwrap();
        link.run_sender_alone(Duration::from_millis(33));
    }
    let before = link.delivered.len();
    frames(&mut link, ms(11_000));
    assert!(stopped < ms(2_100));
    let first = &link.delivered[before];
    assert!(first.at < ms(9_200), "{:?}", first.at);
    assert!(came(&link, 9_500, 11_000) >= 36, "{}", came(&link, 9_500, 11_000));
}
