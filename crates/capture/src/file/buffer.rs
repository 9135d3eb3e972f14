//! A window onto a stream of bytes.

use std::io::{self, ErrorKind, Read};

use super::MAX_RECORD;

/// Bytes that are read at once, unless a record is longer.
const USUAL: usize = 1 << 16;
/// The most that may be asked for.
const CAPACITY: usize = 2 * MAX_RECORD;

/// Bytes that were read and not yet consumed.
pub(super) struct Buffer<R> {
    source: R,
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

impl<R: Read> Buffer<R> {
    pub(super) fn new(source: R) -> Self {
        Self { source, bytes: vec![0; USUAL], start: 0, end: 0 }
    }

    /// Has `len` bytes ready, at most [`CAPACITY`]; whether there are so many. What is damaged beyond
    /// reading (a gzip stream that breaks off) counts as the end.
    pub(super) fn fill(&mut self, len: usize) -> io::Result<bool> {
        debug_assert!(len <= CAPACITY);
        if self.end - self.start >= len {
            return Ok(true);
        }
        self.bytes.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        if len > self.bytes.len() {
            self.bytes.resize(len.next_power_of_two(), 0);
        }
        while self.end < len {
            match self.source.read(&mut self.bytes[self.end..]) {
                Ok(0) => return Ok(false),
                Ok(n) => self.end += n,
                Err(e) => match e.kind() {
                    ErrorKind::Interrupted => {}
                    ErrorKind::UnexpectedEof | ErrorKind::InvalidData | ErrorKind::InvalidInput => {
                        return Ok(false);
                    }
                    _ => return Err(e),
                },
            }
        }
        Ok(true)
    }

    /// Bytes that are ready.
    pub(super) fn peek(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// Takes `len` bytes that are ready.
    pub(super) fn take(&mut self, len: usize) -> &[u8] {
        let taken = self.start..self.start + len;
        self.start += len;
        &self.bytes[taken]
    }

    /// Leaves `len` bytes out, ready or not; whether there were so many.
    pub(super) fn skip(&mut self, mut len: u64) -> io::Result<bool> {
        while len > 0 {
            if !self.fill(1)? {
                return Ok(false);
            }
            let now = len.min((self.end - self.start) as u64);
            self.start += now as usize;
            len -= now;
        }
        Ok(true)
    }

    /// True if nothing is left.
    pub(super) fn is_at_end(&mut self) -> io::Result<bool> {
        Ok(!self.fill(1)?)
    }
}

/// The order of a number's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Little,
    Big,
}

impl Order {
    /// The number at `at`; the bytes are there.
    pub(super) fn u16(self, bytes: &[u8], at: usize) -> u16 {
        let b = [bytes[at], bytes[at + 1]];
        match self {
            Self::Little => u16::from_le_bytes(b),
            Self::Big => u16::from_be_bytes(b),
        }
    }

    /// The number at `at`; the bytes are there.
    pub(super) fn u32(self, bytes: &[u8], at: usize) -> u32 {
        let b = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
        match self {
            Self::Little => u32::from_le_bytes(b),
            Self::Big => u32::from_be_bytes(b),
        }
    }
}
