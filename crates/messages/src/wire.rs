//! The format of a packet (`docs/reference/wire/messages.md`).
//!
//! ```text
//! 0      12        16                         20              end - 16    end
//! | Octopus header | session | phase, number | sealed: frame | tag        |
//! ```

use airlane_congestion::EcnCounts;
use airlane_octopus::{HEADER_BYTES, Header};

/// Bytes in clear in front of the sealed frame.
pub const CLEAR_BYTES: usize = HEADER_BYTES + 8;
/// Bytes of the seal behind the frame.
pub const TAG_BYTES: usize = 16;
/// Bytes of a data frame besides the fragment.
pub const DATA_FRAME_BYTES: usize = 3;
/// Bytes of a packet with a fragment besides the fragment.
pub const OVERHEAD_BYTES: usize = CLEAR_BYTES + DATA_FRAME_BYTES + TAG_BYTES;
/// Fragments of a message at most.
pub const MAX_FRAGMENTS: usize = 1 << 16;
/// Ranges of packet numbers in an acknowledgement at most.
pub const MAX_RANGES: usize = 32;
/// The stream of packets that carry no message. Applications cannot send on it.
pub const CONTROL_STREAM: u16 = u16::MAX;

/// The bit of the key phase.
const PHASE: u32 = 1 << 31;

const DATA: u8 = 1;
const ACK: u8 = 2;
const PING: u8 = 3;
const PATH_CHALLENGE: u8 = 4;
const PATH_RESPONSE: u8 = 5;
const MTU_PROBE: u8 = 6;
const ACK_ECN: u8 = 7;
/// Bytes of a packet with a challenge or a response.
pub(crate) const ROUTE_PACKET_BYTES: usize = CLEAR_BYTES + 9 + TAG_BYTES;
/// Bytes of a packet with a probe besides its padding.
pub(crate) const PROBE_OVERHEAD_BYTES: usize = CLEAR_BYTES + 1 + TAG_BYTES;

/// Part of a packet in clear.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clear {
    /// Header that queues in the network read.
    pub header: Header,
    /// The receiver's number of the session.
    pub session: u32,
    /// The key phase: it changes with each update of the sender's key.
    pub phase: bool,
    /// The low 31 bits of the packet number.
    pub low: u32,
}

impl Clear {
    /// The bytes, of a header whose marking fits.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) -> Option<()> {
        out.extend_from_slice(&self.header.encode().ok()?);
        out.extend_from_slice(&self.session.to_be_bytes());
        let phase = if self.phase { PHASE } else { 0 };
        out.extend_from_slice(&(self.low & !PHASE | phase).to_be_bytes());
        Some(())
    }

    /// Reads what is in clear of a datagram; `None` if it is none of ours.
    pub fn decode(datagram: &[u8]) -> Option<Self> {
        let header = Header::decode(datagram).ok()?;
        let rest: &[u8; 8] = datagram.get(HEADER_BYTES..)?.first_chunk()?;
        let [s0, s1, s2, s3, n0, n1, n2, n3] = *rest;
        let number = u32::from_be_bytes([n0, n1, n2, n3]);
        Some(Self {
            header,
            session: u32::from_be_bytes([s0, s1, s2, s3]),
            phase: number & PHASE != 0,
            low: number & !PHASE,
        })
    }
}

/// The packet number nearest to `expected` whose low 31 bits are `low`.
pub(crate) fn expand(low: u32, expected: u64) -> u64 {
    const SPAN: u64 = 1 << 31;
    let near = expected & !(SPAN - 1) | u64::from(low);
    if near + SPAN / 2 < expected {
        near.saturating_add(SPAN)
    } else if near > expected.saturating_add(SPAN / 2) && near >= SPAN {
        near - SPAN
    } else {
        near
    }
}

/// Encrypted contents of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Frame<'a> {
    /// A fragment of the message that the header names.
    Data { fragment: u16, bytes: &'a [u8] },
    /// Packets that have arrived.
    Ack(Ack),
    /// Nothing: it asks for an acknowledgement.
    Ping,
    /// Asks the address that it goes to for a response with the same data.
    PathChallenge([u8; 8]),
    /// The answer to a challenge.
    PathResponse([u8; 8]),
    /// So many zeros: it asks for an acknowledgement, which shows that the path carries the packet.
    MtuProbe { padding: usize },
}

