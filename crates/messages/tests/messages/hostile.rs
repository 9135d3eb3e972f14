//! What a stranger on the path can do: lose packets, and nothing else; and what a peer that has the
//! keys cannot.

use std::net::SocketAddr;
use std::time::Duration;

use airlane_base::{Ecn, Time};
use airlane_messages::{Event, Protection, Refused, Session};
use airlane_octopus::Marking;
use bytes::Bytes;
use proptest::prelude::*;

use crate::link::{address, ms, pair, pair_with};

/// The next datagrams of a session.
fn sent(session: &mut Session, now: Time) -> Vec<Vec<u8>> {
    let (mut all, mut out) = (Vec::new(), Vec::new());
    while session.poll_transmit(now, &mut out).is_some() {
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
    assert_eq!(receiver.handle(ms(1), address(1), Ecn::NotEct, &mut packet.clone()), Ok(()));
    assert_eq!(sent(&mut receiver, ms(10)).len(), 1);
    for n in 0..1000 {
        let at = ms(10 + n);
        assert_eq!(
            receiver.handle(at, address(1), Ecn::NotEct, &mut packet.clone()),
            Err(Refused::Repeated)
        );
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
    assert_eq!(sender.handle(ms(1), address(2), Ecn::NotEct, &mut packet), Err(Refused::Forged));
}

#[test]
fn whoever_rewrites_the_header_loses_the_packet() {
    let (mut sender, mut receiver) = pair();
    let packet = message(&mut sender, ms(0));
    for bit in 0..8 * packet.len() {
        let mut forged = packet.clone();
        forged[bit / 8] ^= 1 << (bit % 8);
        assert!(receiver.handle(ms(1), address(1), Ecn::NotEct, &mut forged).is_err(), "bit {bit}");
    }
    assert_eq!(delivered(&mut receiver), 0);
    assert!(sent(&mut receiver, ms(100)).is_empty());
    assert_eq!(receiver.handle(ms(101), address(1), Ecn::NotEct, &mut packet.clone()), Ok(()));
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
            receiver.handle(now, address(1), Ecn::NotEct, &mut packet).unwrap();
        }
        receiver.time_out(now);
        for mut ack in sent(&mut receiver, now) {
            sender.handle(now, address(2), Ecn::NotEct, &mut ack).unwrap();
        }
        got += delivered(&mut receiver);
    }
    assert!(got >= 9_990, "{got}");
}

/// A receiver that tells what it pleases of packets to a sender.
fn acknowledge(
    sender: &mut Session,
    liar: &mut Liar,
    newest: u64,
    first: u64,
) -> Result<(), Refused> {
    let mut packet = liar.acknowledgement(newest, first);
    sender.handle(liar.now, address(2), Ecn::NotEct, &mut packet)
}

/// A peer with the keys (here none: the null cipher) that writes its packets by hand.
struct Liar {
    now: Time,
    sent: u32,
}

impl Liar {
    fn packet(&mut self, frame: &[u8]) -> Vec<u8> {
        let mut packet = vec![7, 0, 0, 0, 0, 0, 0xff, 0xff];
        packet.extend_from_slice(&self.sent.to_be_bytes());
        packet.extend_from_slice(&1_u32.to_be_bytes());
        packet.extend_from_slice(&self.sent.to_be_bytes());
        packet.extend_from_slice(frame);
        packet.extend_from_slice(b"airlane-no-seal!");
        self.sent += 1;
        packet
    }

    fn acknowledgement(&mut self, newest: u64, first: u64) -> Vec<u8> {
        let number = |value: u64| (value | 3 << 62).to_be_bytes();
        let frame = [&[2, 0, 0, 0, 0, 1][..], &number(newest), &number(newest - first)].concat();
        self.packet(&frame)
    }
}

fn number_of(packet: &[u8]) -> u64 {
    u64::from(u32::from_be_bytes([packet[16], packet[17], packet[18], packet[19]]))
}

#[test]
fn acknowledging_what_was_never_sent_ends_the_session() {
    for newest in [1, 2, 1 << 20, 1 << 40, (1 << 62) - 1] {
        let (mut sender, _) = pair_with(Some(Protection::Null));
        message(&mut sender, ms(0));
        let mut liar = Liar { now: ms(5), sent: 0 };
        let said = acknowledge(&mut sender, &mut liar, newest, 0);
        assert_eq!(said, Err(Refused::UnsentAcknowledged), "{newest}");
        assert!(sender.has_ended());
        // Nothing more comes or goes.
        sender.send(ms(6), 1, Marking::default(), Bytes::from_static(b"a message")).unwrap();
        assert!(sent(&mut sender, ms(5_000)).is_empty() && sender.deadline().is_none());
        assert_eq!(acknowledge(&mut sender, &mut liar, 0, 0), Err(Refused::Ended));
    }
}

