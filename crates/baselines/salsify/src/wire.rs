//! Packets (`docs/design/salsify.md`, Packets). Numbers are in network byte order.

use std::time::Duration;

use crate::sprout::MAX_TICKS;

/// Room for a seal behind every packet: zeroes here.
pub(crate) const TAG_BYTES: usize = 16;
/// Bytes in front of a fragment.
pub(crate) const DATA_HEADER_BYTES: usize = 29;
/// Fragments of a frame at most.
pub(crate) const MAX_FRAGMENTS: usize = 2_048;
/// Packets before the newest that an acknowledgement tells of.
pub(crate) const SEEN_BITS: u32 = 64;

const DATA: u8 = 1;
const FILLER: u8 = 2;
const ACK: u8 = 3;

/// A decoder's state after a frame; zero is the state before any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct State(pub(crate) u32);

/// Fields that every packet from the sender has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Timing {
    /// The packet's number.
    pub(crate) packet: u32,
    /// Time before it in which there was nothing to send.
    pub(crate) pause: Duration,
    /// Time after it in which there will be nothing to send.
    pub(crate) next: Duration,
}

/// The part of a frame in a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) frame: u32,
    /// The state that the frame builds on.
    pub(crate) source: State,
    /// The state after it.
    pub(crate) target: State,
    /// Number of the fragment, of so many `fragments`.
    pub(crate) fragment: u16,
    pub(crate) fragments: u16,
}

/// Acknowledgement by the receiver.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ack {
    /// The newest packet that came.
    pub(crate) newest: u32,
    /// Bits of those before it that came, the lowest bit for the one just before.
    pub(crate) seen: u64,
    /// The newest state that it has, and its frame.
    pub(crate) state: State,
    pub(crate) frame: u32,
    /// The mean gap between packets, once there is one.
    pub(crate) gap: Option<Duration>,
    /// The number of the forecast, and packets within 1, 2, ... ticks.
    pub(crate) tick: u32,
    pub(crate) forecast: Vec<u16>,
}

/// A packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Message<'a> {
    Data(Timing, Piece, &'a [u8]),
    /// It says when to expect more, or shows how fast packets get through.
    Filler(Timing),
    Ack(Ack),
}

fn micros(time: Duration) -> u32 {
    u32::try_from(time.as_micros()).unwrap_or(u32::MAX)
}

impl Message<'_> {
    /// The packet, of `least` bytes or more.
    pub(crate) fn encode(&self, least: usize) -> Vec<u8> {
        let mut out = Vec::with_capacity(1_500);
        let timing = |out: &mut Vec<u8>, kind: u8, timing: &Timing| {
            out.push(kind);
            out.extend_from_slice(&timing.packet.to_be_bytes());
            out.extend_from_slice(&micros(timing.pause).to_be_bytes());
            out.extend_from_slice(&micros(timing.next).to_be_bytes());
        };
        match self {
            Message::Data(at, piece, data) => {
                timing(&mut out, DATA, at);
                out.extend_from_slice(&piece.frame.to_be_bytes());
                out.extend_from_slice(&piece.source.0.to_be_bytes());
                out.extend_from_slice(&piece.target.0.to_be_bytes());
                out.extend_from_slice(&piece.fragment.to_be_bytes());
                out.extend_from_slice(&piece.fragments.to_be_bytes());
                out.extend_from_slice(data);
            }
            Message::Filler(at) => {
                timing(&mut out, FILLER, at);
                out.resize(out.len().max(least.saturating_sub(TAG_BYTES)), 0);
            }
            Message::Ack(ack) => {
                out.push(ACK);
                out.extend_from_slice(&ack.newest.to_be_bytes());
                out.extend_from_slice(&ack.seen.to_be_bytes());
                out.extend_from_slice(&ack.state.0.to_be_bytes());
                out.extend_from_slice(&ack.frame.to_be_bytes());
                let gap = ack.gap.map_or(u32::MAX, |gap| micros(gap).min(u32::MAX - 1));
                out.extend_from_slice(&gap.to_be_bytes());
                out.extend_from_slice(&ack.tick.to_be_bytes());
                let ticks = &ack.forecast[..ack.forecast.len().min(MAX_TICKS)];
                out.push(ticks.len() as u8);
                ticks.iter().for_each(|packets| out.extend_from_slice(&packets.to_be_bytes()));
            }
        }
        out.resize(out.len() + TAG_BYTES, 0);
        out
    }

    /// `None` if the bytes are no packet: the peer errs, or they are somebody else's.
    pub(crate) fn decode(datagram: &[u8]) -> Option<Message<'_>> {
        let (mut rest, _tag) = datagram.split_last_chunk::<TAG_BYTES>()?;
        let rest = &mut rest;
        let kind = take::<1>(rest)?[0];
        match kind {
            DATA => {
                let timing = timing(rest)?;
                let piece = Piece {
                    frame: take_u32(rest)?,
                    source: State(take_u32(rest)?),
                    target: State(take_u32(rest)?),
                    fragment: take_u16(rest)?,
                    fragments: take_u16(rest)?,
                };
                let fits = piece.fragment < piece.fragments
                    && usize::from(piece.fragments) <= MAX_FRAGMENTS
                    && piece.target != State::default()
                    && !rest.is_empty();
                fits.then_some(Message::Data(timing, piece, rest))
            }
            FILLER => timing(rest).map(Message::Filler),
            ACK => {
                let newest = take_u32(rest)?;
                let seen = u64::from_be_bytes(take(rest)?);
                let (state, frame) = (State(take_u32(rest)?), take_u32(rest)?);
                let gap = take_u32(rest)?;
                let gap = (gap != u32::MAX).then(|| Duration::from_micros(gap.into()));
                let tick = take_u32(rest)?;
                let ticks = usize::from(take::<1>(rest)?[0]);
                if ticks > MAX_TICKS {
                    return None;
                }
                let mut forecast = Vec::with_capacity(ticks);
                for _ in 0..ticks {
                    forecast.push(take_u16(rest)?);
                }
                let grows = forecast.is_sorted();
                let ack = Ack { newest, seen, state, frame, gap, tick, forecast };
                (rest.is_empty() && grows).then_some(Message::Ack(ack))
            }
            _ => None,
        }
    }
}

