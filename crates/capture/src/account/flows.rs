//! Flows: what is known of a sender and a receiver, to infer what was not heard.

use std::collections::BTreeMap;
use std::time::Duration;

use airlane_wifi::{
    Address, BlockAck, Frame, FrameExchange, FrameKind, MAX_PPDU_DURATION, Part, PartKind, Vector,
    mac,
};

/// Number of pairs that are remembered.
const MAX_FLOWS: usize = 16_384;
/// Bytes of an MPDU of an aggregate before any was heard, and of a single one: a null frame.
const MPDU: f64 = 1_500.0;
const ALONE: f64 = 30.0;
/// The rate before any was heard: 24 Mbit/s.
const VECTOR: Vector = Vector::ofdm(4);

/// A sender and a receiver.
#[derive(Clone, Copy, Debug)]
struct Flow {
    /// Vector of the last data.
    vector: Option<Vector>,
    /// Mean size of MPDUs of data.
    mpdu: f64,
    /// The last block acknowledgement, and its traffic identifier.
    block_ack: Option<(u8, BlockAck)>,
    /// True if the sender has sent RTS.
    is_protected: bool,
}

/// All flows.
#[derive(Clone, Debug, Default)]
pub(super) struct Flows {
    flows: BTreeMap<(Address, Address), Flow>,
    /// Last vector and mean size of frames that an ACK answers, by sender: an ACK does not say who it is
    /// from.
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

    fn get(&self, sender: Option<Address>, receiver: Option<Address>) -> Option<&Flow> {
        self.flows.get(&(sender?, receiver?))
    }

    /// Takes in what a transmission tells of its sender.
    pub(super) fn learn(&mut self, part: &Part<'_>) {
        let Some((first, sender)) = part.first().and_then(|f| Some((f, f.transmitter?))) else {
            return;
        };
        match (part.kind, part.vector) {
            (PartKind::Rts(_), _) => {
                if let Some(flow) = self.of(sender, first.receiver) {
                    flow.is_protected = true;
                }
            }
            (PartKind::Ppdu { is_aggregate, frames }, Some(vector)) => {
                if first.kind.is_data() {
                    self.data(sender, vector, frames);
                }
                if !is_aggregate && !first.receiver.is_group() {
                    self.alone(sender, vector, first.bytes);
                }
            }
            _ => {}
        }
    }

    /// Takes in data of one PPDU.
    fn data(&mut self, sender: Address, vector: Vector, frames: &[Frame]) {
        let Some(flow) = self.of(sender, frames[0].receiver) else { return };
        flow.vector = Some(vector);
        for frame in frames {
            flow.mpdu += (f64::from(frame.bytes) - flow.mpdu) / 16.0;
        }
    }

    /// Takes in a frame that an ACK answers.
    fn alone(&mut self, sender: Address, vector: Vector, bytes: u32) {
        if self.alone.len() >= MAX_FLOWS && !self.alone.contains_key(&sender) {
            return;
        }
        let bytes = f64::from(bytes);
        let (last, mean) = self.alone.entry(sender).or_insert((vector, bytes));
        *last = vector;
        *mean += (bytes - *mean) / 16.0;
    }

    /// Number of frames that the block acknowledgement of an exchange acknowledges and none before it did;
    /// at least 1. `None` without a block acknowledgement.
    pub(super) fn acknowledged(&mut self, exchange: &FrameExchange) -> Option<u32> {
        let response = exchange.response.as_ref()?.first.as_ref()?;
        let (Some(now), Some(receiver)) = (response.block_ack, response.transmitter) else {
            return (response.kind == FrameKind::BlockAck).then_some(1);
        };
        let flow = self.of(response.receiver, receiver);
        let last = flow.and_then(|flow| flow.block_ack.replace((response.tid, now)));
        let fresh = match last {
            Some((tid, last)) if tid == response.tid => now.count_since(&last),
            _ => now.count(),
        };
        Some(fresh.max(1))
    }

    /// True if the sender of an exchange has sent RTS to its receiver, as far as these are known.
    pub(super) fn is_protected(&self, exchange: &FrameExchange) -> bool {
        self.get(exchange.sender, exchange.receiver).is_some_and(|flow| flow.is_protected)
    }

    /// Vector of the last data from the sender to the receiver of an exchange.
    pub(super) fn vector(&self, exchange: &FrameExchange) -> Option<Vector> {
        self.get(exchange.sender, exchange.receiver)?.vector
    }

    /// Duration of an aggregate of so many frames that was not heard.
    pub(super) fn guess(
        &self,
        sender: Address,
        receiver: Option<Address>,
        frames: u32,
    ) -> Duration {
        let flow = self.get(Some(sender), receiver);
        let vector = flow.and_then(|flow| flow.vector).unwrap_or(VECTOR);
        let mpdu = flow.map_or(MPDU, |flow| flow.mpdu).round() as u32;
        let bytes = frames.saturating_mul(mac::in_aggregate(mpdu));
        vector.duration(bytes.min(vector.format.max_bytes())).min(MAX_PPDU_DURATION)
    }

    /// Duration of a frame that was not heard, and that an ACK answered.
    pub(super) fn guess_alone(&self, sender: Address) -> Duration {
        let (vector, bytes) = self.alone.get(&sender).copied().unwrap_or((VECTOR, ALONE));
        vector.duration(bytes.round() as u32).min(MAX_PPDU_DURATION)
    }
}
