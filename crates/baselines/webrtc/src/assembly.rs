//! Frames from packets, in the order in which a decoder takes them.

use std::collections::{BTreeMap, BTreeSet};

use airlane_base::Time;

use crate::delivered::Delivered;
use crate::packet::Descriptor;
use crate::partial_frame::{PartialFrame, Piece};

/// Packets that are held at most, as libwebrtc's packet buffer does. If more are needed, all of
/// them are dropped, and a key frame is.
pub(crate) const MAX_PACKETS: usize = 2_048;

/// Distance behind the newest packet within which str0m still asks for a missing one (`MAX_MISORDER`).
pub(crate) const REACH: u64 = 100;

/// Packets and frames that a receiver holds.
#[derive(Debug, Default)]
pub(crate) struct Assembly {
    frames: BTreeMap<u32, PartialFrame>,
    /// Packets in `frames`.
    packets: usize,
    /// The frame that a decoder takes next; `None`: whichever is a key frame.
    next: Option<u32>,
    /// The newest packet.
    newest: u64,
    /// The packet up to which nothing is missing, or is needed any more.
    edge: Option<u64>,
    /// Packets beyond `edge` that came.
    beyond: BTreeSet<u64>,
    /// Since when a missing packet is out of str0m's reach.
    lost_since: Option<Time>,
}

impl Assembly {
    /// True if only a key frame helps.
    pub(crate) fn needs_key(&self) -> bool {
        self.next.is_none()
    }

    /// Since when a packet is missing that is not asked for any more.
    pub(crate) fn lost_since(&self) -> Option<Time> {
        self.lost_since
    }

    /// Takes a packet. Whether it belongs to a key frame; `None` if it is of no use.
    pub(crate) fn push(&mut self, piece: &Piece) -> Option<bool> {
        let (descriptor, data) = Descriptor::decode(&piece.payload)?;
        self.note(piece.sequence, piece.at);
        if self.next.is_some_and(|next| descriptor.number < next) {
            return None;
        }
        if self.packets >= MAX_PACKETS {
            self.frames.clear();
            self.packets = 0;
            self.next = None;
        }
        let frame = self.frames.entry(descriptor.number);
        let frame = frame.or_insert_with(|| PartialFrame::new(descriptor.key, piece.at));
        if !frame.push(piece, &descriptor, data) {
            return None;
        }
        self.packets += 1;
        Some(frame.is_key())
    }

    /// Keeps track of what is missing.
    fn note(&mut self, sequence: u64, at: Time) {
        let edge = *self.edge.get_or_insert(sequence.saturating_sub(1));
        self.newest = self.newest.max(sequence);
        if sequence > edge {
            self.beyond.insert(sequence);
        }
        self.advance(edge, at);
    }

    /// Moves the edge to `to` at least.
    fn advance(&mut self, to: u64, at: Time) {
        let before = self.edge;
        let mut edge = to;
        while let Some(&sequence) = self.beyond.first() {
            if sequence > edge + 1 {
                break;
            }
            self.beyond.pop_first();
            edge = edge.max(sequence);
        }
        self.edge = Some(edge);
        // What a frame that was dropped leaves behind is bounded by what str0m lets through.
        while self.beyond.len() > 2 * MAX_PACKETS {
            self.beyond.pop_first();
        }
        if self.newest.saturating_sub(edge + 1) <= REACH {
            self.lost_since = None;
        } else if self.lost_since.is_none() || before != self.edge {
            self.lost_since = Some(at);
        }
    }

