//! A range of the bytes of a file.

use std::fmt;

/// Some bytes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteRange {
    /// The first one.
    pub offset: u64,
    /// Number of bytes, at least 1.
    pub length: u64,
}

impl fmt::Display for ByteRange {
    /// As HTTP has it: first and last byte, such as `0-99`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let last = u128::from(self.offset) + u128::from(self.length.max(1)) - 1;
        write!(f, "{}-{last}", self.offset)
    }
}
