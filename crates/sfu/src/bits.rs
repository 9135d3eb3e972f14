//! Bits of a descriptor, most significant first.

use crate::error::DescriptorError;

/// A reader of bits.
#[derive(Clone, Debug)]
pub(crate) struct BitReader<'a> {
    bytes: &'a [u8],
    position: usize,
}

impl<'a> BitReader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, position: 0 }
    }

    /// An unsigned number of `bits` bits, at most 32: `f(n)`.
    pub(crate) fn number(&mut self, bits: u32) -> Result<u32, DescriptorError> {
        let mut value = 0;
        for _ in 0..bits {
            let byte = self.bytes.get(self.position / 8).ok_or(DescriptorError::Truncated)?;
            value = value << 1 | u32::from(byte >> (7 - self.position % 8) & 1);
            self.position += 1;
        }
        Ok(value)
    }

    pub(crate) fn flag(&mut self) -> Result<bool, DescriptorError> {
        Ok(self.number(1)? == 1)
    }

    /// An unsigned number below `count`: `ns(n)` of the AV1 RTP specification, A.8.2.
    pub(crate) fn below(&mut self, count: u32) -> Result<u32, DescriptorError> {
        let (width, short) = non_symmetric(count);
        let value = self.number(width - 1)?;
        match value < short {
            true => Ok(value),
            false => Ok((value << 1) - short + self.number(1)?),
        }
    }
}

/// A writer of bits.
#[derive(Default, Debug)]
pub(crate) struct BitWriter {
    bytes: Vec<u8>,
    bits: usize,
}

impl BitWriter {
    /// Writes the low `bits` bits of `value`.
    pub(crate) fn number(&mut self, value: u32, bits: u32) {
        for bit in (0..bits).rev() {
            if self.bits.is_multiple_of(8) {
                self.bytes.push(0);
            }
            if value >> bit & 1 == 1
                && let Some(last) = self.bytes.last_mut()
            {
                *last |= 0x80 >> (self.bits % 8);
            }
            self.bits += 1;
        }
    }

    pub(crate) fn flag(&mut self, value: bool) {
        self.number(u32::from(value), 1);
    }

    /// Writes a number below `count`: see [`BitReader::below`].
    pub(crate) fn below(&mut self, value: u32, count: u32) {
        let (width, short) = non_symmetric(count);
        match value < short {
            true => self.number(value, width - 1),
            false => self.number(value + short, width),
        }
    }

    /// Bytes that were written, the last one filled up with zeros.
    pub(crate) fn finish(self) -> Vec<u8> {
        self.bytes
    }
}

/// Bits of the longer code words of `ns(count)`, and the first value that has one.
fn non_symmetric(count: u32) -> (u32, u32) {
    let width = (u32::BITS - count.leading_zeros()).max(1);
    (width, (1 << width) - count)
}
