//! Video that goes to one participant: how much of each track.

use std::collections::BTreeMap;

use airlane_base::Time;

use super::Thinning;
use super::probe::{Demand, Prober};
use crate::allocate::{Allocator, Offer};
use crate::layer_allocator::{Budget, StreamId};
use crate::layers::{LayerSelection, LayerTable};
use crate::queue::Frame;
use crate::split::max_min_by_tier;
use crate::wire::ParticipantId;

/// Video that goes to one participant.
pub(super) struct Downlink {
    how: How,
}

enum How {
    /// Share of each track's frames.
    Shares(BTreeMap<StreamId, f64>),
    Layers {
        allocator: Allocator,
        forwarded: BTreeMap<StreamId, Forwarded>,
        prober: Prober,
    },
}

/// Layers of a track that are forwarded.
#[derive(Clone, Debug, Default)]
struct Forwarded {
    table: LayerTable,
    /// Layers that it is to have.
    target: Option<LayerSelection>,
    /// Layers that it has; `None` before a key frame, or while it is paused.
    current: Option<LayerSelection>,
}

impl Forwarded {
    /// True if only a key frame makes it have what it is to have.
    fn needs_key(&self) -> bool {
        match (self.target, self.current) {
            (Some(target), Some(current)) => target.spatial > current.spatial,
            (Some(_), None) => true,
            (None, _) => false,
        }
    }

    /// The part of a frame that is forwarded. Layers are taken away at any frame. Spatial ones are added at a key
    /// frame, temporal ones at a frame that no higher one is in between of.
    fn thin(&mut self, frame: &Frame) -> Option<Frame> {
        let header = &frame.header;
        let Some(target) = self.target else {
            self.current = None;
            return None;
        };
        let mut current = match self.current {
            _ if header.is_key => target,
            Some(current) => current,
            None => return None,
        };
        current.spatial = current.spatial.min(target.spatial);
        current.temporal = match header.temporal_layer {
            0 => target.temporal,
            _ => current.temporal.min(target.temporal),
        };
        self.current = Some(current);
        let is_forwarded = header.temporal_layer <= current.temporal;
        let bytes = self.table.bytes(header.payload_bytes, current.spatial);
        is_forwarded.then(|| frame.cut(bytes))
    }
}

/// Consequence of a division.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Division {
    /// Tracks of which a key frame is needed.
    pub(super) key_frames: Vec<StreamId>,
    /// True if less is forwarded than there is.
    pub(super) is_thinned: bool,
    /// Padding that is to be sent, bit/s.
    pub(super) padding: f64,
}

impl Downlink {
    /// Downlink of the receiver of this name.
    pub(super) fn new(thinning: Thinning, receiver: &str, now: Time) -> Self {
        let how = match thinning {
            Thinning::Transcode => How::Shares(BTreeMap::new()),
            Thinning::Layers(kind) => How::Layers {
                allocator: Allocator::new(kind, receiver),
                forwarded: BTreeMap::new(),
                prober: Prober::new(now),
            },
        };
        Self { how }
    }

    /// The part of a frame of video that is forwarded: of a transcoder at least `min_bytes`.
    pub(super) fn thin(&mut self, frame: &Frame, min_bytes: u32) -> Option<Frame> {
        let header = &frame.header;
        let stream = (header.source, header.track);
        match &mut self.how {
            How::Shares(shares) => {
                let whole = header.payload_bytes;
                let share = shares.get(&stream).copied().unwrap_or(1.0);
                let bytes = (f64::from(whole) * share).ceil() as u32;
                Some(frame.cut(bytes.max(min_bytes).min(whole)))
            }
            // Of a track that was not offered yet nothing is forwarded: within a tenth of a second it will be.
            How::Layers { forwarded, .. } => forwarded.get_mut(&stream)?.thin(frame),
        }
    }

    /// Divides a budget over the videos that there are. `is_full`: it is not to be probed for more.
    pub(super) fn divide(
        &mut self,
        now: Time,
        budget: Budget,
        is_full: bool,
        offers: &[Offer],
    ) -> Division {
        match &mut self.how {
            How::Shares(shares) => {
                let sources: Vec<_> = offers.iter().map(|o| (o.rate, o.tier)).collect();
                let divided = offers.iter().zip(max_min_by_tier(budget.rate, &sources));
                let share = |(offer, share): (&Offer, f64)| {
                    (offer.stream, if offer.rate > 0.0 { share / offer.rate } else { 1.0 })
                };
                *shares = divided.map(share).collect();
                let is_thinned = shares.values().any(|share| *share < 1.0);
                Division { is_thinned, ..Division::default() }
            }
            How::Layers { allocator, forwarded, prober } => {
                let allocation = allocator.allocate(now, budget, offers);
                let mut key_frames = Vec::new();
                let mut next = BTreeMap::new();
                for (offer, target) in offers.iter().zip(&allocation.layers) {
                    let mut of = forwarded.remove(&offer.stream).unwrap_or_default();
                    of.table.clone_from(&offer.layers);
                    of.target = *target;
                    if of.needs_key() {
                        key_frames.push(offer.stream);
                    }
                    next.insert(offer.stream, of);
                }
                *forwarded = next;
                let (total, needed) = (allocation.total, allocation.needed);
                let demand = needed.map(|needed| Demand { budget: budget.rate, total, needed });
                let padding = prober.update(now, demand, is_full);
                Division { key_frames, is_thinned: needed.is_some(), padding }
            }
        }
    }

    /// Forgets a participant that has left.
    pub(super) fn forget(&mut self, id: ParticipantId) {
        match &mut self.how {
            How::Shares(shares) => shares.retain(|(source, _), _| *source != id),
            How::Layers { forwarded, .. } => forwarded.retain(|(source, _), _| *source != id),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::allocate::AllocatorKind;
    use crate::wire::Track;

    #[test]
    fn a_downlink_is_thinned_where_it_has_less_than_there_is() {
        let offer = |source: u16| Offer {
            stream: (ParticipantId(source), Track::Camera),
            rate: 1e6,
            layers: LayerTable::new(&[0.26, 1.0], 1).unwrap_or_default(),
            tier: 2,
        };
        let offers = [offer(1), offer(2)];
        for thinning in [Thinning::Transcode, Thinning::Layers(AllocatorKind::MaxMin)] {
            let is_thinned = |rate: f64, offers: &[Offer]| {
                let budget = Budget { rate, pending_bytes: 0 };
                let mut downlink = Downlink::new(thinning, "a", Time::ZERO);
                downlink.divide(Time::ZERO, budget, false, offers).is_thinned
            };
            assert!(is_thinned(1.5e6, &offers), "{thinning:?}");
            assert!(!is_thinned(3e6, &offers), "{thinning:?}");
            assert!(!is_thinned(0.0, &[]), "{thinning:?}");
        }
    }
}
