//! The cells of moving point clouds and their layers, in the order in which they are sent (Octopus,
//! section 6.3 and figure 10).

use airlane_octopus::Marking;

use super::LayerSet;

/// A frame's cells: so many towards the viewer, and as many behind them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cells {
    /// Front cells.
    pub fronts: u8,
    /// Layers of each cell.
    pub layers: u8,
}

/// A layer of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellLayer {
    /// The cell: front cells first.
    pub cell: u8,
    /// Its layer.
    pub layer: u8,
}

/// Thresholds of the droppers of four frames, which repeat.
pub type Thresholds = [u8; 4];

/// As printed, 3, 2, 1 and 0, shifted by one like all priorities (`docs/design/octopus.md`).
pub const PAPER_THRESHOLDS: Thresholds = [4, 3, 2, 1];
/// As in the authors' code, where all that is older goes with every other frame.
pub const AUTHORS_THRESHOLDS: Thresholds = [1, 3, 2, 1];

impl Cells {
    /// True if all layers of a frame have a place in a [`LayerSet`].
    pub fn fit(self) -> bool {
        let all = 2 * u16::from(self.fronts) * u16::from(self.layers);
        (1..=u16::from(LayerSet::MAX)).contains(&all)
    }

    /// Layers of a frame, of all cells.
    pub fn all(self) -> u8 {
        self.behind().saturating_mul(2).max(1)
    }

    /// The first message that is not of a front cell.
    fn behind(self) -> u8 {
        self.fronts.saturating_mul(self.layers)
    }

    /// Layer of a cell that the frame's message of this number carries: front cells come first, of
    /// these the first layer of each cell, then the second of each.
    pub fn place(self, message: u8) -> CellLayer {
        let (group, within) = (message / self.behind().max(1), message % self.behind().max(1));
        let fronts = self.fronts.max(1);
        CellLayer { cell: group * fronts + within % fronts, layer: within / fronts }
    }

    /// Number of layers of each cell among these.
    pub fn counts(self, layers: LayerSet) -> Vec<usize> {
        let mut counts = vec![0; 2 * usize::from(self.fronts)];
        for message in (0..self.all()).filter(|message| layers.has(usize::from(*message))) {
            counts[usize::from(self.place(message).cell)] += 1;
        }
        counts
    }

    /// Layers of these that are shown: all, once each front cell has a layer. Without it a part of the
    /// picture would be missing, or show what is behind.
    pub fn shown(self, layers: LayerSet) -> LayerSet {
        let counts = self.counts(layers);
        let fronts = &counts[..usize::from(self.fronts)];
        if fronts.iter().all(|count| *count > 0) { layers } else { LayerSet::NONE }
    }

    /// The marking of a message of frame `n`: layers of cells behind are dropped before higher layers of
    /// front cells, and these before their first layers. The first message of a frame is the dropper.
    pub fn marking(self, n: u32, message: u8, thresholds: Option<Thresholds>) -> Marking {
        let CellLayer { cell, layer } = self.place(message);
        let priority = match (cell < self.fronts, layer) {
            (true, 0) => 1,
            (true, _) => 2,
            (false, 0) => 3,
            (false, _) => 4,
        };
        let drops = thresholds.filter(|_| message == 0).map(|t| t[n as usize % t.len()]);
        Marking { priority, drops, ..Marking::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CELLS: Cells = Cells { fronts: 2, layers: 5 };

    #[test]
    fn messages_go_from_what_matters_most_to_what_matters_least() {
        let places: Vec<_> = (0..CELLS.all()).map(|m| CELLS.place(m)).collect();
        assert_eq!(places.len(), 20);
        let at = |cell, layer| CellLayer { cell, layer };
        assert_eq!(places[..3], [at(0, 0), at(1, 0), at(0, 1)]);
        assert_eq!(places[9..12], [at(1, 4), at(2, 0), at(3, 0)]);
        assert_eq!(places[19], at(3, 4));
        let priorities: Vec<u8> =
            (0..20).map(|m| CELLS.marking(0, m, Some(PAPER_THRESHOLDS)).priority).collect();
        assert!(priorities.is_sorted());
        let of = |p: u8| priorities.iter().filter(|q| **q == p).count();
        assert_eq!([1, 2, 3, 4].map(of), [2, 8, 2, 8]);
    }

    #[test]
    fn the_first_message_of_each_frame_drops_less_and_more_in_turn() {
        for (n, threshold) in [4, 3, 2, 1, 4].into_iter().enumerate() {
            for message in 0..CELLS.all() {
                let marking = CELLS.marking(n as u32, message, Some(PAPER_THRESHOLDS));
                assert_eq!(marking.drops, (message == 0).then_some(threshold), "{n} {message}");
                assert_eq!(marking.bitrate_kbps, 0);
            }
        }
        assert_eq!(CELLS.marking(0, 0, None).drops, None);
    }

    #[test]
    fn every_layer_counts_alike_and_a_frame_needs_one_of_each_front_cell() {
        let mut came = LayerSet::NONE;
        for message in [2, 8, 13, 19] {
            came.add(message);
        }
        assert_eq!(CELLS.counts(came), [2, 0, 0, 2]);
        assert_eq!(CELLS.shown(came), LayerSet::NONE);
        came.add(5);
        assert_eq!(CELLS.counts(came), [2, 1, 0, 2]);
        assert_eq!(CELLS.shown(came), came);
    }
}
