//! Frame exchanges, put together from single transmissions.

use std::time::Duration;

use airlane_base::Time;
use airlane_wifi::{
    Address, Association, BlockAck, Exchanges, Frame, FrameExchange, FrameKind, Part, PartKind,
    Precision, Response, Role, Vector, What, mac,
};

const A: Address = Address([2, 0, 0, 0, 0, 1]);
const B: Address = Address([2, 0, 0, 0, 0, 2]);
const C: Address = Address([2, 0, 0, 0, 0, 3]);

/// The association by the sender alone; what is not answered yet stays open.
struct BySender;

impl Association for BySender {
    fn role(&self, exchange: &FrameExchange, part: &Part<'_>) -> Option<Role> {
        let first = part.first()?;
        let (role, sender) = match part.kind {
            PartKind::Cts(_) => (Role::Cts, Some(first.receiver)),
            PartKind::Response(_) => (Role::Response, Some(first.receiver)),
            PartKind::Ppdu { .. } => (Role::Ppdu, first.transmitter),
            _ => return None,
        };
        (exchange.response.is_none() && exchange.sender == sender).then_some(role)
    }

    fn stays_open(&self, exchange: &FrameExchange, _at: Time) -> bool {
        exchange.response.is_none()
    }
}

fn us(us: u64) -> Duration {
    Duration::from_micros(us)
}

/// A transmission of 100 us.
fn heard(frames: Vec<Frame>) -> What {
    What::Frames { vector: Vector::ofdm(4), is_aggregate: frames.len() > 1, frames }
}

fn push(exchanges: &mut Exchanges<BySender>, at: u64, what: &What) -> Option<Role> {
    let (begin, end) = (Time::from_micros(at), Time::from_micros(at + 100));
    exchanges.push(&Part::new(begin, end, Precision::Exact, what)).role
}

#[test]
fn parts_become_one_exchange_that_has_what_each_of_them_tells() {
    let mut exchanges = Exchanges::new(BySender);
    let rts = Frame { remaining: us(900), ..Frame::new(FrameKind::Rts, B, Some(A), mac::RTS) };
    let cts = Frame { remaining: us(700), ..Frame::new(FrameKind::Cts, A, None, mac::CTS) };
    let data = Frame { is_retry: true, ..Frame::new(FrameKind::QosData, B, Some(A), 500) };
    let ack = Frame::new(FrameKind::BlockAck, A, Some(B), mac::BLOCK_ACK_64);
    let roles = [vec![rts], vec![cts], vec![data, Frame { bytes: 300, ..data }], vec![ack]]
        .into_iter()
        .zip([0, 116, 232, 348])
        .map(|(frames, at)| push(&mut exchanges, at, &heard(frames)));
    let expected = [None, Some(Role::Cts), Some(Role::Ppdu), Some(Role::Response)];
    assert_eq!(roles.collect::<Vec<_>>(), expected);
    let one = exchanges.finish().next().expect("an exchange");
    assert_eq!((one.sender, one.receiver), (Some(A), Some(B)));
    assert_eq!((one.begin, one.end), (Time::ZERO, Time::from_micros(448)));
    assert_eq!((one.announced, one.reserved), (Time::from_micros(1_000), Time::from_micros(916)));
    assert_eq!((one.rts, one.cts), (Some(us(100)), Some(us(100))));
    let ppdu = one.ppdu.expect("data");
    assert_eq!((ppdu.mpdus, ppdu.retries, ppdu.bytes, ppdu.max_bytes), (2, 2, 800, 500));
    assert_eq!((ppdu.response, ppdu.kind()), (Response::BlockAck64, Some(FrameKind::QosData)));
    assert_eq!(one.response.and_then(|response| response.first), Some(ack));
}

#[test]
fn exchanges_that_collide_are_each_answered() {
    let mut exchanges = Exchanges::new(BySender);
    let data = |from| heard(vec![Frame::new(FrameKind::Data, B, Some(from), 500)]);
    let ack = |to| heard(vec![Frame::new(FrameKind::Ack, to, None, mac::ACK)]);
    assert_eq!(push(&mut exchanges, 0, &data(A)), None);
    assert_eq!(push(&mut exchanges, 10, &data(C)), None);
    assert_eq!(push(&mut exchanges, 20, &What::Energy), None);
    assert_eq!(push(&mut exchanges, 130, &ack(A)), Some(Role::Response));
    assert_eq!(push(&mut exchanges, 140, &ack(C)), Some(Role::Response));
    let senders: Vec<_> = exchanges.finish().map(|e| (e.sender, e.response.is_some())).collect();
    assert_eq!(senders, [(Some(A), true), (Some(C), true), (None, false)]);
}

#[test]
fn frames_that_a_later_block_ack_repeats_are_not_new() {
    let bits = |start, came| BlockAck { start, came: [came, 0, 0, 0] };
    assert_eq!(bits(100, 0b111_1111).count_since(&bits(100, 0b1111)), 3);
    assert_eq!(bits(102, 0b1_1111).count_since(&bits(100, 0b1111)), 3);
    assert_eq!(bits(1, 0b1).count_since(&bits(4_095, 0b11)), 1);
    assert_eq!(bits(99, 0b1).count_since(&bits(100, 0b1)), 0);
    let later = BlockAck { start: 100, came: [0, 1, 0, 0] };
    assert_eq!(bits(164, 0b11).count_since(&later), 1, "64 further: the first was known");
    assert_eq!(bits(163, 0b111).count_since(&later), 2, "63 further: the second was");
    let all = BlockAck { start: 100, came: [!0; 4] };
    assert_eq!(bits(356, 0b111).count_since(&all), 3, "beyond the window all are new");
    assert_eq!((later.highest(), later.acknowledges(164), all.count()), (Some(164), true, 256));
}
