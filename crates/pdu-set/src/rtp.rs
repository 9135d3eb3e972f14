//! Marks in datagrams of RTP and SRTP, as whoever has no keys sees them.

use crate::mark::{PduSetFields, PduSetMark};

/// Bytes of the fixed header of RTP (RFC 3550, section 5.1).
const HEADER_BYTES: usize = 12;
/// Profile of elements in the one-byte form, and in the two-byte form but for four bits (RFC 8285, sections 4.2, 4.3).
const ONE_BYTE_PROFILE: u16 = 0xbede;
const TWO_BYTE_PROFILE: u16 = 0x1000;

/// Packet of RTP that carries a mark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MarkedPacket {
    /// Synchronisation source: the stream.
    pub ssrc: u32,
    /// Mark of the packet, without the fields that only some sessions negotiate.
    pub mark: PduSetMark,
}

/// The mark in the payload of a UDP datagram, in the header extension of this identifier; `None` of what is no packet
/// of RTP, carries no such element, or has encrypted extensions (RFC 9335). It proves nothing: only the receiver
/// can check what SRTP authenticates.
pub fn marked_packet(datagram: &[u8], id: u8) -> Option<MarkedPacket> {
    let (head, rest) = datagram.split_first_chunk::<HEADER_BYTES>()?;
    let has_extension = head[0] & 0xf0 & !0x20 == 0x90;
    // Where RTP and RTCP share a port, these are types of RTCP (RFC 5761, section 4).
    let is_rtcp = (64..96).contains(&(head[1] & 0x7f));
    if !has_extension || is_rtcp {
        return None;
    }
    let contributing = usize::from(head[0] & 0x0f) * 4;
    let (&[a, b, c, d], rest) = rest.get(contributing..)?.split_first_chunk()?;
    let elements = rest.get(..usize::from(u16::from_be_bytes([c, d])) * 4)?;
    let data = match u16::from_be_bytes([a, b]) {
        ONE_BYTE_PROFILE => element(elements, id, one_byte_head),
        profile if profile & 0xfff0 == TWO_BYTE_PROFILE => element(elements, id, two_byte_head),
        _ => None,
    }?;
    let mark = PduSetMark::decode(data, PduSetFields::default()).ok()?;
    let ssrc = u32::from_be_bytes([head[8], head[9], head[10], head[11]]);
    Some(MarkedPacket { ssrc, mark })
}

/// Identifier and bytes of an element, with what follows its head; `None`: nothing more is to be read.
type ElementHead = fn(&[u8]) -> Option<(u8, usize, &[u8])>;

fn element(mut elements: &[u8], id: u8, head: ElementHead) -> Option<&[u8]> {
    loop {
        if let [0, rest @ ..] = elements {
            elements = rest;
            continue;
        }
        let (found, bytes, rest) = head(elements)?;
        let (data, rest) = rest.split_at_checked(bytes)?;
        if found == id {
            return Some(data);
        }
        elements = rest;
    }
}

fn one_byte_head(elements: &[u8]) -> Option<(u8, usize, &[u8])> {
    let (head, rest) = elements.split_first()?;
    let id = head >> 4;
    // Neither names an element, and what follows them is not read.
    (id != 0 && id != 15).then_some((id, usize::from(head & 0x0f) + 1, rest))
}

fn two_byte_head(elements: &[u8]) -> Option<(u8, usize, &[u8])> {
    let (&[id, bytes], rest) = elements.split_first_chunk()?;
    Some((id, bytes.into(), rest))
}
