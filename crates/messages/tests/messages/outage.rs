//! Nothing gets through for a while.

use std::time::Duration;

use airlane_base::{Rate, Time};
use airlane_octopus::{Marking, is_older};
use bytes::Bytes;

use crate::link::{Link, Treatment, ms};

/// Every frame drops all older ones.
const FRESHEST: Marking = Marking { priority: 1, drops: Some(1), bitrate_kbps: 0, slack_ms: 0 };
const FRAME: Duration = Duration::from_millis(33);

/// Sends frames until `until`. When each message was sent.
fn frames(link: &mut Link, until: Time, marking: Marking, bytes: usize) -> Vec<Time> {
    let mut sent = Vec::new();
    while link.now < until {
        let data = Bytes::from(vec![sent.len() as u8; bytes]);
        link.sender.send(link.now, 1, marking, data).unwrap();
        sent.push(link.now);
        let next = link.now + FRAME;
        link.run(next);
    }
    sent
}

fn outage(from: u64, to: u64) -> Link {
    let rate = move |now: Time| {
        let out = now >= ms(from) && now < ms(to);
        (!out).then(|| Rate::from_mbps(8.0))
    };
    Link::new(rate, Duration::from_millis(30))
}

#[test]
fn after_two_seconds_without_capacity_one_packet_of_a_stale_message_leaves_at_most() {
    for bytes in [600, 8_000, 25_000] {
        let mut link = outage(2_000, 4_000);
        let sent = frames(&mut link, ms(6_000), FRESHEST, bytes);
        // What leaves the sender from the end of the outage on, and what had been sent by then.
        let newest = sent.partition_point(|at| *at <= ms(4_000)) as u32 - 1;
        let stale: Vec<_> = link
            .left
            .iter()
            .filter(|(at, header)| *at >= ms(4_000) && is_older(header.message, newest))
            .collect();
        assert!(stale.len() <= 1, "{bytes} bytes: {stale:?}");
        // The newest frames get through at once.
        let back = link.delivered.iter().find(|m| m.at >= ms(4_000)).expect("something comes");
        assert!(back.at < ms(4_150), "{bytes} bytes: {:?}", back.at);
        assert!(link.delivered.iter().filter(|m| m.at >= ms(5_000)).count() >= 25);
    }
}

#[test]
fn ten_seconds_without_capacity_cost_a_packet_a_second_and_end_at_once() {
    let mut link = outage(2_000, 12_000);
    frames(&mut link, ms(14_000), FRESHEST, 20_000);
    let probes = link.left.iter().filter(|(at, _)| *at > ms(3_000) && *at < ms(12_000)).count();
    assert!((5..=12).contains(&probes), "{probes}");
    let back = link.delivered.iter().find(|m| m.at >= ms(12_000)).expect("something comes");
    assert!(back.at < ms(13_200), "{:?}", back.at);
    let last = link.delivered.last().unwrap();
    assert!(last.at > ms(13_900), "{:?}", last.at);
}

#[test]
fn a_receiver_that_vanishes_and_returns_goes_on() {
    // From 2 to 5 s nothing arrives, though the link takes everything.
    let mut link = Link::new(|_| Some(Rate::from_mbps(8.0)), Duration::from_millis(30));
    let fate = std::rc::Rc::new(std::cell::Cell::new(Treatment::Pass));
    let now = fate.clone();
    link = link.with_fault(move |_| now.get());
    let mut sent = frames(&mut link, ms(2_000), Marking::default(), 10_000).len();
    fate.set(Treatment::Lose);
    let before = link.left.len();
    sent += frames(&mut link, ms(5_000), FRESHEST, 10_000).len();
    let gone = link.left.len() - before;
    fate.set(Treatment::Pass);
    sent += frames(&mut link, ms(7_000), FRESHEST, 10_000).len();
    // It neither floods a path that does not answer nor stops for good.
    assert!(gone < 100, "{gone}");
    let since: Vec<_> = link.delivered.iter().filter(|m| m.at > ms(6_000)).collect();
    assert!(since.len() >= 25, "{} of {sent}", since.len());
}

#[test]
fn a_clock_that_steps_does_no_harm() {
    let mut link = outage(0, 0);
    frames(&mut link, ms(1_000), FRESHEST, 10_000);
    // Back, and an hour ahead.
    let early = link.sender.send(ms(400), 1, FRESHEST, Bytes::from_static(b"early"));
    assert!(early.is_ok());
    let mut out = Vec::new();
    link.sender.time_out(ms(300));
    while link.sender.poll_transmit(ms(300), &mut out).is_some() {}
    link.now += Duration::from_secs(3600);
    let from = link.delivered.len();
    frames(&mut link, ms(3_602_000), FRESHEST, 10_000);
    assert!(link.delivered.len() >= from + 20, "{}", link.delivered.len() - from);
}
