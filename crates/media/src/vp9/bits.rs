//! Bits, the highest of a byte first.

/// Reads bits.
#[derive(Clone, Debug)]
pub(super) struct Bits<'a> {
    bytes: &'a [u8],
    /// Bits that were read.
    at: usize,
}

impl<'a> Bits<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Number of bits that were read.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// The next bit; `None` at the end.
    pub(super) fn bit(&mut self) -> Option<bool> {
        let byte = self.bytes.get(self.at / 8)?;
        let bit = byte >> (7 - self.at % 8) & 1;
        self.at += 1;
        Some(bit == 1)
    }

    /// The next `count` bits as a number.
    pub(super) fn number(&mut self, count: u32) -> Option<u32> {
        (0..count).try_fold(0, |sum, _| Some(sum << 1 | u32::from(self.bit()?)))
    }

    /// Passes over `count` bits.
    pub(super) fn skip(&mut self, count: u32) -> Option<()> {
        (0..count).try_for_each(|_| self.bit().map(|_| ()))
    }

    /// A bit, and if it is set the `count` that follow it.
    pub(super) fn optional(&mut self, count: u32) -> Option<()> {
        if self.bit()? { self.skip(count) } else { Some(()) }
    }
}

/// Writes bits.
#[derive(Clone, Debug, Default)]
pub(super) struct BitWriter {
    bytes: Vec<u8>,
    /// Bits that were written.
    at: usize,
}

impl BitWriter {
    pub(super) fn push(&mut self, bit: bool) {
        if self.at.is_multiple_of(8) {
            self.bytes.push(0);
        }
        if let Some(last) = self.bytes.last_mut() {
            *last |= u8::from(bit) << (7 - self.at % 8);
        }
        self.at += 1;
    }

    /// Bytes that were written, filled up with zeros to whole bytes.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}
