//! The ECN field of IP packets.

use airlane_base::Ecn;

/// The ECN field of an IPv4 or IPv6 packet; of anything else, that of a sender without ECN.
pub fn ecn(packet: &[u8]) -> Ecn {
    let bits = match packet {
        [first, class, ..] if first >> 4 == 4 => *class,
        [first, class, ..] if first >> 4 == 6 => class >> 4,
        _ => 0,
    };
    match bits & 0b11 {
        0b01 => Ecn::Ect1,
        0b10 => Ecn::Ect0,
        0b11 => Ecn::Ce,
        _ => Ecn::NotEct,
    }
}

/// Sets the ECN field of an IPv4 or IPv6 packet, and the checksum of an IPv4 header with it (RFC
/// 1624, equation 3). Anything else is left as it is.
pub fn set_ecn(packet: &mut [u8], ecn: Ecn) {
    match packet.first().map(|b| b >> 4) {
        Some(4) if packet.len() >= 20 => {
            let old = u16::from_be_bytes([packet[0], packet[1]]);
            packet[1] = packet[1] & !0b11 | ecn as u8;
            let new = u16::from_be_bytes([packet[0], packet[1]]);
            let sum = u16::from_be_bytes([packet[10], packet[11]]);
            let mut changed = u32::from(!sum) + u32::from(!old) + u32::from(new);
            while changed > 0xffff {
                changed = (changed & 0xffff) + (changed >> 16);
            }
            packet[10..12].copy_from_slice(&(!(changed as u16)).to_be_bytes());
        }
        Some(6) if packet.len() >= 40 => {
            packet[1] = packet[1] & !0b11_0000 | (ecn as u8) << 4;
        }
        _ => {}
    }
}
