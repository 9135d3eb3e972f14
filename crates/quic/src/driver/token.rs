//! The token of an Initial packet, which noq-proto keeps to itself.

use bytes::{Buf, Bytes};

/// The form, fixed bit and type of an Initial packet's first byte (RFC 9000, section 17.2.2).
const INITIAL: u8 = 0b1100_0000;
const INITIAL_MASK: u8 = 0b1111_0000;
/// QUIC version 1.
const VERSION: u32 = 1;
/// Bytes of a connection id at most.
const MAX_ID_BYTES: usize = 20;

/// The token of the first packet of a datagram, if that is an Initial packet.
pub(super) fn of_initial(datagram: &[u8]) -> Option<Bytes> {
    let mut rest = datagram;
    if rest.try_get_u8().ok()? & INITIAL_MASK != INITIAL || rest.try_get_u32().ok()? != VERSION {
        return None;
    }
    for _ in 0..2 {
        let length = usize::from(rest.try_get_u8().ok()?);
        rest = rest.get(length..).filter(|_| length <= MAX_ID_BYTES)?;
    }
    let length = usize::try_from(varint(&mut rest)?).ok()?;
    rest.get(..length).map(Bytes::copy_from_slice)
}

/// A number of variable length (RFC 9000, section 16).
fn varint(from: &mut &[u8]) -> Option<u64> {
    let first = from.try_get_u8().ok()?;
    let bytes = 1 << (first >> 6);
    let mut value = u64::from(first & 0x3f);
    for _ in 1..bytes {
        value = value << 8 | u64::from(from.try_get_u8().ok()?);
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn initial(token_length: &[u8], token: &[u8]) -> Vec<u8> {
        let ids = [&[8][..], &[1; 8], &[4], &[2; 4]].concat();
        [&[0xc3, 0, 0, 0, 1][..], &ids, token_length, token, &[0x44, 0xb0, 0, 0]].concat()
    }

    #[test]
    fn a_token_is_found_behind_the_connection_ids() {
        assert_eq!(of_initial(&initial(&[0], b"")), Some(Bytes::new()));
        assert_eq!(of_initial(&initial(&[3], b"abc")), Some(Bytes::from_static(b"abc")));
        assert_eq!(of_initial(&initial(&[0x40, 3], b"abc")), Some(Bytes::from_static(b"abc")));
    }

    #[test]
    fn what_is_no_initial_packet_has_none() {
        let good = initial(&[3], b"abc");
        for cut in 0..22 {
            assert_eq!(of_initial(&good[..cut]), None, "{cut}");
        }
        for first in [0x43, 0xd3, 0xe3, 0xf3] {
            let mut other = good.clone();
            other[0] = first;
            assert_eq!(of_initial(&other), None, "{first:x}");
        }
        let mut version = good.clone();
        version[4] = 2;
        assert_eq!(of_initial(&version), None);
        assert_eq!(of_initial(&initial(&[0xff; 8], b"abc")), None);
        let mut id = good;
        id[5] = 21;
        assert_eq!(of_initial(&id), None);
    }
}
