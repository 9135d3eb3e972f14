//! Packets as they come from a publisher and as they go to a receiver.

use std::borrow::Cow;

use airlane_base::Time;

/// An RTP packet of a published track, without its header.
#[derive(Clone, Copy, Debug)]
pub struct RtpPacket<'a> {
    /// Index of the simulcast encoding (rid) that the packet belongs to, lowest resolution first; 0 without
    /// simulcast.
    pub encoding: u8,
    /// Sequence number, extended to 64 bits by the number of wraps (RFC 3550, appendix A.1). That of a
    /// retransmission is the original one (RFC 4588, OSN).
    pub sequence: u64,
    /// RTP timestamp.
    pub timestamp: u32,
    /// Marker bit.
    pub marker: bool,
    /// Payload, with the codec's payload descriptor.
    pub payload: &'a [u8],
    /// AV1 dependency descriptor: the data of the RTP header extension.
    pub dependency_descriptor: Option<&'a [u8]>,
    /// Time at which the packet arrived.
    pub arrived: Time,
    /// Time at which the frame was captured, on the receiver's clock, where RTCP sender reports tell it. It
    /// aligns timestamps of encodings better than the time of arrival does.
    pub captured: Option<Time>,
    /// The packet is a retransmission (RTX).
    pub is_repeated: bool,
}

/// An RTP packet for a receiver: numbers, marker and descriptors rewritten. Its payload is copied only where
/// a byte of it changes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Forwarded<'a> {
    /// Sequence number, extended: continuous over switches of encodings and over dropped packets.
    pub sequence: u64,
    /// RTP timestamp: continuous over switches of encodings.
    pub timestamp: u32,
    /// Marker bit: on the last packet of the highest spatial layer that is forwarded of a picture.
    pub marker: bool,
    /// Payload, with the picture id of VP8 and VP9 rewritten.
    pub payload: Cow<'a, [u8]>,
    /// AV1 dependency descriptor with the decode targets that the receiver gets: longer than 16 bytes where
    /// it has the template structure, and then in need of a two-byte header (RFC 8285).
    pub dependency_descriptor: Option<Cow<'a, [u8]>>,
}
