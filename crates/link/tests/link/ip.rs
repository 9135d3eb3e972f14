//! The octet of IP packets that holds DSCP and ECN.

use airlane_base::{Dscp, Ecn, TrafficClass};
use airlane_link::ip::{set_traffic_class, traffic_class};
use proptest::prelude::*;

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
        octet: u8,
    ) {
        packet[0] = 0x45;
        packet[10..12].fill(0);
        let sum = checksum(&packet[..20]);
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
        prop_assert_eq!(checksum(&packet[..20]), 0);
        let before = packet.clone();
        let class = TrafficClass::from_octet(octet);
        set_traffic_class(&mut packet, class);
        prop_assert_eq!(traffic_class(&packet), class);
        prop_assert_eq!(checksum(&packet[..20]), 0);
        prop_assert_eq!(packet[1], octet);
        packet[1] = before[1];
        packet[10..12].copy_from_slice(&before[10..12]);
        prop_assert_eq!(packet, before);
    }

    #[test]
    fn ipv6_keeps_everything_else(
        mut packet in proptest::collection::vec(any::<u8>(), 40..60),
        octet: u8,
    ) {
        packet[0] = packet[0] & 0x0f | 0x60;
        let before = packet.clone();
        let class = TrafficClass::from_octet(octet);
        set_traffic_class(&mut packet, class);
        prop_assert_eq!(traffic_class(&packet), class);
        // Version, class, flow label: 4, 8 and 20 bits.
        let first = u16::from_be_bytes([packet[0], packet[1]]);
        prop_assert_eq!(first, 0x6000 | u16::from(octet) << 4 | u16::from(before[1] & 0x0f));
        prop_assert_eq!(&packet[2..], &before[2..]);
    }

    #[test]
    fn anything_else_is_left_alone(
        mut packet in proptest::collection::vec(any::<u8>(), 0..60),
        octet: u8,
    ) {
        let version = packet.first().map_or(0, |b| b >> 4);
        let whole = version == 4 && packet.len() >= 20 || version == 6 && packet.len() >= 40;
        prop_assume!(!whole);
        let before = packet.clone();
        set_traffic_class(&mut packet, TrafficClass::from_octet(octet));
        prop_assert_eq!(packet, before);
    }
}

#[test]
fn both_versions_say_which_treatment_a_sender_asks_for() {
    let video = TrafficClass { dscp: Dscp::AF41, ecn: Ecn::Ce };
    let octet = 34 << 2 | 3;
    let mut v4 = [0; 20];
    v4[..2].copy_from_slice(&[0x45, octet]);
    let mut v6 = [0; 40];
    v6[..2].copy_from_slice(&[0x60 | octet >> 4, octet << 4]);
    assert_eq!((traffic_class(&v4), traffic_class(&v6)), (video, video));
    for nothing in [&[][..], &[0x45], &[0x60], &[0x10, 0xff]] {
        assert_eq!(traffic_class(nothing), TrafficClass::default());
    }
}
