//! Buffers for pieces of files, used again.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;

/// Bytes of the buffers that are pooled: as much of a file as is read at once.
pub(crate) const PIECE_BYTES: usize = 256 << 10;

/// The most unused buffers that are kept.
const MAX_SPARE: usize = 4;

/// Buffers that came back when their pieces were delivered. A new buffer would be filled with zeros
/// before a file is read into it, and lies in no cache. Clones are the same pool.
#[derive(Clone, Default)]
pub(crate) struct BufferPool(Arc<Mutex<Vec<Box<[u8]>>>>);

impl fmt::Debug for BufferPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BufferPool").field("spare", &self.0.lock().len()).finish()
    }
}

impl BufferPool {
    /// A buffer of so many bytes, whatever is in it.
    pub(crate) fn take(&self, bytes: usize) -> Buffer {
        // Smaller pieces are those of slow clients: a pooled buffer would be mostly unused.
        let spare = if bytes == PIECE_BYTES { self.0.lock().pop() } else { None };
        let bytes = spare.unwrap_or_else(|| vec![0; bytes].into());
        Buffer { bytes, pool: self.clone() }
    }
}

/// A buffer for one piece, which goes back to its pool when this is dropped.
pub(crate) struct Buffer {
    bytes: Box<[u8]>,
    pool: BufferPool,
}

impl Buffer {
    /// Its first bytes. It goes back when the last part of them is dropped.
    pub(crate) fn filled(self, bytes: usize) -> Bytes {
        Bytes::from_owner(self).slice(..bytes)
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let bytes = std::mem::take(&mut self.bytes);
        let mut spare = self.pool.0.lock();
        if bytes.len() == PIECE_BYTES && spare.len() < MAX_SPARE {
            spare.push(bytes);
        }
    }
}

impl AsRef<[u8]> for Buffer {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Deref for Buffer {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_of_a_whole_piece_is_used_again_once_all_parts_are_dropped() {
        let pool = BufferPool::default();
        let mut buffer = pool.take(PIECE_BYTES);
        buffer[..3].copy_from_slice(b"abc");
        let piece = buffer.filled(3);
        let part = piece.slice(1..);
        drop(piece);
        assert_eq!((&part[..], pool.0.lock().len()), (&b"bc"[..], 0));
        drop(part);
        assert_eq!(pool.0.lock().len(), 1);
        assert_eq!(pool.take(PIECE_BYTES)[..3], *b"abc");
        // It is back; others get a buffer of their size, which is not kept.
        assert_eq!((pool.take(5).len(), pool.0.lock().len()), (5, 1));
    }

    #[test]
    fn spare_buffers_are_bounded() {
        let pool = BufferPool::default();
        let taken: Vec<_> = (0..2 * MAX_SPARE).map(|_| pool.take(PIECE_BYTES)).collect();
        drop(taken);
        assert_eq!(pool.0.lock().len(), MAX_SPARE);
    }
}
