//! What can be decoded of what has come.

use std::collections::BTreeMap;

use super::{LayerSet, Structure};

/// Frames that are kept for others to be decoded with at most: what comes later than that is late.
const MAX_KEPT: u32 = 64;

/// A frame that can be decoded now, or better than before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// The frame.
    pub frame: u32,
    /// Its layers that can be decoded: at least one.
    pub layers: LayerSet,
}

/// A decoder of layers that come in any order, each once.
///
/// It shows frames in order: what comes of a frame when a later one was decoded already is late, and
/// only helps frames that need it.
#[derive(Clone, Debug)]
pub struct Decoder {
    structure: Structure,
    /// Layers that have come, and those that can be decoded; by frame.
    frames: BTreeMap<u32, Frame>,
    /// The newest frame that was decoded.
    newest: Option<u32>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Frame {
    came: LayerSet,
    decoded: LayerSet,
}

impl Decoder {
    /// A decoder that has nothing yet.
    pub fn new(structure: Structure) -> Self {
        Self { structure, frames: BTreeMap::new(), newest: None }
    }

    /// The newest frame that was decoded.
    pub fn newest(&self) -> Option<u32> {
        self.newest
    }

    /// A layer of a frame has come whole. What can be decoded with it goes to `decoded`, frame by
    /// frame.
    pub fn add(&mut self, frame: u32, layer: u8, mut decoded: impl FnMut(Decoded)) {
        let oldest = self.newest.map_or(0, |newest| newest.saturating_sub(MAX_KEPT));
        let furthest = self.newest.unwrap_or(0).saturating_add(1 << 20);
        if layer >= self.structure.layers() || frame < oldest || frame > furthest {
            return;
        }
        self.frames.entry(frame).or_default().came.add(layer);
        // Only frames of the same GoP can have waited for it.
        let gop = self.structure.gop();
        let end = (frame / gop * gop).saturating_add(gop);
        let waiting: Vec<u32> = self.frames.range(frame..end).map(|(n, _)| *n).collect();
        for n in waiting {
            self.decode(n, &mut decoded);
        }
        let newest = self.newest.unwrap_or(0);
        while let Some(first) = self.frames.first_entry()
            && (first.key().saturating_add(MAX_KEPT) < newest
                || self.frames.len() > 4 * MAX_KEPT as usize)
        {
            self.frames.pop_first();
        }
    }

    fn decode(&mut self, n: u32, decoded: &mut impl FnMut(Decoded)) {
        let Some(&frame) = self.frames.get(&n) else { return };
        let allowed = match self.structure.reference(n) {
            None => LayerSet::ALL,
            Some(reference) => self.frames.get(&reference).map_or(LayerSet::NONE, |r| r.decoded),
        };
        let now = self.structure.decodable(frame.came, allowed);
        // What was decoded stays so, also when what it needed is no longer kept.
        if now.count() <= frame.decoded.count() {
            return;
        }
        let is_shown = self.newest.is_none_or(|newest| n >= newest);
        self.frames.insert(n, Frame { decoded: now, ..frame });
        if is_shown {
            self.newest = Some(n);
            decoded(Decoded { frame: n, layers: now });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn decode(structure: Structure, came: &[(u32, u8)]) -> Vec<(u32, u8)> {
        let mut decoder = Decoder::new(structure);
        let mut all = Vec::new();
        for &(frame, layer) in came {
            decoder.add(frame, layer, |d| all.push((d.frame, d.layers.count() - 1)));
        }
        all
    }

    const QUALITY: Structure = Structure::Quality { gop: 10, layers: 3 };
    const TEMPORAL: Structure = Structure::Temporal { gop: 8 };

    #[test]
    fn a_layer_needs_those_below_and_its_own_of_the_frame_before() {
        // The top of frame 1 is missing: no top from there on, until the next GoP.
        let came =
            [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (2, 0), (2, 1), (2, 2), (10, 0), (10, 1)];
        let decoded = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (2, 0), (2, 1), (10, 0), (10, 1)];
        assert_eq!(decode(QUALITY, &came), decoded);
        // Without a base nothing of its GoP.
        assert_eq!(decode(QUALITY, &[(1, 0), (2, 0), (2, 1), (10, 1), (10, 0)]), [(10, 1)]);
    }

    #[test]
    fn temporal_layers_can_be_left_out_from_the_top() {
        assert_eq!(decode(TEMPORAL, &[(0, 0), (4, 0), (6, 0), (7, 0), (8, 0)]).len(), 5);
        assert_eq!(
            decode(TEMPORAL, &[(0, 0), (2, 0), (6, 0), (7, 0), (8, 0)]),
            [(0, 0), (2, 0), (8, 0)]
        );
    }

    #[test]
    fn what_is_late_is_not_shown_but_helps_what_needs_it() {
        assert_eq!(decode(QUALITY, &[(1, 0), (2, 0), (0, 0)]), [(0, 0), (1, 0), (2, 0)]);
        // Frame 1 comes when 10 has been shown.
        assert_eq!(decode(QUALITY, &[(0, 0), (10, 0), (1, 0), (2, 0)]), [(0, 0), (10, 0)]);
    }

    #[test]
    fn strange_frames_do_no_harm() {
        let came = [(u32::MAX, 0), (0, 200), (5, 0), (u32::MAX, 2), (1 << 21, 0)];
        assert_eq!(decode(QUALITY, &came), []);
        // So many that wait for others that the frame before is forgotten: what was decoded stays so.
        let waiting = (0..255).map(|n| (101 + 10 * n, 0));
        let came = [(0, 0), (1, 0)].into_iter().chain(waiting).chain([(1, 1)]);
        assert_eq!(decode(QUALITY, &came.collect::<Vec<_>>()), [(0, 0), (1, 0)]);
        // Up to the last number that there is.
        let (step, last) = (1_000_000, u32::MAX / 10 * 10);
        let mut came: Vec<_> = (0..=last / step).map(|n| (n * step, 0)).collect();
        came.extend([(last, 0), (u32::MAX, 0)]);
        assert_eq!(decode(QUALITY, &came).last(), Some(&(last, 0)));
    }

    proptest! {
        /// Nothing is decoded without what it needs, and all that can be is, whatever the order.
        #[test]
        fn it_decodes_exactly_what_can_be(
            temporal: bool,
            came in prop::collection::btree_set((0u32..40, 0u8..3), 0..100),
        ) {
            let structure = if temporal { TEMPORAL } else { QUALITY };
            let came: Vec<_> = came.into_iter().filter(|c| c.1 < structure.layers()).collect();
            let set: BTreeSet<_> = came.iter().copied().collect();
            let possible = |frame: u32, layer: u8| {
                let mut at = Some(frame);
                std::iter::from_fn(|| {
                    let n = at?;
                    at = structure.reference(n);
                    Some((0..=layer).all(|l| set.contains(&(n, l))))
                })
                .all(|all| all)
            };
            let mut best = std::collections::BTreeMap::new();
            for (frame, layer) in decode(structure, &came) {
                prop_assert!(possible(frame, layer), "{frame} {layer}");
                best.insert(frame, layer);
            }
            // In order nothing is late.
            for frame in 0..40 {
                let most = (0..structure.layers()).rev().find(|l| possible(frame, *l));
                prop_assert_eq!(best.get(&frame).copied(), most, "frame {}", frame);
            }
        }
    }
}
