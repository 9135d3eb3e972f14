//! What a receiver hears of the air.

use std::fmt;
use std::time::Duration;

use airlane_base::Time;

use crate::vector::Vector;

/// The address of a station.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address(pub [u8; 6]);

impl Address {
    /// Everybody.
    pub const BROADCAST: Self = Self([0xff; 6]);

    /// Of a group rather than of one station.
    pub const fn is_group(&self) -> bool {
        self.0[0] & 1 != 0
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

/// One transmission, as one receiver heard it. It comes when it ends: a receiver's records are in the
/// order of their ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heard {
    /// When it began.
    pub at: Time,
    /// How long it was in the air.
    pub duration: Duration,
    /// What could be made out.
    pub what: What,
}

/// How much of a transmission could be made out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// That the air was busy: noise, a collision, a signal that was too weak.
    Energy,
    /// How it was sent, but none of its frames.
    Header(Vector),
    /// Frames of it; of an aggregate perhaps not all.
    Frames {
        /// How it was sent.
        vector: Vector,
        /// Whether it is an aggregate (A-MPDU).
        is_aggregate: bool,
        /// Those that were made out, in order.
        frames: Vec<Frame>,
    },
}

/// The MAC header of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The kind.
    pub kind: FrameKind,
    /// Who should get it.
    pub receiver: Address,
    /// Who sent it; `None` of ACK and CTS, which do not say.
    pub transmitter: Option<Address>,
    /// The access point whose network it belongs to, of data and management.
    pub bssid: Option<Address>,
    /// Whether it goes from the access point to a station.
    pub is_down: bool,
    /// Bytes of the MPDU, frame check sequence included.
    pub bytes: u32,
    /// It has been sent before.
    pub is_retry: bool,
    /// The sequence number, of data and management: 0 to 4095.
    pub sequence: u16,
    /// How long the exchange goes on behind this frame (the duration field).
    pub remaining: Duration,
    /// The traffic identifier of QoS data.
    pub tid: u8,
    /// What a block acknowledgement acknowledges.
    pub block_ack: Option<BlockAck>,
}

/// The kinds that matter to whoever counts airtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FrameKind {
    /// QoS data, with a body.
    QosData,
    /// Data without QoS.
    Data,
    /// A null frame, with QoS or without: power management.
    Null,
    /// A beacon.
    Beacon,
    /// Other management.
    Management,
    /// RTS.
    Rts,
    /// CTS.
    Cts,
    /// ACK.
    Ack,
    /// A block acknowledgement.
    BlockAck,
    /// The request for one.
    BlockAckRequest,
    /// PS-Poll.
    PowerSavePoll,
    /// Anything else.
    Other,
}

impl FrameKind {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::QosData,
        Self::Data,
        Self::Null,
        Self::Beacon,
        Self::Management,
        Self::Rts,
        Self::Cts,
        Self::Ack,
        Self::BlockAck,
        Self::BlockAckRequest,
        Self::PowerSavePoll,
        Self::Other,
    ];
}

/// What a block acknowledgement says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockAck {
    /// The first sequence number of its window.
    pub start: u16,
    /// Which of the frames from there on came: bit 0 of the first word is `start`.
    pub came: [u64; 4],
}

impl BlockAck {
    /// How many frames it acknowledges.
    pub fn count(&self) -> u32 {
        self.came.iter().map(|word| word.count_ones()).sum()
    }
}
