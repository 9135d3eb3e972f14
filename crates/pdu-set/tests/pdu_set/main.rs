//! Marks, and packets that carry them.

use airlane_pdu_set::{
    DEFAULT_ID, MarkError, PduSetFields, PduSetImportance, PduSetMark, marked_packet,
};
use proptest::prelude::*;

/// A packet of SRTP with these elements, and contributing sources.
fn packet(profile: u16, elements: &[u8], contributing: u8) -> Vec<u8> {
    let mut bytes = vec![0x90 | contributing, 0xe0, 0, 1, 0, 0, 0, 2, 1, 2, 3, 4];
    bytes.resize(bytes.len() + usize::from(contributing) * 4, 7);
    bytes.extend(profile.to_be_bytes());
    bytes.extend((elements.len().div_ceil(4) as u16).to_be_bytes());
    bytes.extend(elements);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes.extend([0xaa; 30]);
    bytes
}

fn mark() -> PduSetMark {
    PduSetMark {
        ends_set: true,
        ends_burst: true,
        importance: PduSetImportance::new(5).unwrap(),
        set_sequence: 0b10_0000_0001,
        pdu_sequence: 0b10_0011,
        set_bytes: None,
        pdu_count: None,
    }
}

#[test]
fn a_mark_is_three_bytes_and_what_was_negotiated() {
    let mut mark = mark();
    let plain = PduSetFields::default();
    assert_eq!(mark.encode(), [0b1001_0101, 0b1000_0000, 0b0110_0011]);
    assert_eq!(PduSetMark::decode(&mark.encode(), plain), Ok(mark));
    (mark.set_bytes, mark.pdu_count) = (Some(0x01_02_03), Some(0x0405));
    assert_eq!(mark.encode()[3..], [1, 2, 3, 4, 5]);
    let both = PduSetFields { has_set_bytes: true, has_pdu_count: true };
    assert_eq!(PduSetMark::decode(&mark.encode(), both), Ok(mark));
    for found in 0..both.bytes() {
        let cut = PduSetMark::decode(&mark.encode()[..found], both);
        assert_eq!(cut, Err(MarkError::Truncated { found, expected: 8 }));
    }
}

#[test]
fn reserved_bits_are_ignored_and_what_does_not_fit_is_unknown() {
    let read = PduSetMark::decode(&[0b0110_0000, 0, 0], PduSetFields::default()).unwrap();
    assert!(!read.ends_set && !read.ends_burst);
    assert_eq!(read.importance, PduSetImportance::UNKNOWN);
    let large = PduSetMark { set_bytes: Some(1 << 24), ..read };
    assert_eq!(large.encode(), [0; 6]);
    assert_eq!(PduSetImportance::new(16), None);
}

#[test]
fn the_mark_is_found_behind_other_elements_in_both_forms() {
    let data = mark().encode();
    let one = [&[0x30, 1, 0x10, 0xff, 0, DEFAULT_ID << 4 | 2], &data[..], &[0x51, 9, 9]].concat();
    let two = [&[3, 2, 1, 1, 5, 0, 0, DEFAULT_ID, 3], &data[..]].concat();
    for contributing in [0, 15] {
        for (profile, elements) in [(0xbede, &one), (0x1000, &two), (0x100f, &two)] {
            let packet = packet(profile, elements, contributing);
            let read = marked_packet(&packet, DEFAULT_ID).unwrap();
            assert_eq!((read.ssrc, read.mark), (0x0102_0304, mark()));
            assert_eq!(marked_packet(&packet, 7), None);
            // Cut anywhere in the header it has none, and nothing is read past the end.
            let header = 12 + usize::from(contributing) * 4 + 4 + elements.len();
            for length in 0..header {
                assert_eq!(marked_packet(&packet[..length], DEFAULT_ID), None, "{length}");
            }
        }
    }
}

#[test]
fn what_is_no_packet_with_a_mark_has_none() {
    let element = [&[DEFAULT_ID << 4 | 2], &mark().encode()[..]].concat();
    let good = packet(0xbede, &element, 0);
    assert!(marked_packet(&good, DEFAULT_ID).is_some());
    let changed = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        marked_packet(&bytes, DEFAULT_ID)
    };
    // STUN, DTLS, a channel of TURN, version 1, and no extension.
    for first in [0, 22, 64, 0x50, 0x80] {
        assert_eq!(changed(0, first), None, "{first}");
    }
    // Sender reports to extended reports, and feedback.
    for kind in 192..=223 {
        assert_eq!(changed(1, kind), None, "{kind}");
    }
    // Encrypted extensions (RFC 9335), and a length past the end.
    assert_eq!(marked_packet(&packet(0xc0de, &element, 0), DEFAULT_ID), None);
    assert_eq!(changed(15, 200), None);
    // Nothing is read behind an element of 15, and of identifier 0 with a length.
    for stop in [0xf0, 0x03] {
        let stopped = [&[stop], &element[..]].concat();
        assert_eq!(marked_packet(&packet(0xbede, &stopped, 0), DEFAULT_ID), None);
    }
    // Two bytes are no mark.
    let short = [DEFAULT_ID << 4 | 1, 1, 2];
    assert_eq!(marked_packet(&packet(0xbede, &short, 0), DEFAULT_ID), None);
}

proptest! {
    #[test]
    fn any_bytes_are_a_mark_that_is_written_the_same(data in any::<[u8; 8]>(), bits in 0..4_u8) {
        let fields = PduSetFields { has_set_bytes: bits & 1 == 1, has_pdu_count: bits & 2 == 2 };
        let mark = PduSetMark::decode(&data, fields).unwrap();
        let mut expected = data[..fields.bytes()].to_vec();
        expected[0] &= 0b1001_1111;
        prop_assert_eq!(mark.encode(), expected);
    }
}
