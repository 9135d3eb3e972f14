//! How a frame is cut into the payloads of RTP packets, and what stands in front of each.
//!
//! A descriptor of 5 bytes is in the place of VP8's of 4 to 6 (RFC 7741): flags and the frame's
//! number, in network byte order; the first packet of a frame adds the time of capture, 8 bytes.
//! RTP's marker is on the last packet, as for every kind of video.

use airlane_base::{IP_UDP_HEADER_BYTES, Rate, Time};

/// The payload type; it says VP8, which tells str0m that it carries video.
pub(crate) const VP8: u8 = 96;

/// Bytes of a payload at most, descriptor included. With the header of RTP and its extensions (12 +
/// 16), the tag (16) and what a repetition adds (2), UDP payloads are 1196 bytes at most.
pub(crate) const PAYLOAD_BYTES: usize = 1_150;

/// Bytes of the tag that authenticates an RTP packet (RFC 7714).
pub(crate) const TAG_BYTES: usize = 16;

/// IP bytes of a full packet: its payload, RTP's header and extensions, the tag, UDP and IP.
const IP_BYTES: usize = PAYLOAD_BYTES + 12 + 16 + TAG_BYTES + IP_UDP_HEADER_BYTES as usize;

/// Rate of IP packets that carry `payload`, a rate of RTP payloads, in full packets.
pub fn ip_rate(payload: Rate) -> Rate {
    payload.scale(IP_BYTES as f64 / PAYLOAD_BYTES as f64)
}

const FIRST: u8 = 1;
const KEY: u8 = 2;
const NUMBER: usize = 4;
const CAPTURED: usize = 8;

/// Descriptor in front of a piece of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Descriptor {
    /// The frame's number, from 0.
    pub(crate) number: u32,
    /// True if it stands alone.
    pub(crate) key: bool,
    /// Time of capture; with the first piece only.
    pub(crate) captured: Option<Time>,
}

impl Descriptor {
    /// The descriptor and the piece behind it; `None` if it is none of ours.
    pub(crate) fn decode(payload: &[u8]) -> Option<(Self, &[u8])> {
        let (flags, rest) = payload.split_first()?;
        let (number, mut rest) = rest.split_first_chunk::<NUMBER>()?;
        if flags & !(FIRST | KEY) != 0 {
            return None;
        }
        let mut captured = None;
        if flags & FIRST != 0 {
            let (nanos, piece) = rest.split_first_chunk::<CAPTURED>()?;
            captured = Some(Time::from_nanos(u64::from_be_bytes(*nanos)));
            rest = piece;
        }
        let number = u32::from_be_bytes(*number);
        Some((Self { number, key: flags & KEY != 0, captured }, rest))
    }

    fn encode(&self, piece: &[u8]) -> Vec<u8> {
        let first = if self.captured.is_some() { FIRST } else { 0 };
        let key = if self.key { KEY } else { 0 };
        let mut payload = Vec::with_capacity(1 + NUMBER + CAPTURED + piece.len());
        payload.push(first | key);
        payload.extend_from_slice(&self.number.to_be_bytes());
        if let Some(captured) = self.captured {
            payload.extend_from_slice(&captured.as_nanos().to_be_bytes());
        }
        payload.extend_from_slice(piece);
        payload
    }
}

/// The payloads of a frame: as few as possible and, as libwebrtc's packetisers cut, of one size.
pub(crate) fn payloads(
    number: u32,
    key: bool,
    captured: Time,
    data: &[u8],
) -> impl Iterator<Item = Vec<u8>> {
    let room = PAYLOAD_BYTES - 1 - NUMBER;
    let bytes = data.len() + CAPTURED;
    let pieces = bytes.div_ceil(room);
    // The first byte of a piece, the time of capture counted as the beginning of the first.
    let start = move |i: usize| (bytes * i).div_ceil(pieces).saturating_sub(CAPTURED);
    (0..pieces).map(move |i| {
        let captured = (i == 0).then_some(captured);
        let piece = data.get(start(i)..start(i + 1)).unwrap_or_default();
        Descriptor { number, key, captured }.encode(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_of_every_size_come_out_as_they_went_in() {
        let captured = Time::from_nanos(123_456_789);
        for size in (0..20).chain(1_130..1_160).chain(2_270..2_300).chain([50_000]) {
            let data: Vec<u8> = (0..size).map(|i| (i * 7) as u8).collect();
            let mut joined = Vec::new();
            for (i, payload) in payloads(7, true, captured, &data).enumerate() {
                assert!(payload.len() <= PAYLOAD_BYTES, "{size}: {}", payload.len());
                let (descriptor, piece) = Descriptor::decode(&payload).unwrap();
                let captured = (i == 0).then_some(captured);
                assert_eq!(descriptor, Descriptor { number: 7, key: true, captured });
                joined.extend_from_slice(piece);
            }
            assert_eq!(joined, data, "{size}");
        }
    }

    #[test]
    fn what_is_none_of_ours_is_refused() {
        assert_eq!(Descriptor::decode(&[]), None);
        assert_eq!(Descriptor::decode(&[0, 0, 0, 0]), None);
        assert_eq!(Descriptor::decode(&[4, 0, 0, 0, 0]), None);
        assert_eq!(Descriptor::decode(&[FIRST, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7]), None);
        let bare = Descriptor { number: 0, key: false, captured: None };
        assert_eq!(Descriptor::decode(&[0; 5]), Some((bare, &[][..])));
    }
}
