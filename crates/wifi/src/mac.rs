//! Sizes of frames, bytes (802.11-2020, 9.3), and how many bytes aggregates take.

/// ACK and CTS.
pub const ACK: u32 = 14;
/// CTS.
pub const CTS: u32 = 14;
/// RTS.
pub const RTS: u32 = 20;
/// A block acknowledgement of 64 frames.
pub const BLOCK_ACK_64: u32 = 32;
/// A block acknowledgement of 256 frames.
pub const BLOCK_ACK_256: u32 = 56;
/// A request for a block acknowledgement.
pub const BLOCK_ACK_REQUEST: u32 = 24;
/// Header of a QoS data frame of three addresses, and its frame check sequence.
pub const DATA: u32 = 26 + FCS;
/// Header of a data frame without QoS, and its frame check sequence.
pub const DATA_WITHOUT_QOS: u32 = 24 + FCS;
/// The frame check sequence.
pub const FCS: u32 = 4;
/// Bytes that CCMP and GCMP add to a frame: header and integrity check.
pub const CIPHER: u32 = 16;
/// LLC and SNAP in front of an IP packet.
pub const SNAP: u32 = 8;
/// Delimiter in front of each MPDU of an aggregate.
pub const DELIMITER: u32 = 4;
/// Header of each MSDU in an A-MSDU.
pub const SUBFRAME: u32 = 14;

/// The MPDU that carries an IP packet of so many bytes.
pub const fn mpdu(ip_bytes: u32, is_encrypted: bool) -> u32 {
    DATA + SNAP + ip_bytes + if is_encrypted { CIPHER } else { 0 }
}

/// Bytes of an MPDU in an A-MPDU: with its delimiter, and padding to four bytes. The last one is padded as
/// well, as HE and VHT do.
pub const fn in_aggregate(mpdu: u32) -> u32 {
    DELIMITER + mpdu.next_multiple_of(4)
}

/// Bytes of an IP packet in an A-MSDU: with header, SNAP, padding to four bytes.
pub const fn in_amsdu(ip_bytes: u32) -> u32 {
    (SUBFRAME + SNAP + ip_bytes).next_multiple_of(4)
}
