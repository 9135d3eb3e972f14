//! The rate step of OWS (Algorithm 1, line 5): which level each tile gets within a budget of bits.
//!
//! Minimise `sum of w(t) * D(R(t))` subject to `sum of B(R(t)) <= budget`, one level per tile.
//! Relaxed to mixtures of levels this is a linear program whose optimum uses levels on each tile's
//! lower convex hull alone. For a multiplier `lambda` a tile takes every hull segment that lowers
//! `w * D` by more than `lambda` per bit; the multiplier at which the budget is just used up solves
//! the relaxation (Lagrange duality; Sinha and Zoltners, Operations Research 1979). Since a tile's
//! slopes fall, that is to take segments of all tiles from the steepest on until one no longer fits,
//! and of that one the part that fits: the **bound**. The integer solution leaves that one segment
//! out, so it is at most that segment's gain above the bound, and so above the integer optimum. What
//! room is left then takes whichever next segments of tiles fit, the steepest first.
//!
//! The steepest segments are found by selection, not by sorting: linear in their number.

use crate::curve::TileCurve;

/// A segment of a tile's hull, as the rate step sees it.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    /// Weighted fall of distortion per bit, as the bits of a float above 0, which order as it does.
    slope: u64,
    /// Tile in the upper half, segment of its hull in the lower: the order among equals.
    place: u64,
    bits: u64,
}

impl Candidate {
    fn steeper_first(&self, other: &Self) -> std::cmp::Ordering {
        other.slope.cmp(&self.slope).then(self.place.cmp(&other.place))
    }

    fn tile(self) -> usize {
        (self.place >> 32) as usize
    }

    fn segment(self) -> usize {
        self.place as u32 as usize
    }
}

/// Memory that the rate step reuses.
#[derive(Clone, Debug, Default)]
pub struct Workspace {
    candidates: Vec<Candidate>,
    /// Number of segments taken of each tile's hull.
    taken: Vec<u32>,
}

/// Result of the rate step.
#[derive(Clone, Debug, PartialEq)]
pub struct Allocation {
    /// The level of each tile, by its place in [`TileCurve::levels`].
    pub levels: Vec<usize>,
    /// Their size together.
    pub bits: u64,
    /// `sum of w * D` of these levels.
    pub loss: f64,
    /// No choice of levels within the budget has less: the optimum of the relaxation. Meaningless if
    /// the tiles do not fit.
    pub bound: f64,
    /// Weighted fall of distortion per bit of the segment that no longer fitted whole; 0 if all do.
    pub multiplier: f64,
    /// True if the levels fit the budget. If not, they are the smallest that there are.
    pub fits: bool,
}

impl Workspace {
    /// Solves one instance: the curve and the weight of each tile, and the budget in bits. A tile
    /// with weight 0 (or less) gets its smallest level.
    ///
    /// # Panics
    /// If there are not as many weights as curves.
    pub fn rate_step(
        &mut self,
        curves: &[TileCurve],
        weights: &[f64],
        budget_bits: u64,
    ) -> Allocation {
        assert_eq!(curves.len(), weights.len(), "one weight per tile");
        let base: u64 = curves.iter().map(|curve| curve.levels()[0].bits).sum();
        self.taken.clear();
        self.taken.resize(curves.len(), 0);
        let Some(room) = budget_bits.checked_sub(base) else {
            let levels = self.levels(curves);
            let loss = loss(curves, weights, &levels);
            return Allocation {
                levels,
                bits: base,
                loss,
                bound: loss,
                multiplier: 0.0,
                fits: false,
            };
        };
        self.gather(curves, weights);
        let (room, broken) = self.take_steepest(room);
        let mut levels = self.levels(curves);
        let whole = loss(curves, weights, &levels);
        let multiplier = broken.map_or(0.0, |segment| f64::from_bits(segment.slope));
        let bound = whole - multiplier * room as f64;
        let left = self.fill(curves, weights, room);
        let mut loss_filled = whole;
        if left < room {
            levels = self.levels(curves);
            loss_filled = loss(curves, weights, &levels);
        }
        Allocation {
            levels,
            bits: budget_bits - left,
            loss: loss_filled,
            bound,
            multiplier,
            fits: true,
        }
    }

    fn gather(&mut self, curves: &[TileCurve], weights: &[f64]) {
        self.candidates.clear();
        for ((tile, curve), &weight) in (0u64..).zip(curves).zip(weights) {
            for (number, segment) in (0u64..).zip(curve.segments()) {
                let slope = weight * segment.slope;
                if slope > 0.0 {
                    let place = tile << 32 | number;
                    let slope = slope.to_bits();
                    self.candidates.push(Candidate { slope, place, bits: segment.bits });
                }
            }
        }
    }

    /// Takes the steepest candidates as long as they fit. Returns the room that is left and the
    /// first that does not fit it.
    fn take_steepest(&mut self, mut room: u64) -> (u64, Option<Candidate>) {
        let taken = &mut self.taken;
        let mut take = |candidates: &[Candidate]| {
            for candidate in candidates {
                let has = &mut taken[candidate.tile()];
                // A tile's segments are steeper the lower they are, so all below come as well.
                *has = (*has).max(candidate.segment() as u32 + 1);
            }
        };
        let mut rest = &mut self.candidates[..];
        while rest.len() > 1 {
            let half = rest.len() / 2;
            rest.select_nth_unstable_by(half, Candidate::steeper_first);
            let (steep, flat) = rest.split_at_mut(half);
            let bits: u64 = steep.iter().map(|candidate| candidate.bits).sum();
            if bits <= room {
                room -= bits;
                take(steep);
                rest = flat;
            } else {
                rest = steep;
            }
        }
        match rest {
            [last] if last.bits <= room => {
                take(&[*last]);
                (room - last.bits, None)
            }
            [last] => (room, Some(*last)),
            _ => (room, None),
        }
    }

    /// Takes the steepest next segment of any tile that fits, again and again. Returns the room that
    /// is left.
    fn fill(&mut self, curves: &[TileCurve], weights: &[f64], mut room: u64) -> u64 {
        loop {
            let mut best: Option<(f64, usize, u64)> = None;
            for (tile, curve) in curves.iter().enumerate() {
                let Some(next) = curve.segments().get(self.taken[tile] as usize) else {
                    continue;
                };
                let slope = weights[tile] * next.slope;
                if next.bits <= room && slope > best.map_or(0.0, |(slope, ..)| slope) {
                    best = Some((slope, tile, next.bits));
                }
            }
            let Some((_, tile, bits)) = best else {
                return room;
            };
            self.taken[tile] += 1;
            room -= bits;
        }
    }

    fn levels(&self, curves: &[TileCurve]) -> Vec<usize> {
        let places = curves.iter().zip(&self.taken);
        places.map(|(curve, &segments)| curve.hull()[segments as usize]).collect()
    }
}

/// `sum of w * D`.
fn loss(curves: &[TileCurve], weights: &[f64], levels: &[usize]) -> f64 {
    let places = levels.iter().zip(curves).zip(weights);
    places.map(|((&level, curve), weight)| weight * curve.levels()[level].mse).sum()
}
