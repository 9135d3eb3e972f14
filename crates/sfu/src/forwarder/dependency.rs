//! Decode targets of streams with dependency descriptors (AV1 RTP payload specification, appendix A).

use std::sync::Arc;

use crate::dependency::DecodeTargetIndication;
use crate::info::{DescribedFrame, DescribedStructure};
use crate::layer::LayerIndex;
use crate::number_map::Unwrapper;

/// Number of frames that are remembered as forwarded: more than any template refers back to.
const FRAME_WINDOW: u64 = 256;

/// Frames that were forwarded lately.
#[derive(Default, Debug)]
struct FrameSet {
    newest: u64,
    /// A bit for each frame number modulo the window.
    bits: [u64; (FRAME_WINDOW / 64) as usize],
}

impl FrameSet {
    fn insert(&mut self, frame: u64) {
        if frame.saturating_sub(self.newest) >= FRAME_WINDOW {
            self.bits = Default::default();
        } else {
            for number in self.newest + 1..=frame {
                self.bits[(number % FRAME_WINDOW / 64) as usize] &= !(1 << (number % 64));
            }
        }
        self.newest = self.newest.max(frame);
        if self.newest - frame < FRAME_WINDOW {
            self.bits[(frame % FRAME_WINDOW / 64) as usize] |= 1 << (frame % 64);
        }
    }

    fn contains(&self, frame: u64) -> bool {
        frame <= self.newest
            && self.newest - frame < FRAME_WINDOW
            && self.bits[(frame % FRAME_WINDOW / 64) as usize] >> (frame % 64) & 1 == 1
    }
}

/// Choice of the decode target.
#[derive(Default, Debug)]
pub(super) struct DependencyFilter {
    pub(super) target: usize,
    structure: Option<Arc<DescribedStructure>>,
    numbers: Unwrapper,
    frame: Option<u64>,
    timestamp: Option<u32>,
    forwarded: FrameSet,
    /// The receiver was told of fewer decode targets than the structure has, since it got the structure.
    is_masked: bool,
    /// Decode targets that the receiver is to be told of.
    pub(super) active: Option<u32>,
    /// The wanted spatial layer can be reached by a key frame alone.
    pub(super) awaits_key_frame: bool,
}

impl DependencyFilter {
    /// Looks at a packet in order; `want` is the layer that the receiver is to get.
    pub(super) fn update(&mut self, timestamp: u32, frame: &DescribedFrame, want: LayerIndex) {
        let number = self.unwrap(frame);
        let is_new_unit = self.timestamp.replace(timestamp) != Some(timestamp);
        let is_new_frame = self.frame.replace(number) != Some(number);
        let is_known = self.structure.as_ref().is_some_and(|s| Arc::ptr_eq(s, &frame.structure));
        let wanted = frame.target_for(want);
        if !is_known {
            self.structure = Some(frame.structure.clone());
            self.forwarded = FrameSet::default();
            self.is_masked = false;
            self.awaits_key_frame = false;
            self.target = wanted;
        } else if is_new_frame {
            self.approach(frame, Approach { number, is_new_unit, wanted, want });
        }
        self.tell_targets(frame);
    }

    /// Notes a frame that is forwarded.
    pub(super) fn note_forwarded(&mut self, frame: &DescribedFrame) {
        let number = self.unwrap(frame);
        self.forwarded.insert(number);
    }

    /// Layer of the target.
    pub(super) fn layer(&self) -> LayerIndex {
        let targets = self.structure.as_ref().map(|structure| &structure.targets);
        let target = targets.and_then(|targets| targets.get(self.target));
        target.map_or(LayerIndex::LOWEST, |t| LayerIndex::new(t.spatial, t.temporal))
    }

    /// Extended number of a frame.
    fn unwrap(&mut self, frame: &DescribedFrame) -> u64 {
        self.numbers.unwrap(frame.descriptor.frame_number.into(), 16)
    }

    /// Goes to the wanted target, or towards it, where this frame makes it possible.
    fn approach(&mut self, frame: &DescribedFrame, to: Approach) {
        let targets = &frame.structure.targets;
        let (Some(now), Some(wanted)) = (targets.get(self.target), targets.get(to.wanted)) else {
            self.target = to.wanted;
            return;
        };
        let reduces = |target: usize| {
            let is_part = targets.get(target).is_some_and(|target| target.is_part_of(*now));
            to.is_new_unit && is_part
        };
        let mut enters = vec![to.wanted];
        if wanted.spatial != now.spatial {
            // Until a key frame makes the other spatial layer possible: the wanted frame rate, or the lowest if less
            // is to be sent.
            let temporal = if wanted.spatial > now.spatial { to.want.temporal } else { 0 };
            enters.push(frame.target_for(LayerIndex::new(now.spatial, temporal)));
        }
        // A frame of a higher layer comes too late where the marker has ended the picture below it.
        let has_place = to.is_new_unit || frame.spatial <= now.spatial;
        let reachable = |target: &usize| {
            let is_entry = has_place && self.is_entry(frame, *target, to.number);
            *target == self.target || reduces(*target) || is_entry
        };
        if let Some(target) = enters.into_iter().find(reachable) {
            self.target = target;
        }
        if to.is_new_unit {
            let spatial = targets.get(self.target).map_or(0, |target| target.spatial);
            self.awaits_key_frame = spatial != wanted.spatial;
        }
    }

    /// The frame lets a receiver of what was forwarded go over to a target (A.7).
    fn is_entry(&self, frame: &DescribedFrame, target: usize, number: u64) -> bool {
        let mut referred = frame.frame_distances().iter();
        frame.indication(target) == DecodeTargetIndication::Switch
            && referred.all(|distance| {
                number.checked_sub(u64::from(*distance)).is_some_and(|n| self.forwarded.contains(n))
            })
    }

    /// Finds which decode targets the receiver is to be told of: those that it gets whole. Once it was told of fewer
    /// than all, each packet tells it, so that no loss leaves it with another set (A.4).
    fn tell_targets(&mut self, frame: &DescribedFrame) {
        let targets = &frame.structure.targets;
        let Some(now) = targets.get(self.target) else { return };
        let parts = targets.iter().enumerate().filter(|(_, target)| target.is_part_of(*now));
        let whole = parts.fold(0_u32, |mask, (place, _)| mask | 1 << place) & frame.active;
        self.is_masked |= whole != frame.active;
        self.active = self.is_masked.then_some(whole);
    }
}

/// A wanted decode target, and the frame at which it may be entered.
#[derive(Clone, Copy)]
struct Approach {
    number: u64,
    is_new_unit: bool,
    wanted: usize,
    want: LayerIndex,
}
