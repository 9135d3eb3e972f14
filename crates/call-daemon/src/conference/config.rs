//! Settings of a conference.

use std::time::Duration;

/// Limits on what clients make a server hold and do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallLimits {
    /// Participants of a room.
    pub max_participants: usize,
    /// Participants of all rooms.
    pub max_total_participants: usize,
    /// Rooms.
    pub max_rooms: usize,
    /// Time that a client may take from its offer to its first media or message.
    pub connect_timeout: Duration,
    /// Time after which a client of which nothing comes is taken to have left.
    pub silence_timeout: Duration,
    /// Offers that one IPv4 address or IPv6 /64 may make in a minute.
    pub max_offers_per_minute: u32,
    /// Bitrate of a participant's uplink and of its downlink, each, bit/s.
    pub max_bitrate_bps: u64,
    /// True if Plum coordinates uplinks and downlinks.
    pub is_coordinated: bool,
    /// Identifier, 1 to 14, of the RTP header extension by which video is marked as PDU Sets for a cell on the way (3GPP
    /// TS 26.522); `None`: it is not marked.
    pub pdu_set_id: Option<u8>,
}

impl Default for CallLimits {
    fn default() -> Self {
        Self {
            max_participants: 12,
            max_total_participants: 400,
            max_rooms: 200,
            connect_timeout: Duration::from_secs(20),
            silence_timeout: Duration::from_secs(30),
            max_offers_per_minute: 60,
            max_bitrate_bps: 6_000_000,
            is_coordinated: true,
            pdu_set_id: None,
        }
    }
}
