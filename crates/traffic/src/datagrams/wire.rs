//! Packets.

use airlane_base::Pattern;

/// A seal's bytes, which are kept though nothing is sealed.
const SEAL_BYTES: usize = 16;
const HEADER_BYTES: usize = 9;
const DATA: u8 = 1;
const ACK: u8 = 2;

/// Bytes that there are to be sent: more than anybody waits for.
const ENDLESS: u64 = 1 << 60;

/// A packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Message<'a> {
    Data { pn: u64, data: &'a [u8] },
    Ack { pn: u64, marked: bool },
}

/// The data of all packets.
pub(super) struct Body(Pattern);

impl Body {
    pub(super) fn new() -> Self {
        Self(Pattern::new("datagrams", ENDLESS))
    }

    /// The packet of a number, of so many bytes of UDP payload.
    pub(super) fn packet(&self, pn: u64, payload_bytes: usize) -> Vec<u8> {
        let data = payload_bytes.saturating_sub(HEADER_BYTES + SEAL_BYTES) as u64;
        let mut bytes = Vec::with_capacity(payload_bytes);
        bytes.push(DATA);
        bytes.extend(pn.to_be_bytes());
        let from = start(pn, data);
        for piece in self.0.pieces(from..from + data, data.max(1)) {
            bytes.extend_from_slice(&piece);
        }
        bytes.resize(payload_bytes.max(HEADER_BYTES + SEAL_BYTES), 0);
        bytes
    }

    /// True if the data of a packet is what was sent.
    pub(super) fn matches(&self, pn: u64, data: &[u8]) -> bool {
        self.0.matches(start(pn, data.len() as u64), data)
    }
}

/// Offset at which the data of a packet begins. A number that nobody sends wraps around.
fn start(pn: u64, data: u64) -> u64 {
    pn.wrapping_mul(data) % (ENDLESS / 2)
}

/// An acknowledgement.
pub(super) fn ack(pn: u64, marked: bool) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER_BYTES + 1 + SEAL_BYTES);
    bytes.push(ACK);
    bytes.extend(pn.to_be_bytes());
    bytes.push(marked.into());
    bytes.resize(HEADER_BYTES + 1 + SEAL_BYTES, 0);
    bytes
}

/// Reads a packet; `None` if it is none.
pub(super) fn decode(bytes: &[u8]) -> Option<Message<'_>> {
    let (kind, rest) = bytes.split_first()?;
    let (pn, rest) = rest.split_first_chunk()?;
    let pn = u64::from_be_bytes(*pn);
    let (rest, _) = rest.split_last_chunk::<SEAL_BYTES>()?;
    match (*kind, rest) {
        (DATA, data) => Some(Message::Data { pn, data }),
        (ACK, [marked]) => Some(Message::Ack { pn, marked: *marked != 0 }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_read_as_they_were_written_and_others_are_none() {
        let body = Body::new();
        for pn in [0, 7, 1 << 40] {
            let packet = body.packet(pn, 1_472);
            assert_eq!(packet.len(), 1_472);
            let Some(Message::Data { pn: read, data }) = decode(&packet) else { panic!() };
            assert!(read == pn && data.len() == 1_447 && body.matches(pn, data));
            assert!(!body.matches(pn + 1, data));
            assert_eq!(decode(&ack(pn, true)), Some(Message::Ack { pn, marked: true }));
        }
        assert_eq!(decode(&[]), None);
        assert_eq!(decode(&[3; 40]), None);
        assert_eq!(decode(&ack(1, false)[..20]), None);
        assert!(!body.matches(u64::MAX, &[1; 100]));
    }
}
