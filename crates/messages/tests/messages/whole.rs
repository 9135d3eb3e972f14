//! A message is delivered whole, once and as it was sent, or not at all.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use airlane_base::Rate;
use airlane_messages::SendError;
use airlane_messages::wire::CONTROL_STREAM;
use airlane_octopus::Marking;
use bytes::Bytes;
use proptest::prelude::*;

use crate::link::{Link, Treatment, ms, pair};

/// Bytes that tell which message and which place in it they are of.
fn body(seed: u32, length: usize) -> Bytes {
    (0..length).map(|i| (seed.wrapping_mul(31).wrapping_add(i as u32 * 7) >> 3) as u8).collect()
}

fn a_marking() -> impl Strategy<Value = Marking> {
    (0u8..=7, prop::option::of(0u8..=7), prop_oneof![Just(0), 100u32..9000]).prop_map(
        |(priority, drops, bitrate_kbps)| Marking { priority, drops, bitrate_kbps, slack_ms: 0 },
    )
}

fn a_treatment() -> impl Strategy<Value = Treatment> {
    prop_oneof![
        20 => Just(Treatment::Pass),
        1 => Just(Treatment::Lose),
        1 => Just(Treatment::Twice),
        1 => (0u64..80).prop_map(|ms| Treatment::Late(Duration::from_millis(ms))),
        1 => any::<usize>().prop_map(Treatment::Change),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn whole_once_and_unchanged_or_not_at_all(
        sends in prop::collection::vec((0u64..40, 1u16..4, a_marking(), 1usize..30_000), 1..60),
        faults in prop::collection::vec(a_treatment(), 1..200),
        mbps in prop::collection::vec(0u64..12, 1..20),
        clean: bool,
    ) {
        let carries = mbps.iter().any(|m| *m > 0);
        let rate = move |now: airlane_base::Time| {
            let slot = (now.as_nanos() / 100_000_000) as usize % mbps.len();
            (mbps[slot] > 0).then(|| Rate::from_bps(1_000_000 * mbps[slot]))
        };
        let mut link = Link::new(rate, Duration::from_millis(15)).with_fault(move |n| {
            if clean { Treatment::Pass } else { faults[n as usize % faults.len()] }
        });
        let mut sent = BTreeMap::new();
        let mut at = ms(0);
        for (n, (gap, stream, marking, length)) in sends.into_iter().enumerate() {
            at += Duration::from_millis(gap);
            link.run(at);
            let data = body(n as u32, length);
            let number = link.sender.send(link.now, stream, marking, data.clone()).unwrap();
            sent.insert((stream, number), data);
        }
        link.run(at + Duration::from_secs(10));
        let mut seen = BTreeSet::new();
        for message in &link.delivered {
            let key = (message.stream, message.message);
            prop_assert!(seen.insert(key), "{key:?} twice");
            prop_assert_eq!(Some(&message.data), sent.get(&key));
            prop_assert!(!link.dropped_here.contains(&key));
        }
        // What left and was not harmed has come: a message is neither held back nor forgotten.
        if clean && carries {
            let counts = link.sender.counts(link.now);
            prop_assert_eq!(
                counts.sent_packets,
                counts.acked_packets + counts.lost_packets + counts.dropped_packets
            );
            prop_assert!(!link.delivered.is_empty() || link.dropped_there > 0);
            if link.dropped_there == 0 {
                prop_assert_eq!(seen.len() + link.dropped_here.len(), sent.len());
            }
        }
    }
}

#[test]
fn messages_are_delivered_at_the_rate_of_the_link() {
    let mut link = Link::new(|_| Some(Rate::from_mbps(6.0)), Duration::from_millis(30));
    let mut at = ms(0);
    for n in 0..600 {
        link.run(at);
        // 30 frames a second of 5 Mbit/s, marked not at all.
        link.sender.send(link.now, 1, Marking::default(), body(n, 20_000)).unwrap();
        at += Duration::from_nanos(33_333_333);
    }
    link.run(at + Duration::from_secs(1));
    assert_eq!(link.delivered.len(), 600);
    let in_order = link.delivered.iter().map(|m| m.message).collect::<Vec<_>>();
    assert!(in_order.is_sorted());
    // In the end the estimate is of the link, and a frame takes its serialisation and the way.
    let estimate = link.sender.bandwidth().unwrap().mbps();
    assert!((5.0..6.3).contains(&estimate), "{estimate}");
    let last = &link.delivered[599];
    let sent = ms(0) + 599 * Duration::from_nanos(33_333_333);
    let took = last.at.since(sent);
    assert!(took < Duration::from_millis(75), "{took:?}");
}

/// A queue drops what follows of a message that it has begun to drop. A sender that asks whether anything arrives by
/// such fragments alone never hears: it was silent for 17 s here.
#[test]
fn a_queue_that_drops_the_rest_of_a_message_does_not_stop_its_sender() {
    // Milliseconds since the one before, stream, (priority, drops, kbit/s), bytes.
    let sends = [
        (9, 1, (0, None, 0), 11611),
        (24, 1, (0, None, 1225), 1),
        (5, 1, (0, None, 0), 1),
        (31, 1, (0, None, 0), 20980),
        (29, 1, (0, None, 0), 1),
        (13, 1, (0, None, 0), 20),
        (20, 2, (6, None, 4849), 17559),
        (9, 2, (5, Some(2), 8041), 16895),
        (36, 1, (4, None, 0), 22166),
        (27, 2, (1, Some(7), 8134), 25642),
        (10, 2, (7, Some(3), 6070), 23765),
        (32, 3, (6, Some(2), 7191), 24158),
        (11, 1, (2, None, 2696), 5837),
    ];
    let mbps: Vec<u64> = vec![2, 8, 0, 1, 0, 2, 9, 3, 6, 0, 4, 11, 0, 7, 11, 7, 9, 4];
    let rate = move |now: airlane_base::Time| {
        let slot = (now.as_nanos() / 100_000_000) as usize % mbps.len();
        (mbps[slot] > 0).then(|| Rate::from_bps(1_000_000 * mbps[slot]))
    };
    let mut link = Link::new(rate, Duration::from_millis(15));
    let mut at = ms(0);
    for (n, (gap, stream, (priority, drops, bitrate_kbps), length)) in (0..).zip(sends) {
        at += Duration::from_millis(gap);
        link.run(at);
        let marking = Marking { priority, drops, bitrate_kbps, slack_ms: 0 };
        link.sender.send(link.now, stream, marking, body(n, length)).unwrap();
    }
    link.run(at + Duration::from_secs(5));
    let counts = link.sender.counts(link.now);
    let ended = counts.acked_packets + counts.lost_packets + counts.dropped_packets;
    assert_eq!(counts.sent_packets, ended, "{counts:?}");
}

#[test]
fn what_cannot_be_sent_is_said() {
    let (mut sender, _) = pair();
    let data = Bytes::from_static(b"x");
    let control = sender.send(ms(0), CONTROL_STREAM, Marking::default(), data.clone());
    assert_eq!(control, Err(SendError::Stream));
    let empty = sender.send(ms(0), 1, Marking::default(), Bytes::new());
    assert!(matches!(empty, Err(SendError::Size { found: 0, .. })));
    let marking = Marking { priority: 8, ..Marking::default() };
    assert!(matches!(sender.send(ms(0), 1, marking, data.clone()), Err(SendError::Marking(_))));
    // None of these took a number.
    assert_eq!(sender.send(ms(0), 1, Marking::default(), data), Ok(0));
}
