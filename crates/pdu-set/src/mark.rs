//! Mark of a packet (TS 26.522, clauses 4.2.2 to 4.2.4): `docs/reference/wire/pdu-sets.md` has its bits.

/// Bytes of the fields that every mark has.
const BYTES: usize = 3;

/// Highest value of PSSN, which is followed by 0.
const MAX_SET_SEQUENCE: u16 = (1 << 10) - 1;

/// Highest value of PSN, which is followed by 0.
const MAX_PDU_SEQUENCE: u8 = (1 << 6) - 1;

/// Highest value of PSSize.
const MAX_SET_BYTES: u32 = (1 << 24) - 1;

/// Error in the data of a header extension.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MarkError {
    /// Fewer bytes than the negotiated fields take.
    #[error("found {found} bytes of a PDU Set mark; expected at least {expected}")]
    Truncated {
        /// Bytes of the data.
        found: usize,
        /// Bytes of the negotiated fields.
        expected: usize,
    },
}

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
        BYTES + if self.has_set_bytes { 3 } else { 0 } + if self.has_pdu_count { 2 } else { 0 }
    }
}

/// Importance of a PDU Set (PSI): 1 is the highest, 15 the lowest, 0 unknown.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub struct PduSetImportance(u8);

impl PduSetImportance {
    /// Importance that the sender cannot tell.
    pub const UNKNOWN: Self = Self(0);
    /// Highest importance: that of a frame which all later ones depend on.
    pub const HIGHEST: Self = Self(1);
    /// Lowest importance: that of a frame which none depends on.
    pub const LOWEST: Self = Self(15);

    /// The importance of this number, if 4 bits hold it.
    pub const fn new(number: u8) -> Option<Self> {
        if number < 16 { Some(Self(number)) } else { None }
    }

    /// Number from 0 to 15.
    pub const fn number(self) -> u8 {
        self.0
    }
}

/// Mark of a packet as part of a PDU Set.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
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
    /// The mark in the data of a header extension. What follows the negotiated fields is not looked at.
    ///
    /// # Errors
    ///
    /// [`MarkError::Truncated`] if the negotiated fields do not fit.
    pub fn decode(data: &[u8], fields: PduSetFields) -> Result<Self, MarkError> {
        let truncated = MarkError::Truncated { found: data.len(), expected: fields.bytes() };
        let (&[flags, high, low], mut rest) = data.split_first_chunk().ok_or(truncated)?;
        let mut mark = Self {
            ends_set: flags & 0x80 != 0,
            ends_burst: flags & 0x10 != 0,
            importance: PduSetImportance(flags & 0x0f),
            set_sequence: u16::from(high) << 2 | u16::from(low >> 6),
            pdu_sequence: low & MAX_PDU_SEQUENCE,
            set_bytes: None,
            pdu_count: None,
        };
        if fields.has_set_bytes {
            let (&[a, b, c], tail) = rest.split_first_chunk().ok_or(truncated)?;
            mark.set_bytes = Some(u32::from_be_bytes([0, a, b, c]));
            rest = tail;
        }
        if fields.has_pdu_count {
            let bytes = rest.first_chunk().ok_or(truncated)?;
            mark.pdu_count = Some(u16::from_be_bytes(*bytes));
        }
        Ok(mark)
    }

    /// The data of the header extension. Numbers wrap; a size that does not fit is written as unknown.
    pub fn encode(&self) -> Vec<u8> {
        let flag = |value: bool, bit: u8| if value { bit } else { 0 };
        let flags = flag(self.ends_set, 0x80) | flag(self.ends_burst, 0x10) | self.importance.0;
        let numbers = (self.set_sequence & MAX_SET_SEQUENCE) << 6
            | u16::from(self.pdu_sequence & MAX_PDU_SEQUENCE);
        let [high, low] = numbers.to_be_bytes();
        let mut data = vec![flags, high, low];
        if let Some(bytes) = self.set_bytes {
            let bytes = if bytes > MAX_SET_BYTES { 0 } else { bytes };
            data.extend_from_slice(&bytes.to_be_bytes()[1..]);
        }
        if let Some(count) = self.pdu_count {
            data.extend_from_slice(&count.to_be_bytes());
        }
        data
    }
}
