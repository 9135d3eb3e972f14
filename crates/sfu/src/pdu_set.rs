//! RTP header extension for PDU Set marking (3GPP TS 26.522, clause 4.2): a 5G network sees which packets make up a
//! frame, and what the frame is worth, without reading the media.
//!
//! The data of the extension, behind the identifier and the length of either form of RFC 8285:
//!
//! ```text
//!  0                   1                   2
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |E| R |D|  PSI  |       PSSN        |    PSN    |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |             PSSize (if negotiated)            |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |     NPDS (if negotiated)      |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```
//!
//! R is reserved. No other implementation was at hand to check the places of R and D against.

use crate::bits::{BitReader, BitWriter};
use crate::error::DescriptorError;
use crate::info::PacketInfo;

/// Highest value of PSSN, which is followed by 0.
const MAX_SET_SEQUENCE: u16 = (1 << 10) - 1;

/// Highest value of PSN, which is followed by 0.
const MAX_PDU_SEQUENCE: u8 = (1 << 6) - 1;

/// Highest value of PSSize.
const MAX_SET_BYTES: u32 = (1 << 24) - 1;

/// Optional fields that both ends agreed on in SDP.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct PduSetFields {
    /// PSSize is present (`pdu-set-size`).
    pub has_set_bytes: bool,
    /// NPDS is present (`num-pdus-in-pdu-set`).
    pub has_pdu_count: bool,
}

impl PduSetFields {
    /// Bytes of the extension's data.
    pub const fn bytes(self) -> usize {
        3 + if self.has_set_bytes { 3 } else { 0 } + if self.has_pdu_count { 2 } else { 0 }
    }
}

/// Importance of a PDU Set (PSI): 1 is the highest, 15 the lowest, 0 unknown.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct PduSetImportance(u8);

impl PduSetImportance {
    /// An importance that the sender cannot tell.
    pub const UNKNOWN: Self = Self(0);
    /// The highest importance: that of a frame which all later ones depend on.
    pub const HIGHEST: Self = Self(1);
    /// The lowest importance: that of a frame which none depends on.
    pub const LOWEST: Self = Self(15);

    /// The importance of this number, if 4 bits hold it.
    pub const fn new(number: u8) -> Option<Self> {
        if number < 16 { Some(Self(number)) } else { None }
    }

    /// Number from 0 to 15.
    pub const fn number(self) -> u8 {
        self.0
    }

    /// Importance of a packet's frame: that of a key frame is the highest, then it falls with the temporal and the
    /// spatial layer; that of a frame which none depends on is the lowest.
    pub fn of(info: &PacketInfo) -> Self {
        if info.is_key_frame && info.layer.spatial == 0 {
            return Self::HIGHEST;
        }
        if info.is_discardable {
            return Self::LOWEST;
        }
        Self(2 + info.layer.temporal.min(3) * 3 + info.layer.spatial.min(3))
    }
}

/// A mark of a packet as part of a PDU Set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PduSetMark {
    /// The packet is the last of its PDU Set (E).
    pub ends_set: bool,
    /// The packet is the last of a data burst (D).
    pub ends_burst: bool,
    /// Importance of the PDU Set (PSI).
    pub importance: PduSetImportance,
    /// Number of the PDU Set, modulo 1024 (PSSN).
    pub set_sequence: u16,
    /// Number of the packet in its PDU Set, modulo 64 (PSN).
    pub pdu_sequence: u8,
    /// Bytes of the PDU Set with all headers, 0 if unknown (PSSize): present if negotiated.
    pub set_bytes: Option<u32>,
    /// Number of packets of the PDU Set, 0 if unknown (NPDS): present if negotiated.
    pub pdu_count: Option<u16>,
}

impl PduSetMark {
    /// The mark in the data of a header extension.
    ///
    /// # Errors
    ///
    /// [`DescriptorError::Truncated`] if the negotiated fields do not fit.
    pub fn decode(data: &[u8], fields: PduSetFields) -> Result<Self, DescriptorError> {
        let reader = &mut BitReader::new(data);
        let ends_set = reader.flag()?;
        reader.number(2)?;
        let ends_burst = reader.flag()?;
        let importance = PduSetImportance(reader.number(4)? as u8);
        let set_sequence = reader.number(10)? as u16;
        let pdu_sequence = reader.number(6)? as u8;
        let set_bytes = fields.has_set_bytes.then(|| reader.number(24)).transpose()?;
        let pdu_count = fields.has_pdu_count.then(|| reader.number(16)).transpose()?;
        Ok(Self {
            ends_set,
            ends_burst,
            importance,
            set_sequence,
            pdu_sequence,
            set_bytes,
            pdu_count: pdu_count.map(|count| count as u16),
        })
    }

    /// The data of the header extension. Numbers wrap; a size that does not fit is written as unknown.
    pub fn encode(&self) -> Vec<u8> {
        let mut writer = BitWriter::default();
        writer.flag(self.ends_set);
        writer.number(0, 2);
        writer.flag(self.ends_burst);
        writer.number(self.importance.0.into(), 4);
        writer.number((self.set_sequence & MAX_SET_SEQUENCE).into(), 10);
        writer.number((self.pdu_sequence & MAX_PDU_SEQUENCE).into(), 6);
        if let Some(bytes) = self.set_bytes {
            writer.number(if bytes > MAX_SET_BYTES { 0 } else { bytes }, 24);
        }
        if let Some(count) = self.pdu_count {
            writer.number(count.into(), 16);
        }
        writer.finish()
    }
}

/// The marking of a stream whose frames are its PDU Sets.
#[derive(Clone, Default, Debug)]
pub struct PduSetMarker {
    set_sequence: u16,
    pdu_sequence: u8,
    has_begun: bool,
}

impl PduSetMarker {
    /// Mark of the next packet of the stream, in the order of sending; without sizes, which a forwarder does not know
    /// before the frame ends. `ends_burst` is known to who paces.
    pub fn mark(&mut self, info: &PacketInfo, ends_burst: bool) -> PduSetMark {
        if info.begins_frame && self.has_begun {
            self.begin_set();
        }
        self.has_begun = !info.ends_frame;
        let mark = PduSetMark {
            ends_set: info.ends_frame,
            ends_burst,
            importance: PduSetImportance::of(info),
            set_sequence: self.set_sequence,
            pdu_sequence: self.pdu_sequence,
            set_bytes: None,
            pdu_count: None,
        };
        match info.ends_frame {
            true => self.begin_set(),
            false => self.pdu_sequence = self.pdu_sequence.wrapping_add(1) & MAX_PDU_SEQUENCE,
        }
        mark
    }

    fn begin_set(&mut self) {
        self.set_sequence = self.set_sequence.wrapping_add(1) & MAX_SET_SEQUENCE;
        self.pdu_sequence = 0;
    }
}