fn timing(rest: &mut &[u8]) -> Option<Timing> {
    Some(Timing {
        packet: take_u32(rest)?,
        pause: Duration::from_micros(take_u32(rest)?.into()),
        next: Duration::from_micros(take_u32(rest)?.into()),
    })
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (first, behind) = rest.split_first_chunk::<N>()?;
    *rest = behind;
    Some(*first)
}

fn take_u32(rest: &mut &[u8]) -> Option<u32> {
    take(rest).map(u32::from_be_bytes)
}

fn take_u16(rest: &mut &[u8]) -> Option<u16> {
    take(rest).map(u16::from_be_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> [Message<'static>; 4] {
        let timing = Timing {
            packet: 7,
            pause: Duration::from_micros(30_001),
            next: Duration::from_micros(5),
        };
        let (source, target) = (State(1), State(u32::MAX));
        let piece = Piece { frame: 9, source, target, fragment: 1, fragments: 2 };
        let ack = Ack {
            newest: u32::MAX,
            seen: 1 << 63 | 1,
            state: target,
            frame: 9,
            gap: Some(Duration::from_micros(1_900)),
            tick: 3,
            forecast: vec![0, 0, 5, 300],
        };
        [
            Message::Data(timing, piece, &[1, 2, 3]),
            Message::Filler(timing),
            Message::Ack(Ack::default()),
            Message::Ack(ack),
        ]
    }

    #[test]
    fn packets_are_read_as_written() {
        for message in all() {
            let bytes = message.encode(0);
            assert_eq!(Message::decode(&bytes), Some(message));
        }
        let [data, filler, ..] = all();
        assert_eq!(data.encode(0).len(), DATA_HEADER_BYTES + 3 + TAG_BYTES);
        assert_eq!(filler.encode(1_372).len(), 1_372);
    }

    #[test]
    fn what_is_no_packet_is_refused() {
        for message in all() {
            let bytes = message.encode(0);
            for length in 0..bytes.len() {
                // A shorter fragment and a shorter filler are packets too, but never less than one byte.
                let got = Message::decode(&bytes[..length]);
                assert!(
                    got.is_none() || matches!(got, Some(Message::Data(_, _, d)) if d.len() < 3),
                    "{message:?} cut to {length}"
                );
            }
        }
        let [data, .., ack] = all();
        let mut none_of_two = data.encode(0);
        none_of_two[25..29].copy_from_slice(&[0, 2, 0, 2]);
        assert_eq!(Message::decode(&none_of_two), None);
        let mut too_many = data.encode(0);
        too_many[27..29].copy_from_slice(&u16::MAX.to_be_bytes());
        assert_eq!(Message::decode(&too_many), None);
        let mut falls = ack.encode(0);
        falls[30] = 9;
        assert_eq!(Message::decode(&falls), None);
    }
}
