//! Transmissions as a receiver hears them.

use std::fmt;
use std::time::Duration;

use airlane_base::Time;

use crate::timing::Access;
use crate::vector::Vector;

/// The address of a station.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address(pub [u8; 6]);

impl Address {
    /// Everybody.
    pub const BROADCAST: Self = Self([0xff; 6]);

    /// True for the address of a group rather than of one station.
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

/// The precision of the times of what was heard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Precision {
    /// Nanoseconds: Airlane wrote it, or the receiver is its own.
    #[default]
    Exact,
    /// Some microseconds: by the receiver's clock.
    Receiver,
    /// Some milliseconds: by the clock of the machine that captured.
    Machine,
}

impl Precision {
    /// Distance that a frame may have from where it should be.
    pub const fn tolerance(self) -> Duration {
        match self {
            Self::Exact => Duration::from_micros(4),
            Self::Receiver => Duration::from_micros(60),
            Self::Machine => Duration::from_millis(5),
        }
    }
}

/// One transmission, as one receiver heard it. It comes when it ends: a receiver's records are in the
/// order of their ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heard {
    /// Time at which it began.
    pub at: Time,
    /// Time that it was in the air.
    pub duration: Duration,
    /// Part of it that was decoded.
    pub what: What,
}

/// The part of a transmission that was decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// Nothing, but the air was busy: noise, a collision, a signal that was too weak.
    Energy,
    /// The PHY header, but none of its frames.
    Header(Vector),
    /// Frames of it; of an aggregate perhaps not all.
    Frames {
        /// Vector of the PPDU.
        vector: Vector,
        /// True for an aggregate (A-MPDU).
        is_aggregate: bool,
        /// Frames that were decoded, in order.
        frames: Vec<Frame>,
    },
}

/// The MAC header of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The kind.
    pub kind: FrameKind,
    /// Address of the receiver.
    pub receiver: Address,
    /// Address of the transmitter; ACK and CTS have none.
    pub transmitter: Option<Address>,
    /// The access point whose network it belongs to, of data and management.
    pub bssid: Option<Address>,
    /// True if the frame goes from the access point to a station.
    pub is_down: bool,
    /// Bytes of the MPDU, frame check sequence included.
    pub bytes: u32,
    /// True if the frame has been sent before.
    pub is_retry: bool,
    /// The sequence number, of data and management: 0 to 4095.
    pub sequence: u16,
    /// Time that the exchange goes on behind this frame (the duration field).
    pub remaining: Duration,
    /// The traffic identifier of QoS data.
    pub tid: u8,
    /// Bitmap of a block acknowledgement.
    pub block_ack: Option<BlockAck>,
}

impl Frame {
    /// A frame with nothing else in its header.
    pub const fn new(
        kind: FrameKind,
        receiver: Address,
        transmitter: Option<Address>,
        bytes: u32,
    ) -> Self {
        Self {
            kind,
            receiver,
            transmitter,
            bssid: None,
            is_down: false,
            bytes,
            is_retry: false,
            sequence: 0,
            remaining: Duration::ZERO,
            tid: 0,
            block_ack: None,
        }
    }

    /// The access point that it shows to be one: by a beacon, or data to or from it.
    pub fn access_point(&self) -> Option<Address> {
        let bssid = self.bssid.filter(|bssid| !bssid.is_group())?;
        let is_shown = match self.kind {
            FrameKind::Beacon => true,
            FrameKind::QosData | FrameKind::Data | FrameKind::Null => {
                self.is_down || self.receiver == bssid
            }
            _ => false,
        };
        is_shown.then_some(bssid)
    }

    /// Access category that it contends in (802.11-2020, tables 10-1 and 9-155, and 10.2.3.2 for management).
    pub const fn access(&self) -> Access {
        match (self.kind, self.tid) {
            (FrameKind::Beacon | FrameKind::Management, _) => Access::VOICE,
            (FrameKind::Data, _) => Access::DCF,
            (_, 1 | 2) => Access::BACKGROUND,
            (_, 4 | 5) => Access::VIDEO,
            (_, 6 | 7) => Access::VOICE,
            _ => Access::BEST_EFFORT,
        }
    }
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
    /// True for data with a body.
    pub const fn is_data(self) -> bool {
        matches!(self, Self::QosData | Self::Data)
    }

    /// All kinds.
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

/// The bitmap of a block acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockAck {
    /// The first sequence number of its window.
    pub start: u16,
    /// Bits of the frames that came: bit 0 of the first word is `start`.
    pub came: [u64; 4],
}

impl BlockAck {
    /// Number of frames that it acknowledges.
    pub fn count(&self) -> u32 {
        self.came.iter().map(|word| word.count_ones()).sum()
    }

    /// Number of frames that it acknowledges and an earlier one did not.
    pub fn count_since(&self, earlier: &Self) -> u32 {
        let moved = self.start.wrapping_sub(earlier.start) & 0x0fff;
        if moved >= 0x0800 {
            // The window went back: nothing new.
            return 0;
        }
        let known = shifted(earlier.came, u32::from(moved));
        self.came.iter().zip(known).map(|(now, known)| (now & !known).count_ones()).sum()
    }

    /// The highest sequence number that it acknowledges.
    pub fn highest(&self) -> Option<u16> {
        let word = self.came.iter().rposition(|&word| word != 0)?;
        let bit = 64 * word as u16 + 63 - self.came[word].leading_zeros() as u16;
        Some(self.start.wrapping_add(bit) & 0x0fff)
    }

    /// True if the block acknowledgement covers the frame of a sequence number.
    pub fn acknowledges(&self, sequence: u16) -> bool {
        let place = usize::from(sequence.wrapping_sub(self.start) & 0x0fff);
        self.came.get(place / 64).is_some_and(|word| word >> (place % 64) & 1 == 1)
    }
}

/// A bitmap without its first bits.
fn shifted(bits: [u64; 4], by: u32) -> [u64; 4] {
    let (words, rest) = ((by / 64) as usize, by % 64);
    let word = |at: usize| bits.get(at).copied().unwrap_or(0);
    std::array::from_fn(|at| {
        let low = word(at + words) >> rest;
        let high = if rest == 0 { 0 } else { word(at + words + 1) << (64 - rest) };
        low | high
    })
}
