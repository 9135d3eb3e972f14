//! The octet of IP packets that holds DSCP and ECN.

use airlane_base::TrafficClass;

/// The TOS octet of an IPv4 packet or the traffic class of an IPv6 packet; of anything else, that of
/// a sender that sets neither field.
pub fn traffic_class(packet: &[u8]) -> TrafficClass {
    let octet = match packet {
        [first, tos, ..] if first >> 4 == 4 => *tos,
        // It begins in the middle of the first byte (RFC 8200, section 3).
        [first, second, ..] if first >> 4 == 6 => first << 4 | second >> 4,
        _ => 0,
    };
    TrafficClass::from_octet(octet)
}

/// Sets the octet of an IPv4 or IPv6 packet, and the checksum of an IPv4 header with it (RFC 1624,
/// equation 3). Anything else is left as it is.
pub fn set_traffic_class(packet: &mut [u8], class: TrafficClass) {
    let octet = class.octet();
    match packet.first().map(|b| b >> 4) {
        Some(4) if packet.len() >= 20 => {
            let old = u16::from_be_bytes([packet[0], packet[1]]);
            packet[1] = octet;
            let new = u16::from_be_bytes([packet[0], packet[1]]);
            let sum = u16::from_be_bytes([packet[10], packet[11]]);
            let mut changed = u32::from(!sum) + u32::from(!old) + u32::from(new);
            while changed > 0xffff {
                changed = (changed & 0xffff) + (changed >> 16);
            }
            packet[10..12].copy_from_slice(&(!(changed as u16)).to_be_bytes());
        }
        Some(6) if packet.len() >= 40 => {
            packet[0] = packet[0] & 0xf0 | octet >> 4;
            packet[1] = packet[1] & 0x0f | octet << 4;
        }
        _ => {}
    }
}
