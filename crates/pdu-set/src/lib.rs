#![doc = include_str!("../README.md")]

mod mark;
mod rtp;

pub use mark::{MarkError, PduSetFields, PduSetImportance, PduSetMark};
pub use rtp::{MarkedPacket, marked_packet};

/// URN of the extension in SDP (TS 26.522, clause 4.2 and annex D.2).
pub const URN: &str = "urn:3gpp:pdu-set-marking:rel-18";

/// Identifier of the extension where nothing else is agreed on: one that browsers offer for nothing that a conference
/// server accepts.
pub const DEFAULT_ID: u8 = 6;

/// Highest identifier of an element in the one-byte form (RFC 8285, section 4.2).
pub const MAX_ID: u8 = 14;
