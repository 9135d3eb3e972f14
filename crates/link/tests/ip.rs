//! The ECN field of IP packets.

use airlane_base::Ecn;
use airlane_link::ip::{ecn, set_ecn};
use proptest::prelude::*;

const ALL: [Ecn; 4] = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];

/// The Internet checksum of a header (RFC 1071); zero if the one in it is right.
fn checksum(header: &[u8]) -> u16 {
    let words = header.chunks(2).map(|w| u32::from(u16::from_be_bytes([w[0], w[1]])));
    let sum = words.sum::<u32>();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

proptest! {
    #[test]
    fn ipv4_keeps_everything_else_and_its_checksum_right(
        mut packet in proptest::collection::vec(any::<u8>(), 20..60),
        field in 0_usize..4,
    ) {
        packet[0] = 0x45;
        packet[10..12].fill(0);
        let sum = checksum(&packet[..20]);
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
        prop_assert_eq!(checksum(&packet[..20]), 0);
        let before = packet.clone();
        set_ecn(&mut packet, ALL[field]);
        prop_assert_eq!(ecn(&packet), ALL[field]);
        prop_assert_eq!(checksum(&packet[..20]), 0);
        prop_assert_eq!(packet[1] & !0b11, before[1] & !0b11);
        packet[1] = before[1];
        packet[10..12].copy_from_slice(&before[10..12]);
        prop_assert_eq!(packet, before);
    }

    #[test]
    fn ipv6_keeps_everything_else(
        mut packet in proptest::collection::vec(any::<u8>(), 40..60),
        field in 0_usize..4,
    ) {
        packet[0] = packet[0] & 0x0f | 0x60;
        let before = packet.clone();
        set_ecn(&mut packet, ALL[field]);
        prop_assert_eq!(ecn(&packet), ALL[field]);
        packet[1] = packet[1] & !0x30 | before[1] & 0x30;
        prop_assert_eq!(packet, before);
    }

    #[test]
    fn anything_else_is_left_alone(
        mut packet in proptest::collection::vec(any::<u8>(), 0..60),
        field in 0_usize..4,
    ) {
        let version = packet.first().map_or(0, |b| b >> 4);
        let whole = version == 4 && packet.len() >= 20 || version == 6 && packet.len() >= 40;
        prop_assume!(!whole);
        let before = packet.clone();
        set_ecn(&mut packet, ALL[field]);
        prop_assert_eq!(packet, before);
    }
}
