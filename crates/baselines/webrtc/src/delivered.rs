//! Frames that a receiver hands to a decoder.

use airlane_base::Time;
use bytes::Bytes;

/// A frame that a decoder can take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// Its number, from 0: what is left out was never complete, or of no use.
    pub number: u32,
    /// Bytes that the source gave.
    pub data: Bytes,
    /// True if it stands alone.
    pub key: bool,
    /// Time of capture, as the sender says.
    pub captured: Time,
    /// Time at which its first packet came.
    pub first_at: Time,
    /// Time at which its last packet came.
    pub last_at: Time,
    /// Time at which it could be decoded: later than `last_at` if one before it was incomplete.
    pub at: Time,
}