/// Acknowledgement: the packets that have arrived, and the delay of its newest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ack {
    /// Time that the newest packet waited for this acknowledgement, in microseconds.
    pub(crate) delay_us: u32,
    /// Ranges of packet numbers, both ends included: the newest first, apart from each other.
    pub(crate) ranges: Vec<(u64, u64)>,
    /// Packets that came with ECT(1) or marked, from the beginning; `None` if none did.
    pub(crate) ecn: Option<EcnCounts>,
}

impl Frame<'_> {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Frame::Data { fragment, bytes } => {
                out.push(DATA);
                out.extend_from_slice(&fragment.to_be_bytes());
                out.extend_from_slice(bytes);
            }
            Frame::Ack(ack) => ack.encode(out),
            Frame::Ping => out.push(PING),
            Frame::PathChallenge(data) => {
                out.push(PATH_CHALLENGE);
                out.extend_from_slice(data);
            }
            Frame::PathResponse(data) => {
                out.push(PATH_RESPONSE);
                out.extend_from_slice(data);
            }
            Frame::MtuProbe { padding } => {
                out.push(MTU_PROBE);
                out.resize(out.len() + padding, 0);
            }
        }
    }

    /// `None` if the bytes are no frame: the peer errs.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Frame<'_>> {
        let (&kind, rest) = bytes.split_first()?;
        match kind {
            DATA => {
                let (fragment, bytes) = rest.split_first_chunk()?;
                Some(Frame::Data { fragment: u16::from_be_bytes(*fragment), bytes })
            }
            ACK => Ack::decode(rest, false).map(Frame::Ack),
            ACK_ECN => Ack::decode(rest, true).map(Frame::Ack),
            PING => rest.is_empty().then_some(Frame::Ping),
            PATH_CHALLENGE => Some(Frame::PathChallenge(rest.try_into().ok()?)),
            PATH_RESPONSE => Some(Frame::PathResponse(rest.try_into().ok()?)),
            MTU_PROBE => Some(Frame::MtuProbe { padding: rest.len() }),
            _ => None,
        }
    }
}

impl Ack {
    /// True if the acknowledgement covers this packet.
    pub(crate) fn covers(&self, pn: u64) -> bool {
        self.ranges.iter().any(|range| (range.0..=range.1).contains(&pn))
    }

    fn encode(&self, out: &mut Vec<u8>) {
        let Some(&(first, newest)) = self.ranges.first() else { return };
        let ranges = &self.ranges[..self.ranges.len().min(MAX_RANGES)];
        out.push(if self.ecn.is_some() { ACK_ECN } else { ACK });
        out.extend_from_slice(&self.delay_us.to_be_bytes());
        out.push(ranges.len() as u8);
        put(out, newest);
        put(out, newest - first);
        let mut below = first;
        for &(first, last) in &ranges[1..] {
            put(out, below - last);
            put(out, last - first);
            below = first;
        }
        if let Some(EcnCounts { ect1, ce }) = self.ecn {
            put(out, ect1);
            put(out, ce);
        }
    }

    fn decode(bytes: &[u8], has_ecn: bool) -> Option<Self> {
        let (delay, rest) = bytes.split_first_chunk()?;
        let (&count, mut rest) = rest.split_first()?;
        if count == 0 || usize::from(count) > MAX_RANGES {
            return None;
        }
        let newest = take(&mut rest)?;
        let mut below = newest.checked_sub(take(&mut rest)?)?;
        let mut ranges = vec![(below, newest)];
        for _ in 1..count {
            let gap = take(&mut rest)?;
            // Ranges that touch are one.
            if gap < 2 {
                return None;
            }
            let last = below.checked_sub(gap)?;
            below = last.checked_sub(take(&mut rest)?)?;
            ranges.push((below, last));
        }
        let ecn = match has_ecn {
            true => Some(EcnCounts { ect1: take(&mut rest)?, ce: take(&mut rest)? }),
            false => None,
        };
        rest.is_empty().then_some(Self { delay_us: u32::from_be_bytes(*delay), ranges, ecn })
    }
}

/// Writes a number in 1, 2, 4 or 8 bytes, as QUIC does (RFC 9000, section 16).
fn put(out: &mut Vec<u8>, value: u64) {
    match value {
        0..0x40 => out.push(value as u8),
        0x40..0x4000 => out.extend_from_slice(&(value as u16 | 1 << 14).to_be_bytes()),
        0x4000..0x4000_0000 => out.extend_from_slice(&(value as u32 | 2 << 30).to_be_bytes()),
        _ => out.extend_from_slice(&(value & ((1 << 62) - 1) | 3 << 62).to_be_bytes()),
    }
}

