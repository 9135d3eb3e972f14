//! A datagram in a stream. `docs/reference/wire/tunnel.md` has the format.

use bytes::{Buf, BufMut, Bytes, BytesMut};

use crate::request::Target;

/// Bytes of a datagram's payload at most: those of UDP over IPv4.
const MAX_PAYLOAD_BYTES: usize = 65_507;

/// A datagram: to where, or from where, and what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatagramFrame {
    /// The other end, as the serving end knows it.
    pub target: Target,
    /// Payload of the datagram.
    pub payload: Bytes,
}

impl DatagramFrame {
    /// As bytes; `None` if it is longer than a datagram can be.
    pub fn encode(target: &Target, payload: &[u8]) -> Option<Bytes> {
        let address = 2 + target.host.len();
        if payload.len() > MAX_PAYLOAD_BYTES {
            return None;
        }
        let mut out = BytesMut::with_capacity(2 + 2 + address + payload.len());
        out.put_u16(address as u16);
        out.put_u16(payload.len() as u16);
        target.encode(&mut out);
        out.put_slice(payload);
        Some(out.freeze())
    }

    /// Takes the first off `from`; `None` if not all of it is there.
    ///
    /// # Errors
    /// If it is none.
    #[expect(clippy::result_unit_err, reason = "there is nothing more to say of it")]
    pub fn decode(from: &mut BytesMut) -> Result<Option<Self>, ()> {
        let Some(&[a, b, c, d]) = from.first_chunk::<4>() else { return Ok(None) };
        let address = usize::from(u16::from_be_bytes([a, b]));
        let payload = usize::from(u16::from_be_bytes([c, d]));
        if !(3..=2 + 255).contains(&address) || payload > MAX_PAYLOAD_BYTES {
            return Err(());
        }
        if from.len() < 4 + address + payload {
            return Ok(None);
        }
        from.advance(4);
        let target = Target::decode(&from.split_to(address)).ok_or(())?;
        Ok(Some(Self { target, payload: from.split_to(payload).freeze() }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_come_back_as_they_were_however_they_are_cut() {
        let targets =
            ["10.0.0.1:53", "[fd00::1]:53", "example.org:53"].map(|t| Target::parse(t).unwrap());
        let payloads = [&b""[..], b"x", &[7; MAX_PAYLOAD_BYTES]];
        let all: Vec<u8> = targets
            .iter()
            .zip(payloads)
            .flat_map(|(target, payload)| DatagramFrame::encode(target, payload).unwrap())
            .collect();
        for step in [1, 1000, all.len()] {
            let (mut buffer, mut found) = (BytesMut::new(), Vec::new());
            for piece in all.chunks(step) {
                buffer.extend_from_slice(piece);
                while let Some(frame) = DatagramFrame::decode(&mut buffer).unwrap() {
                    found.push(frame);
                }
            }
            assert_eq!(found.len(), 3);
            for ((frame, target), payload) in found.iter().zip(&targets).zip(payloads) {
                assert_eq!((&frame.target, &frame.payload[..]), (target, payload));
            }
        }
    }

    #[test]
    fn what_is_no_datagram_is_refused() {
        for bad in
            [&[0, 2, 0, 0][..], &[1, 2, 0, 0], &[0, 3, 0xff, 0xff], &[0, 3, 0, 0, 0, 1, b' ']]
        {
            assert!(DatagramFrame::decode(&mut BytesMut::from(bad)).is_err(), "{bad:?}");
        }
        let target = Target::parse("a:1").unwrap();
        assert!(DatagramFrame::encode(&target, &[0; MAX_PAYLOAD_BYTES + 1]).is_none());
    }

    #[test]
    fn a_datagram_is_as_the_document_has_it() {
        let text = include_str!("../../../../docs/reference/wire/tunnel.md");
        let vector = text.lines().find_map(|line| line.strip_prefix("Datagram: `")).unwrap();
        let digits: String = vector.chars().filter(char::is_ascii_hexdigit).collect();
        let target = Target::parse("192.0.2.1:53").unwrap();
        let bytes = DatagramFrame::encode(&target, b"ask").unwrap();
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, digits);
    }
}