    /// The next frame that can be decoded at `now`: the one after the last, or a later key frame.
    pub(crate) fn pop(&mut self, now: Time) -> Option<Delivered> {
        let in_turn =
            self.next.filter(|n| self.frames.get(n).is_some_and(PartialFrame::is_complete));
        let number = in_turn.or_else(|| {
            let mut ready = self.frames.iter().filter(|(_, f)| f.is_key() && f.is_complete());
            ready.next().map(|(n, _)| *n)
        })?;
        let frame = self.frames.remove(&number)?;
        self.packets -= frame.packets();
        self.next = Some(number.wrapping_add(1));
        while let Some(older) = self.frames.first_entry().filter(|f| *f.key() < number) {
            self.packets -= older.remove().packets();
        }
        if let Some(last) = frame.last() {
            self.advance(last.max(self.edge.unwrap_or(0)), now);
        }
        Some(frame.deliver(number, now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::payloads;

    /// The packets of frames of `packets` each; those in `keys` are key frames.
    fn film(frames: u32, packets: usize, keys: &[u32]) -> Vec<Piece> {
        let mut film = Vec::new();
        for number in 0..frames {
            let data = vec![number as u8; 1_100 * packets];
            let key = keys.contains(&number);
            let all: Vec<_> = payloads(number, key, Time::ZERO, &data).collect();
            for (i, payload) in all.iter().enumerate() {
                film.push(Piece {
                    sequence: 100 + film.len() as u64,
                    last: i + 1 == all.len(),
                    payload: payload.clone().into(),
                    at: Time::from_millis(film.len() as u64),
                });
            }
        }
        film
    }

    fn popped(assembly: &mut Assembly) -> Vec<u32> {
        std::iter::from_fn(|| assembly.pop(Time::ZERO)).map(|f| f.number).collect()
    }

    #[test]
    fn frames_come_in_order_whatever_the_order_of_packets() {
        let film = film(10, 3, &[0]);
        let mut assembly = Assembly::default();
        for piece in film.iter().rev() {
            assembly.push(piece);
            assembly.push(piece);
        }
        assert_eq!(popped(&mut assembly), (0..10).collect::<Vec<_>>());
        assert_eq!((assembly.packets, assembly.beyond.len()), (0, 0));
    }

    #[test]
    fn a_hole_holds_up_what_follows_until_a_key_frame() {
        let film = film(10, 3, &[0, 7]);
        let mut assembly = Assembly::default();
        let mut got = Vec::new();
        for piece in film.iter().filter(|p| p.sequence != 107) {
            assembly.push(piece);
            got.append(&mut popped(&mut assembly));
        }
        assert_eq!(got, [0, 1, 7, 8, 9]);
        assert_eq!((assembly.packets, assembly.beyond.len()), (0, 0));
        assert_eq!(assembly.edge, Some(129));
        // The packet comes after all.
        assert_eq!(assembly.push(&film[7]), None);
    }

    #[test]
    fn a_missing_packet_is_lost_once_str0m_gives_it_up() {
        let film = film(100, 3, &[0]);
        let mut assembly = Assembly::default();
        for piece in film.iter().filter(|p| p.sequence != 107) {
            assembly.push(piece);
            popped(&mut assembly);
            let expected = piece.sequence > 107 + REACH;
            assert_eq!(assembly.lost_since().is_some(), expected, "{}", piece.sequence);
        }
        assert_eq!(assembly.lost_since(), Some(Time::from_millis(8 + REACH)));
        assembly.push(&film[7]);
        assert_eq!(assembly.lost_since(), None);
        assert_eq!(popped(&mut assembly).len(), 98);
    }

    #[test]
    fn more_packets_than_may_be_held_make_it_wait_for_a_key_frame() {
        let film = film(1_500, 3, &[0, 1_400]);
        let mut assembly = Assembly::default();
        let mut got = Vec::new();
        let mut needed = false;
        for piece in film.iter().filter(|p| p.sequence != 107) {
            assembly.push(piece);
            assert!(assembly.packets <= MAX_PACKETS);
            got.append(&mut popped(&mut assembly));
            needed |= assembly.needs_key() && piece.sequence > 110;
        }
        assert!(needed);
        let expected: Vec<u32> = (0..2).chain(1_400..1_500).collect();
        assert_eq!(got, expected);
    }

    #[test]
    fn packets_that_contradict_each_other_do_no_harm() {
        let mut assembly = Assembly::default();
        let film = film(3, 3, &[0]);
        for (i, sequence) in [5, 0, u64::MAX - 1, 3, 4].into_iter().enumerate() {
            let payload = film[i].payload.clone();
            assembly.push(&Piece { sequence, last: i == 1, payload, at: Time::ZERO });
        }
        assert_eq!(popped(&mut assembly), Vec::<u32>::new());
    }
}
