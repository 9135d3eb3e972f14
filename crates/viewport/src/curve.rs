//! The rate and distortion of one tile in one GoP.

/// Levels of a tile at most.
pub const MAX_LEVELS: usize = 256;

/// One encoding of a tile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// Its size in bits, B of section 4.1.
    pub bits: u64,
    /// Its mean squared error, D(R) of section 4.1, in squared steps of 8-bit samples.
    pub mse: f64,
}

/// Error in the levels of a curve.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum CurveError {
    /// There is no level, or there are too many.
    #[error("a tile has 1 to {MAX_LEVELS} levels, not {0}")]
    Count(usize),
    /// A distortion is below 0, infinite or not a number.
    #[error("found a mean squared error of {0}; it must be finite and not below 0")]
    Mse(f64),
}

/// A step up the convex hull of a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Segment {
    /// Bits more than at its lower end; above 0.
    pub(crate) bits: u64,
    /// Fall of the mean squared error per bit; above 0.
    pub(crate) slope: f64,
}

/// The levels of a tile that are worth having, and their lower convex hull.
///
/// A level that takes at least as many bits as another and is no better is left out. Of those that
/// stay, sizes rise and distortions fall. The hull is what the rate step chooses from, because on it
/// each further bit helps less than the one before.
#[derive(Clone, Debug, PartialEq)]
pub struct TileCurve {
    levels: Vec<Level>,
    source: Vec<usize>,
    hull: Vec<usize>,
    segments: Vec<Segment>,
    missing: f64,
}

impl TileCurve {
    /// From the levels, in any order, and the distortion when the tile is missing, Dmiss.
    ///
    /// # Errors
    /// If there are no levels or more than [`MAX_LEVELS`], or a distortion is not finite or below 0.
    pub fn new(levels: &[Level], missing: f64) -> Result<Self, CurveError> {
        if levels.is_empty() || levels.len() > MAX_LEVELS {
            return Err(CurveError::Count(levels.len()));
        }
        let all = levels.iter().map(|level| level.mse).chain([missing]);
        if let Some(mse) = all.into_iter().find(|mse| !(mse.is_finite() && *mse >= 0.0)) {
            return Err(CurveError::Mse(mse));
        }
        let mut source: Vec<usize> = (0..levels.len()).collect();
        source.sort_by(|&a, &b| {
            let (a, b) = (levels[a], levels[b]);
            a.bits.cmp(&b.bits).then(a.mse.total_cmp(&b.mse))
        });
        let mut best = f64::INFINITY;
        source.retain(|&number| {
            let is_better = levels[number].mse < best;
            best = best.min(levels[number].mse);
            is_better
        });
        let levels: Vec<Level> = source.iter().map(|&number| levels[number]).collect();
        let hull = hull(&levels);
        let segments = hull.windows(2).map(|ends| segment(&levels, ends[0], ends[1])).collect();
        Ok(Self { levels, source, hull, segments, missing })
    }

    /// The same, with one level more: to leave the tile out for 0 bits at the distortion of a
    /// missing one. The rate step then always finds what fits, and no level is worse than the tile
    /// missing: where the previous GoP's tile is still good, that is what is shown.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn with_skip(levels: &[Level], missing: f64) -> Result<Self, CurveError> {
        let mut all = levels.to_vec();
        all.push(Level { bits: 0, mse: missing });
        Self::new(&all, missing)
    }

    /// The levels that are worth having: sizes rise, distortions fall. Plans name levels by their
    /// place in this list.
    pub fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// The place, in the list that the curve was made from, of a level of [`levels`](Self::levels).
    pub fn source(&self, level: usize) -> usize {
        self.source[level]
    }

    /// The places in [`levels`](Self::levels) of those on the lower convex hull, from the smallest.
    pub fn hull(&self) -> &[usize] {
        &self.hull
    }

    /// The steps between neighbours of the hull, each less steep than the one before.
    pub(crate) fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// Distortion when the tile is missing, Dmiss.
    pub fn missing(&self) -> f64 {
        self.missing
    }
}

fn segment(levels: &[Level], from: usize, to: usize) -> Segment {
    let bits = levels[to].bits - levels[from].bits;
    Segment { bits, slope: (levels[from].mse - levels[to].mse) / bits as f64 }
}

/// The lower convex hull of levels whose sizes rise and distortions fall.
fn hull(levels: &[Level]) -> Vec<usize> {
    let mut hull: Vec<usize> = Vec::new();
    for next in 0..levels.len() {
        while let [.., before, last] = hull[..]
            && segment(levels, before, last).slope <= segment(levels, last, next).slope
        {
            hull.pop();
        }
        hull.push(next);
    }
    hull
}
