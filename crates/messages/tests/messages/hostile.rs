//! What a stranger on the path can do: lose packets, and nothing else.

use airlane_base::Time;
use airlane_messages::{Event, Refused, Session};
use airlane_octopus::Marking;
use bytes::Bytes;
use proptest::prelude::*;

use crate::link::{ms, pair};

/// The next datagrams of a session.
fn sent(session: &mut Session, now: Time) -> Vec<Vec<u8>> {
    let (mut all, mut out) = (Vec::new(), Vec::new());
    while session.poll_transmit(now, &mut out) {
        all.push(out.clone());
    }
    all
}

fn message(sender: &mut Session, now: Time) -> Vec<u8> {
    sender.send(now, 1, Marking::default(), Bytes::from_static(b"a message")).unwrap();
    sent(sender, now).remove(0)
}

fn delivered(session: &mut Session) -> usize {
    std::iter::from_fn(|| session.poll_event())
        .filter(|e| matches!(e, Event::Message(m) if &m.data[..] == b"a message"))
        .count()
}

#[test]
fn a_replay_is_refused_and_not_answered() {
    let (mut sender, mut receiver) = pair();
    let packet = message(&mut sender, ms(0));
    assert_eq!(receiver.handle(ms(1), &mut packet.clone()), Ok(()));
    assert_eq!(sent(&mut receiver, ms(10)).len(), 1);
    for n in 0..1000 {
        let at = ms(10 + n);
        assert_eq!(receiver.handle(at, &mut packet.clone()), Err(Refused::Repeated));
        assert!(sent(&mut receiver, at).is_empty());
    }
    assert_eq!(delivered(&mut receiver), 1);
    assert_eq!(receiver.counts(ms(2000)).refused, 1000);
}

#[test]
fn a_packet_of_ours_does_not_open_when_it_is_sent_back() {
    let (mut sender, _) = pair();
    let mut packet = message(&mut sender, ms(0));
    // With the number of the session that it goes to.
    packet[12..16].copy_from_slice(&1_u32.to_be_bytes());
    assert_eq!(sender.handle(ms(1), &mut packet), Err(Refused::Forged));
}

#[test]
fn whoever_rewrites_the_header_loses_the_packet() {
    let (mut sender, mut receiver) = pair();
    let packet = message(&mut sender, ms(0));
    for bit in 0..8 * packet.len() {
        let mut forged = packet.clone();
        forged[bit / 8] ^= 1 << (bit % 8);
        assert!(receiver.handle(ms(1), &mut forged).is_err(), "bit {bit}");
    }
    assert_eq!(delivered(&mut receiver), 0);
    assert!(sent(&mut receiver, ms(100)).is_empty());
    assert_eq!(receiver.handle(ms(101), &mut packet.clone()), Ok(()));
    assert_eq!(delivered(&mut receiver), 1);
}

#[test]
fn ten_thousand_streams_are_delivered() {
    let (mut sender, mut receiver) = pair();
    let mut now = ms(0);
    let mut got = 0;
    for stream in 0..10_000 {
        sender.send(now, stream, Marking::default(), Bytes::from_static(b"a message")).unwrap();
        now = ms(u64::from(stream) + 1);
        sender.time_out(now);
        for mut packet in sent(&mut sender, now) {
            receiver.handle(now, &mut packet).unwrap();
        }
        receiver.time_out(now);
        for mut ack in sent(&mut receiver, now) {
            sender.handle(now, &mut ack).unwrap();
        }
        got += delivered(&mut receiver);
    }
    assert!(got >= 9_990, "{got}");
}

proptest! {
    #[test]
    fn strange_datagrams_are_refused(
        bytes in prop::collection::vec(any::<u8>(), 0..100),
        ours: bool,
        cut in 0usize..60,
    ) {
        let (mut sender, mut receiver) = pair();
        let mut packet = if ours { message(&mut sender, ms(0)) } else { bytes };
        if ours {
            packet.truncate(cut.min(packet.len() - 1));
        }
        prop_assert!(receiver.handle(ms(1), &mut packet).is_err());
        prop_assert!(sent(&mut receiver, ms(100)).is_empty());
        prop_assert_eq!(delivered(&mut receiver), 0);
    }
}
