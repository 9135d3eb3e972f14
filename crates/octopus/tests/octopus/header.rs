//! The header on the wire: the vectors of docs/reference/wire/octopus.md, and everything that may
//! come.

use airlane_octopus::{HEADER_BYTES, Header, HeaderError, Marking, is_older};
use proptest::prelude::*;

/// Header and bytes as docs/reference/wire/octopus.md has them.
fn vectors() -> Vec<(Header, &'static str)> {
    let marking = Marking { priority: 3, drops: Some(2), bitrate_kbps: 7500, slack_ms: 200 };
    let all = Marking { priority: 7, drops: Some(7), bitrate_kbps: 0xf_ffff, slack_ms: 511 };
    let header =
        |stream, message, marking, first, last| Header { stream, message, marking, first, last };
    vec![
        (header(0, 0, Marking::default(), true, true), "07 00 00 00 00 00 00 00 00 00 00 00"),
        (header(1, 2, marking, true, false), "06 6a 0c 80 1d 4c 00 01 00 00 00 02"),
        (header(1, 2, marking, false, false), "04 6a 0c 80 1d 4c 00 01 00 00 00 02"),
        (header(1, 2, marking, false, true), "05 6a 0c 80 1d 4c 00 01 00 00 00 02"),
        (header(0xffff, u32::MAX, all, true, true), "07 fe 1f ff ff ff ff ff ff ff ff ff"),
    ]
}

fn hex(text: &str) -> Vec<u8> {
    text.split(' ').map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect()
}

#[test]
fn headers_are_as_documented() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/wire/octopus.md");
    let page = std::fs::read_to_string(page).unwrap();
    for (header, text) in vectors() {
        assert_eq!(header.encode().unwrap().to_vec(), hex(text), "{header:?}");
        assert_eq!(Header::decode(&hex(text)), Ok(header));
        assert!(page.contains(text), "{text} is not in docs/reference/wire/octopus.md");
    }
}

#[test]
fn what_is_no_header_is_told_apart() {
    let bytes = hex(vectors()[1].1);
    for len in 0..HEADER_BYTES {
        assert_eq!(Header::decode(&bytes[..len]), Err(HeaderError::Truncated(len)));
    }
    for first in 0..=255 {
        let mut bytes = bytes.clone();
        bytes[0] = first;
        let expected = match first {
            4..=7 => None,
            8..=11 => Some(HeaderError::Version(2)),
            12..=15 => Some(HeaderError::Version(3)),
            _ => Some(HeaderError::FirstByte(first)),
        };
        assert_eq!(Header::decode(&bytes).err(), expected);
    }
    // Reserved bits are for those who come later.
    let mut reserved = bytes.clone();
    reserved[1] |= 1;
    reserved[2] |= 0xe0;
    assert_eq!(Header::decode(&reserved), Header::decode(&bytes));
}

#[test]
fn values_that_do_not_fit_are_refused_by_name() {
    for (marking, expected) in [
        (Marking { priority: 8, ..Marking::default() }, "priority is 8; expected at most 7"),
        (Marking { drops: Some(9), ..Marking::default() }, "drops is 9; expected at most 7"),
        (
            Marking { bitrate_kbps: 1 << 20, ..Marking::default() },
            "bitrate_kbps is 1048576; expected at most 1048575",
        ),
        (Marking { slack_ms: 512, ..Marking::default() }, "slack_ms is 512; expected at most 511"),
    ] {
        let header = Header { marking, ..Header::default() };
        assert_eq!(header.encode().unwrap_err().to_string(), expected);
    }
}

#[test]
fn messages_compare_across_the_wrap() {
    assert!(is_older(1, 2) && !is_older(2, 1) && !is_older(2, 2));
    assert!(is_older(u32::MAX, 0) && !is_older(0, u32::MAX));
    assert!(is_older(0, i32::MAX as u32) && !is_older(0, 1 << 31) && !is_older(1 << 31, 0));
}

proptest! {
    #[test]
    fn every_header_comes_back(
        stream: u16, message: u32, priority in 0_u8..8, drops in proptest::option::of(0_u8..8),
        bitrate_kbps in 0_u32..1 << 20, slack_ms in 0_u16..512, first: bool, last: bool,
        payload: Vec<u8>,
    ) {
        let marking = Marking { priority, drops, bitrate_kbps, slack_ms };
        let header = Header { stream, message, marking, first, last };
        let mut packet = header.encode().unwrap().to_vec();
        packet.extend(payload);
        prop_assert_eq!(Header::decode(&packet), Ok(header));
    }

    #[test]
    fn anything_is_read_without_harm(packet: Vec<u8>) {
        if let Ok(header) = Header::decode(&packet) {
            prop_assert!(header.marking.check().is_ok());
        }
    }
}
