//! Problem P1 for one GoP (section 4.1), its plans and their loss.

use serde::Serialize;

use crate::curve::TileCurve;
use crate::throughput::Throughput;

/// Parts of a problem that do not belong together.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum ProblemError {
    /// Curves, probabilities and deadlines are not equally many.
    #[error("found {curves} curves, {probabilities} probabilities and {deadlines} deadlines")]
    Lengths {
        /// Number of curves.
        curves: usize,
        /// Number of probabilities.
        probabilities: usize,
        /// Number of deadlines.
        deadlines: usize,
    },
    /// A probability or a deadline is below 0, infinite or not a number.
    #[error("tile {tile} has {value}; probabilities and deadlines are finite and not below 0")]
    Value {
        /// The tile.
        tile: usize,
        /// Value that was found.
        value: f64,
    },
}

/// Data of a GoP that are known before it is sent. Tiles are numbered in their default placement.
#[derive(Clone, Copy, Debug)]
pub struct Problem<'a> {
    curves: &'a [TileCurve],
    probabilities: &'a [f64],
    deadlines_s: &'a [f64],
    throughput: &'a Throughput,
    capacity_bits: u64,
}

/// A solution of P1: R(t) and pi.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The level of each tile, by its place in [`TileCurve::levels`].
    pub levels: Vec<usize>,
    /// The tiles from the first that is sent to the last.
    pub order: Vec<usize>,
}

/// Loss of a tile, and the order of tiles by it in Algorithm 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum LossKind {
    /// As printed: `eps * P * D(R)`, in ascending order.
    Literal,
    /// As printed, in descending order.
    Descending,
    /// The expected distortion, `P * [(1 - eps) * D(R) + eps * Dmiss]`. Tiles are ordered by what
    /// each of their bits is worth, `P * (Dmiss - D(R)) / B`, in descending order.
    #[default]
    Corrected,
}

impl LossKind {
    /// The loss of a tile that is late with probability `eps`, is seen with probability (or weight)
    /// `p`, and has distortion `d`, or `missing` if it is late.
    pub fn of(self, eps: f64, p: f64, d: f64, missing: f64) -> f64 {
        match self {
            Self::Literal | Self::Descending => eps * p * d,
            Self::Corrected => p * ((1.0 - eps) * d + eps * missing),
        }
    }
}

impl<'a> Problem<'a> {
    /// The curve, P(t) and deadline d_t (seconds from the moment that the first bit is sent) of each
    /// tile; the distribution of the transport's throughput; and C_agg, the bits that all tiles may
    /// have together.
    ///
    /// # Errors
    /// If there are not as many of one as of the other, or a number is not finite or below 0.
    pub fn new(
        curves: &'a [TileCurve],
        probabilities: &'a [f64],
        deadlines_s: &'a [f64],
        throughput: &'a Throughput,
        capacity_bits: u64,
    ) -> Result<Self, ProblemError> {
        if curves.len() != probabilities.len() || curves.len() != deadlines_s.len() {
            return Err(ProblemError::Lengths {
                curves: curves.len(),
                probabilities: probabilities.len(),
                deadlines: deadlines_s.len(),
            });
        }
        for values in [probabilities, deadlines_s] {
            let is_wrong = |value: &f64| !(value.is_finite() && *value >= 0.0);
            if let Some(tile) = values.iter().position(is_wrong) {
                return Err(ProblemError::Value { tile, value: values[tile] });
            }
        }
        Ok(Self { curves, probabilities, deadlines_s, throughput, capacity_bits })
    }

