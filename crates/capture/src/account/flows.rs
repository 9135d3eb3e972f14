//! What is remembered of who sends to whom, to infer what was not heard.

use std::collections::BTreeMap;
use std::time::Duration;

use airlane_wifi::{Address, BlockAck, Vector, mac};

/// Pairs are remembered up to this number.
const MAX_FLOWS: usize = 16_384;
/// The longest PPDU of HT and later (802.11-2020, table 19-25).
pub(super) const MAX_PPDU_DURATION: Duration = Duration::from_micros(5_484);
/// What an MPDU of an aggregate is taken to be before any was heard, and one alone: a null frame.
const MPDU: f64 = 1_500.0;
const ALONE: f64 = 30.0;
/// The rate before any was heard: 24 Mbit/s.
const VECTOR: Vector = Vector::ofdm(4);

/// What is remembered of a sender and a receiver.
#[derive(Clone, Copy, Debug)]
struct Flow {
    /// How data were sent last.
    vector: Option<Vector>,
    /// Mean size of MPDUs of data.
    mpdu: f64,
    /// The last block acknowledgement, and its traffic identifier.
    block_ack: Option<(u8, BlockAck)>,
    /// Whether the sender has sent RTS.
    is_protected: bool,
}

/// What is remembered of all.
#[derive(Clone, Debug, Default)]
pub(super) struct Flows {
    flows: BTreeMap<(Address, Address), Flow>,
    /// How frames were sent that an ACK answers, and their mean size, by sender: an ACK does not say who
    /// it is from.
    alone: BTreeMap<Address, (Vector, f64)>,
}

impl Flows {
    fn of(&mut self, sender: Address, receiver: Address) -> Option<&mut Flow> {
        let new = Flow { vector: None, mpdu: MPDU, block_ack: None, is_protected: false };
        if self.flows.len() >= MAX_FLOWS && !self.flows.contains_key(&(sender, receiver)) {
            return None;
        }
        Some(self.flows.entry((sender, receiver)).or_insert(new))
    }

    /// Data of these sizes were heard.
    pub(super) fn heard(
        &mut self,
        sender: Address,
        receiver: Address,
        vector: Vector,
        sizes: impl Iterator<Item = u32>,
    ) {
        let Some(flow) = self.of(sender, receiver) else { return };
        flow.vector = Some(vector);
        for bytes in sizes {
            flow.mpdu += (f64::from(bytes) - flow.mpdu) / 16.0;
        }
    }

    /// An RTS was heard.
    pub(super) fn protects(&mut self, sender: Address, receiver: Address) {
        if let Some(flow) = self.of(sender, receiver) {
            flow.is_protected = true;
        }
    }

    /// Whether the sender has sent RTS to the receiver, as far as one of them is known.
    pub(super) fn is_protected(&self, sender: Address, receiver: Option<Address>) -> bool {
        receiver.and_then(|r| self.flows.get(&(sender, r))).is_some_and(|flow| flow.is_protected)
    }

    /// The rate of data in bits per second, if any were heard.
    pub(super) fn rate_bps(&self, sender: Address, receiver: Address) -> Option<f64> {
        Some(self.flows.get(&(sender, receiver))?.vector?.rate().as_f64())
    }

    /// How many frames a block acknowledgement acknowledges that none before it did; at least 1.
    pub(super) fn acknowledged(
        &mut self,
        sender: Address,
        receiver: Address,
        tid: u8,
        now: BlockAck,
    ) -> u32 {
        let Some(flow) = self.of(sender, receiver) else { return now.count().max(1) };
        let last = flow.block_ack.replace((tid, now));
        let fresh = match last {
            Some((last_tid, last)) if last_tid == tid => fresh(last, now),
            _ => now.count(),
        };
        fresh.max(1)
    }

    /// A frame was heard that an ACK answers.
    pub(super) fn heard_alone(&mut self, sender: Address, vector: Vector, bytes: u32) {
        if self.alone.len() >= MAX_FLOWS && !self.alone.contains_key(&sender) {
            return;
        }
        let bytes = f64::from(bytes);
        let (last, mean) = self.alone.entry(sender).or_insert((vector, bytes));
        *last = vector;
        *mean += (bytes - *mean) / 16.0;
    }

    /// How long an aggregate of so many frames took that was not heard.
    pub(super) fn guess(
        &self,
        sender: Address,
        receiver: Option<Address>,
        frames: u32,
    ) -> Duration {
        let flow = receiver.and_then(|receiver| self.flows.get(&(sender, receiver)));
        let vector = flow.and_then(|flow| flow.vector).unwrap_or(VECTOR);
        let mpdu = flow.map_or(MPDU, |flow| flow.mpdu).round() as u32;
        let bytes = frames.saturating_mul(mac::in_aggregate(mpdu));
        vector.duration(bytes.min(vector.format.max_bytes())).min(MAX_PPDU_DURATION)
    }

    /// How long a frame took that was not heard, and that an ACK answered.
    pub(super) fn guess_alone(&self, sender: Address) -> Duration {
        let (vector, bytes) = self.alone.get(&sender).copied().unwrap_or((VECTOR, ALONE));
        vector.duration(bytes.round() as u32).min(MAX_PPDU_DURATION)
    }
}

/// How many frames `now` acknowledges that `last` did not.
fn fresh(last: BlockAck, now: BlockAck) -> u32 {
    let moved = now.start.wrapping_sub(last.start) & 0x0fff;
    if moved >= 0x0800 {
        // The window went back: nothing new.
        return 0;
    }
    let known = shifted(last.came, u32::from(moved));
    now.came.iter().zip(known).map(|(now, known)| (now & !known).count_ones()).sum()
}

/// A bitmap without its first bits.
fn shifted(bits: [u64; 4], by: u32) -> [u64; 4] {
    let (words, rest) = ((by / 64) as usize, by % 64);
    let word = |at: usize| bits.get(at).copied().unwrap_or(0);
    std::array::from_fn(|at| {
        let low = word(at + words) >> rest;
        let high = if rest == 0 { 0 } else { word(at + words + 1) << (64 - rest) };
        low | high
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_later_bitmap_repeats_is_not_new() {
        let bits = |start, came| BlockAck { start, came: [came, 0, 0, 0] };
        assert_eq!(fresh(bits(100, 0b1111), bits(100, 0b111_1111)), 3);
        assert_eq!(fresh(bits(100, 0b1111), bits(102, 0b1_1111)), 3);
        assert_eq!(fresh(bits(4_095, 0b11), bits(1, 0b1)), 1);
        assert_eq!(fresh(bits(100, 0b1), bits(99, 0b1)), 0);
        assert_eq!(shifted([0, 1, 0, 0], 64), [1, 0, 0, 0]);
        assert_eq!(shifted([0, 1, 0, 0], 63), [2, 0, 0, 0]);
        assert_eq!(shifted([!0; 4], 256), [0; 4]);
    }
}
