//! Room for pieces of files, used again.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;

/// Bytes of a piece that is kept room for: as much of a file as is read at once.
pub(crate) const PIECE_BYTES: usize = 256 << 10;

/// Pieces that there is room for while nobody needs it.
const SPARE_PIECES: usize = 16;

/// Room that came back when its pieces were delivered. Fresh room would be filled with zeros before
/// a file is read into it, and lies in no cache. Clones are the same.
#[derive(Clone, Default)]
pub(crate) struct Rooms(Arc<Mutex<Vec<Box<[u8]>>>>);

impl fmt::Debug for Rooms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rooms").field("spare", &self.0.lock().len()).finish()
    }
}

impl Rooms {
    /// Room for so many bytes, whatever is in it.
    pub(crate) fn take(&self, bytes: usize) -> Room {
        // Smaller pieces are those of slow clients: they would hold room that they do not use.
        let spare = if bytes == PIECE_BYTES { self.0.lock().pop() } else { None };
        let room = spare.unwrap_or_else(|| vec![0; bytes].into());
        Room { room, back: self.clone() }
    }
}

/// Room for one piece, which goes back when this is dropped.
pub(crate) struct Room {
    room: Box<[u8]>,
    back: Rooms,
}

impl Room {
    /// Its first bytes. It goes back when the last part of them is dropped.
    pub(crate) fn filled(self, bytes: usize) -> Bytes {
        Bytes::from_owner(self).slice(..bytes)
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let room = std::mem::take(&mut self.room);
        let mut spare = self.back.0.lock();
        if room.len() == PIECE_BYTES && spare.len() < SPARE_PIECES {
            spare.push(room);
        }
    }
}

impl AsRef<[u8]> for Room {
    fn as_ref(&self) -> &[u8] {
        &self.room
    }
}

impl Deref for Room {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.room
    }
}

impl DerefMut for Room {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.room
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_pieces_leave_their_room_to_the_next() {
        let rooms = Rooms::default();
        let mut room = rooms.take(PIECE_BYTES);
        room[..3].copy_from_slice(b"abc");
        let piece = room.filled(3);
        let part = piece.slice(1..);
        drop(piece);
        assert_eq!((&part[..], rooms.0.lock().len()), (&b"bc"[..], 0));
        drop(part);
        assert_eq!(rooms.0.lock().len(), 1);
        assert_eq!(rooms.take(PIECE_BYTES)[..3], *b"abc");
        // It is back; others get room of their size, which does not stay.
        assert_eq!((rooms.take(5).len(), rooms.0.lock().len()), (5, 1));
    }

    #[test]
    fn what_is_spare_is_bounded() {
        let rooms = Rooms::default();
        let taken: Vec<_> = (0..2 * SPARE_PIECES).map(|_| rooms.take(PIECE_BYTES)).collect();
        drop(taken);
        assert_eq!(rooms.0.lock().len(), SPARE_PIECES);
    }
}