#[test]
fn whoever_acknowledges_before_it_has_received_meets_a_number_that_is_left_out() {
    let (mut sender, _) = pair_with(Some(Protection::Null));
    let mut liar = Liar { now: ms(0), sent: 0 };
    let mut newest = 0;
    // It knows which number is the newest, and not which ones there were.
    for packets in 0..200 {
        liar.now += Duration::from_millis(5);
        newest = number_of(&message(&mut sender, liar.now)).max(newest);
        if acknowledge(&mut sender, &mut liar, newest, 0).is_err() {
            assert!(sender.has_ended() && packets < 48, "{packets}");
            return;
        }
    }
    panic!("not noticed in 200 packets");
}

#[test]
fn a_peer_that_moves_is_followed_once_its_new_address_has_answered() {
    let (mut sender, mut receiver) = pair();
    let home = address(2);
    let elsewhere = address(9);
    let mut to_home = message(&mut sender, ms(0));
    receiver.handle(ms(10), address(1), Ecn::NotEct, &mut to_home).unwrap();
    // Its acknowledgement comes from another address.
    for mut ack in sent(&mut receiver, ms(20)) {
        sender.handle(ms(30), elsewhere, Ecn::NotEct, &mut ack).unwrap();
    }
    let (mut challenge, to) = next(&mut sender, ms(30));
    assert_eq!(to, elsewhere);
    // What carries data goes on to where the peer is known to be.
    sender.send(ms(31), 1, Marking::default(), Bytes::from_static(b"a message")).unwrap();
    assert_eq!(next(&mut sender, ms(31)).1, home);
    receiver.handle(ms(40), address(1), Ecn::NotEct, &mut challenge).unwrap();
    let (response, to) = next(&mut receiver, ms(40));
    assert_eq!(to, address(1));
    // Only from there.
    sender.handle(ms(49), home, Ecn::NotEct, &mut response.clone()).unwrap();
    assert_eq!(sender.remote(), home);
    let mut late = receiver_challenged_again(&mut sender, &mut receiver, elsewhere);
    sender.handle(ms(150), elsewhere, Ecn::NotEct, &mut late).unwrap();
    assert_eq!(sender.remote(), elsewhere);
    sender.send(ms(151), 1, Marking::default(), Bytes::from_static(b"a message")).unwrap();
    assert_eq!(next(&mut sender, ms(151)).1, elsewhere);
}

/// The next datagram, and where it goes.
fn next(session: &mut Session, now: Time) -> (Vec<u8>, SocketAddr) {
    let mut out = Vec::new();
    let to = session.poll_transmit(now, &mut out).expect("a datagram");
    (out, to)
}

/// The sender challenges once more; the answer.
fn receiver_challenged_again(
    sender: &mut Session,
    receiver: &mut Session,
    to: SocketAddr,
) -> Vec<u8> {
    let (mut challenge, went) = next(sender, ms(100));
    assert_eq!(went, to);
    receiver.handle(ms(120), address(1), Ecn::NotEct, &mut challenge).unwrap();
    next(receiver, ms(120)).0
}

#[test]
fn an_address_that_proves_nothing_gets_three_times_what_came_from_it_at_most() {
    let (mut sender, _) = pair_with(Some(Protection::Null));
    let (mut liar, victim) = (Liar { now: ms(0), sent: 0 }, address(66));
    let (mut came, mut got, mut newest) = (0, 0, Vec::new());
    for round in 0..2_000_u64 {
        liar.now = ms(round * 10);
        sender.time_out(liar.now);
        sender.send(liar.now, 1, Marking::default(), Bytes::from(vec![0; 4_000])).unwrap();
        let mut out = Vec::new();
        while let Some(to) = sender.poll_transmit(liar.now, &mut out) {
            if to == victim {
                got += out.len();
            } else {
                newest.push(number_of(&out));
            }
        }
        // Truthful from home; pings and challenges in the victim's name.
        for number in newest.drain(..) {
            acknowledge(&mut sender, &mut liar, number, number).unwrap();
        }
        for frame in [&[3][..], &[4, 1, 2, 3, 4, 5, 6, 7, 8], &[5, 0, 0, 0, 0, 0, 0, 0, 0]] {
            let mut packet = liar.packet(frame);
            came += packet.len();
            sender.handle(liar.now, victim, Ecn::NotEct, &mut packet).unwrap();
        }
        assert!(got <= 3 * came, "{got} bytes for {came}");
    }
    assert_eq!(sender.remote(), address(2));
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
        prop_assert!(receiver.handle(ms(1), address(1), Ecn::NotEct, &mut packet).is_err());
        prop_assert!(sent(&mut receiver, ms(100)).is_empty());
        prop_assert_eq!(delivered(&mut receiver), 0);
    }
}
