//! Which frames and layers need which others to be decoded.

use airlane_octopus::Marking;

use super::{Cells, LayerSet};

/// Structure of a video's encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Structure {
    /// Each frame has layers of quality. A layer needs those below it, and the same layer of the frame
    /// before, but for the first frame of a GoP (Octopus, Fig. 8).
    Quality {
        /// Frames of a GoP.
        gop: u32,
        /// Layers of a frame.
        layers: u8,
    },
    /// Frames have one layer each, and come in three temporal layers (Octopus, Fig. 7): every fourth
    /// frame of a GoP needs the one four before, the one between two of these needs the one two before,
    /// and the others the one just before.
    Temporal {
        /// Frames of a GoP.
        gop: u32,
    },
    /// Frames are point clouds in cells, and need no other (Octopus, Fig. 10). Each layer of a cell is of
    /// use without the others.
    Clouds(Cells),
}

impl Structure {
    /// Frames of a GoP.
    pub fn gop(&self) -> u32 {
        match *self {
            Self::Quality { gop, .. } | Self::Temporal { gop } => gop.max(1),
            Self::Clouds(_) => 1,
        }
    }

    /// Layers of a frame.
    pub fn layers(&self) -> u8 {
        match *self {
            Self::Quality { layers, .. } => layers.max(1),
            Self::Temporal { .. } => 1,
            Self::Clouds(cells) => cells.all(),
        }
    }

    /// Layers that can be decoded of a frame of which these came, if these could be of its reference.
    pub fn decodable(&self, came: LayerSet, of_reference: LayerSet) -> LayerSet {
        match *self {
            // Layers from the lowest on, as far as none is missing.
            Self::Quality { .. } | Self::Temporal { .. } => came.and(of_reference).without_gaps(),
            Self::Clouds(cells) => cells.shown(came),
        }
    }

    /// The frame whose layer of the same number a layer of frame `n` needs; `None` if it needs none.
    pub fn reference(&self, n: u32) -> Option<u32> {
        let place = n % self.gop();
        match *self {
            _ if place == 0 => None,
            Self::Quality { .. } | Self::Clouds(_) => Some(n - 1),
            Self::Temporal { .. } => Some(match place % 4 {
                0 => n - 4,
                2 => n - 2,
                _ => n - 1,
            }),
        }
    }

    /// The marking of a frame in temporal layers: what the arrival of which frames drops it (Octopus,
    /// Fig. 7, and the authors' priorities, which begin at 1 here as there).
    pub fn temporal_marking(&self, n: u32) -> Marking {
        let place = n % self.gop();
        let (priority, drops) = match place % 4 {
            _ if place == 0 => (1, 1),
            0 => (1, 2),
            2 => (2, 2),
            _ => (3, 3),
        };
        Marking { priority, drops: Some(drops), ..Marking::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// True if frame `n` needs frame `m`, directly or not.
    fn needs(structure: Structure, n: u32, m: u32) -> bool {
        structure.reference(n).is_some_and(|r| r == m || needs(structure, r, m))
    }

    #[test]
    fn what_a_frame_drops_no_later_frame_needs() {
        let structure = Structure::Temporal { gop: 8 };
        for newer in 0..32 {
            let drops = structure.temporal_marking(newer).drops.unwrap();
            for older in 0..newer {
                if structure.temporal_marking(older).priority < drops {
                    continue;
                }
                // The dropper itself must be decodable without it, and so must all that follows.
                for later in newer..40 {
                    assert!(
                        !needs(structure, later, older),
                        "{newer} drops {older}, {later} needs it"
                    );
                }
            }
        }
    }

    #[test]
    fn references_stay_in_their_gop() {
        for structure in [Structure::Temporal { gop: 8 }, Structure::Quality { gop: 10, layers: 3 }]
        {
            for n in 0..50 {
                let gop = n / structure.gop() * structure.gop();
                match structure.reference(n) {
                    Some(reference) => assert!(reference < n && reference >= gop),
                    None => assert_eq!(n, gop),
                }
            }
        }
    }
}