    /// The curve of each tile.
    pub fn curves(&self) -> &'a [TileCurve] {
        self.curves
    }

    /// P(t) of each tile.
    pub fn probabilities(&self) -> &'a [f64] {
        self.probabilities
    }

    /// The latest deadline of a tile.
    pub(crate) fn latest_deadline_s(&self) -> f64 {
        self.deadlines_s.iter().copied().fold(0.0, f64::max)
    }

    /// The distribution of the throughput.
    pub fn throughput(&self) -> &'a Throughput {
        self.throughput
    }

    /// True if no tile has a level that is worse than the tile missing, so that being late never
    /// helps.
    pub(crate) fn is_late_never_better(&self) -> bool {
        self.curves.iter().all(|curve| curve.levels()[0].mse <= curve.missing())
    }

    /// C_agg in bits.
    pub fn capacity_bits(&self) -> u64 {
        self.capacity_bits
    }

    /// Size of a tile at a level.
    pub fn bits(&self, tile: usize, level: usize) -> u64 {
        self.curves[tile].levels()[level].bits
    }

    /// Size of all tiles of a plan.
    pub fn total_bits(&self, plan: &Plan) -> u64 {
        plan.levels.iter().enumerate().map(|(tile, &level)| self.bits(tile, level)).sum()
    }

    /// The probability that a tile is late if it is complete after so many bits of the GoP.
    pub fn miss(&self, tile: usize, complete_bits: u64) -> f64 {
        self.throughput.miss(complete_bits, self.deadlines_s[tile])
    }

    /// eps(t) of each tile, by its number: it is complete when all before it in the order are, and
    /// it is.
    pub fn misses(&self, plan: &Plan) -> Vec<f64> {
        let mut misses = vec![1.0; self.curves.len()];
        let mut complete = 0;
        for &tile in &plan.order {
            complete += self.bits(tile, plan.levels[tile]);
            misses[tile] = self.miss(tile, complete);
        }
        misses
    }

    /// The loss of a tile at a level that is late with probability `eps`.
    pub fn tile_loss(&self, tile: usize, level: usize, eps: f64, kind: LossKind) -> f64 {
        let curve = &self.curves[tile];
        let mse = curve.levels()[level].mse;
        kind.of(eps, self.probabilities[tile], mse, curve.missing())
    }

    /// Objective that P1 minimises, summed over tiles: the factor 1/N of the text changes no choice.
    /// With [`LossKind::Corrected`] and P(t) that sum to 1 this is the expected mean squared error
    /// of the viewport.
    pub fn loss(&self, plan: &Plan, kind: LossKind) -> f64 {
        let mut complete = 0;
        let mut loss = 0.0;
        for &tile in &plan.order {
            let level = plan.levels[tile];
            complete += self.bits(tile, level);
            loss += self.tile_loss(tile, level, self.miss(tile, complete), kind);
        }
        loss
    }

    /// Worth of each bit of a tile at a level if it arrives: `P * (Dmiss - D) / B`. A tile of 0 bits
    /// is worth nothing, as its place changes nothing.
    pub fn worth(&self, tile: usize, level: usize) -> f64 {
        let bits = self.bits(tile, level);
        if bits == 0 {
            return 0.0;
        }
        let curve = &self.curves[tile];
        let gain = curve.missing() - curve.levels()[level].mse;
        self.probabilities[tile] * gain / bits as f64
    }

    /// The order of [`LossKind::Corrected`] for given levels; equals keep their default placement.
    pub fn worth_order(&self, levels: &[usize]) -> Vec<usize> {
        let keys: Vec<f64> =
            levels.iter().enumerate().map(|(tile, &level)| -self.worth(tile, level)).collect();
        ascending(&keys)
    }

    /// For each tile, by its index, true if it is complete by its deadline where the transport brings
    /// `throughput_bps`. Tiles come one after another, in the order of the plan.
    pub fn arrived(&self, plan: &Plan, throughput_bps: f64) -> Vec<bool> {
        let mut arrived = vec![false; self.curves.len()];
        let mut complete = 0;
        for &tile in &plan.order {
            complete += self.bits(tile, plan.levels[tile]);
            arrived[tile] = throughput_bps * self.deadlines_s[tile] >= complete as f64;
        }
        arrived
    }
}

/// The tiles by rising key; equals keep their order.
pub(crate) fn ascending(keys: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..keys.len()).collect();
    order.sort_by(|&a, &b| keys[a].total_cmp(&keys[b]));
    order
}