fn take(bytes: &mut &[u8]) -> Option<u64> {
    let length = 1 << (bytes.first()? >> 6);
    let (number, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    let value = number.iter().fold(0, |value: u64, byte| value << 8 | u64::from(*byte));
    Some(value & ((1 << (8 * length - 2)) - 1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_are_expanded_to_the_nearest() {
        let span = 1_u64 << 31;
        for (expected, number) in [
            (0, 0),
            (1, 5),
            (span - 1, span + 3),
            (span + 2, span - 4),
            (3 * span + 10, 3 * span + 9),
            (span / 2, 0),
            (5 * span, 5 * span + span / 2 - 1),
        ] {
            assert_eq!(expand(number as u32 & !PHASE, expected), number, "{expected}");
        }
        // There is nothing below zero.
        assert_eq!(expand(u32::MAX >> 1, 3), span - 1);
    }

    #[test]
    fn a_frame_that_is_none_is_refused() {
        for bytes in [
            &[][..],
            &[0],
            &[8, 0, 0],
            &[PING, 0],
            &[PATH_CHALLENGE, 0, 0, 0, 0, 0, 0, 0],
            &[PATH_RESPONSE, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            &[DATA],
            &[DATA, 1],
            &[ACK, 0, 0, 0, 0],
            // No range, too many, ranges that touch, more than there is, something behind.
            &[ACK, 0, 0, 0, 0, 0, 5, 0],
            &[ACK, 0, 0, 0, 0, 33, 5, 0],
            &[ACK, 0, 0, 0, 0, 2, 5, 0, 1, 0],
            &[ACK, 0, 0, 0, 0, 1, 5, 6],
            &[ACK, 0, 0, 0, 0, 1, 5, 0, 0],
            &[ACK, 0, 0, 0, 0, 1, 0xc0, 0],
            // Counts that are missing, half there, or not of this frame.
            &[ACK_ECN, 0, 0, 0, 0, 1, 5, 0],
            &[ACK_ECN, 0, 0, 0, 0, 1, 5, 0, 7],
            &[ACK, 0, 0, 0, 0, 1, 5, 0, 7, 9],
            &[ACK_ECN, 0, 0, 0, 0, 1, 5, 0, 7, 9, 1],
        ] {
            assert_eq!(Frame::decode(bytes), None, "{bytes:?}");
        }
    }

    prop_compose! {
        fn an_ack()(
            delay_us: u32,
            base in 0u64..1 << 60,
            spans in prop::collection::vec((0u64..100_000, 2u64..100_000), 1..=MAX_RANGES),
            ecn in prop::option::of((0u64..1 << 62, 0u64..1 << 62)),
        ) -> Ack {
            let mut below = base + 1_000_000_000;
            let ranges = spans.into_iter().map(|(length, gap)| {
                let last = below - gap;
                below = last - length;
                (below, last)
            });
            let ecn = ecn.map(|(ect1, ce)| EcnCounts { ect1, ce });
            Ack { delay_us, ranges: ranges.collect(), ecn }
        }
    }

    proptest! {
        #[test]
        fn frames_are_read_as_written(
            ack in an_ack(),
            fragment: u16,
            bytes: Vec<u8>,
            data: [u8; 8],
        ) {
            for frame in [
                Frame::Ack(ack),
                Frame::Data { fragment, bytes: &bytes },
                Frame::Ping,
                Frame::PathChallenge(data),
                Frame::PathResponse(data),
                Frame::MtuProbe { padding: bytes.len() },
            ] {
                let mut out = Vec::new();
                frame.encode(&mut out);
                prop_assert_eq!(Frame::decode(&out), Some(frame));
            }
        }

        #[test]
        fn a_number_is_found_again(expected in 0u64..1 << 62, off in -(1i64 << 30)..1 << 30) {
            let number = expected.saturating_add_signed(off);
            prop_assert_eq!(expand(number as u32 & !PHASE, expected), number);
        }

        #[test]
        fn strange_bytes_do_no_harm(bytes: Vec<u8>) {
            let _ = Frame::decode(&bytes);
            let _ = Clear::decode(&bytes);
        }
    }
}
