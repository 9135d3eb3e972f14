//! Marking of a receiver's stream for a cell on the way: the packets of a picture are a PDU Set (3GPP TS 26.522).
//! `docs/design/pdu-sets.md` has the importances.

use std::collections::VecDeque;

use airlane_pdu_set::{PduSetImportance, PduSetMark};

use crate::info::PacketInfo;

/// Pictures whose late packets are marked.
const MAX_SETS: usize = 8;
/// Numbers of PDU Sets, and of packets within one, before they begin anew.
const SET_NUMBERS: u16 = 1 << 10;
const PACKET_NUMBERS: u8 = 1 << 6;
/// Importance of the lowest temporal layer, and its distance to that of the next one: lower numbers matter more.
const BASE_LAYER: u8 = 2;
const LAYER_STEP: u8 = 3;
/// Highest temporal layer that has an importance of its own.
const MAX_TEMPORAL: u8 = 3;

/// Importance of a packet's picture: that of a key picture is the highest, then it falls with the temporal layer; that
/// of a picture which none depends on is the lowest.
pub fn importance(info: &PacketInfo) -> PduSetImportance {
    if info.is_key_frame {
        return PduSetImportance::HIGHEST;
    }
    if info.is_discardable {
        return PduSetImportance::LOWEST;
    }
    let number = BASE_LAYER + info.layer.temporal.min(MAX_TEMPORAL) * LAYER_STEP;
    PduSetImportance::new(number).unwrap_or(PduSetImportance::UNKNOWN)
}

/// True if a cell may drop a PDU Set of this importance while the receiver goes on without it: what it drops is not to be
/// sent again. Key pictures and the lowest temporal layer are dropped for a later key picture alone.
pub fn is_droppable(importance: PduSetImportance) -> bool {
    importance.number() > BASE_LAYER
}

/// A picture whose packets are being sent.
#[derive(Clone, Copy, Debug)]
struct Set {
    timestamp: u32,
    sequence: u16,
    next_packet: u8,
    importance: PduSetImportance,
}

/// Marker of the packets of one stream, as they go out.
#[derive(Clone, Default, Debug)]
pub struct PduSetMarker {
    /// The latest last.
    sets: VecDeque<Set>,
    next_sequence: u16,
}

impl PduSetMarker {
    /// Mark of the next packet, with its RTP timestamp and marker bit as they go out; `None` of a packet of a picture
    /// from before the last few. Without sizes, which a forwarder does not know before the picture ends; the end of a data
    /// burst is not told.
    ///
    /// All packets of a picture have the importance of the one that goes out first.
    pub fn mark(&mut self, timestamp: u32, marker: bool, info: &PacketInfo) -> Option<PduSetMark> {
        let is_new = self.sets.back().is_none_or(|set| is_later(timestamp, set.timestamp));
        if is_new {
            if self.sets.len() == MAX_SETS {
                self.sets.pop_front();
            }
            let (sequence, importance) = (self.next_sequence, importance(info));
            self.sets.push_back(Set { timestamp, sequence, next_packet: 0, importance });
            self.next_sequence = (sequence + 1) % SET_NUMBERS;
        }
        let set = self.sets.iter_mut().rev().find(|set| set.timestamp == timestamp)?;
        let pdu_sequence = set.next_packet;
        set.next_packet = (pdu_sequence + 1) % PACKET_NUMBERS;
        Some(PduSetMark {
            ends_set: marker,
            importance: set.importance,
            set_sequence: set.sequence,
            pdu_sequence,
            ..PduSetMark::default()
        })
    }
}

/// True if RTP timestamp `a` is later than `b`, by serial arithmetic.
fn is_later(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) > 0
}
