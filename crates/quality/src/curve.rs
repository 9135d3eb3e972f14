//! Strictly increasing piecewise linear curves, such as quality over rate.
//!
//! How a curve is made from measured points:
//! - **Monotone by the running maximum.** A point below an earlier one is lifted to it. A viewer
//!   with the rate of a rung may play a lower one, so the best quality within a rate never falls;
//!   the points that were in order stay exactly as measured.
//! - **Strictly increasing.** Between two points the curve rises by at least
//!   [`MIN_RISE`] of its whole range, in proportion to their distance, so that an inverse exists
//!   everywhere.
//! - **Extended in proportion to x** below the first and above the last point: `y0 * x / x0` and
//!   `yn * x / xn`. A curve through the origin is what Minerva's utilities and its normalisation
//!   need: then a rate beyond the ladder moves no weight. Where a proportion would not rise (the
//!   end point is not above zero in both coordinates), the slope of the nearest segment goes on.

/// The least rise of a curve over its whole length, as a share of its range of y (of 1 if flat).
pub const MIN_RISE: f64 = 1e-4;

/// Error in the points of a curve.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CurveError {
    /// There is no point.
    #[error("a curve needs at least one point")]
    Empty,
    /// A coordinate is infinite or not a number.
    #[error("point {index} is ({x}, {y}); both must be finite")]
    NotFinite {
        /// Number of the point, from 0.
        index: usize,
        /// Its abscissa.
        x: f64,
        /// Its ordinate.
        y: f64,
    },
    /// The points are not sorted.
    #[error("point {index} is at {x}, not above the one before it at {before}")]
    NotRising {
        /// Number of the point, from 0.
        index: usize,
        /// Its abscissa.
        x: f64,
        /// The abscissa of the point before it.
        before: f64,
    },
    /// Values that have to rise do not.
    #[error("point {index} has {y}, not above the one before it with {before}")]
    Falling {
        /// Number of the point, from 0.
        index: usize,
        /// Its ordinate.
        y: f64,
        /// The ordinate of the point before it.
        before: f64,
    },
    /// A single point makes a curve only through the origin.
    #[error("a single point must have x and y above zero, not ({x}, {y})")]
    SinglePoint {
        /// Its abscissa.
        x: f64,
        /// Its ordinate.
        y: f64,
    },
}

/// Checks that a curve can be made of points at all.
fn check(points: &[(f64, f64)]) -> Result<(), CurveError> {
    if let Some(index) = points.iter().position(|p| !(p.0.is_finite() && p.1.is_finite())) {
        let (x, y) = points[index];
        return Err(CurveError::NotFinite { index, x, y });
    }
    if let Some(i) = points.windows(2).position(|w| w[1].0 <= w[0].0) {
        let (before, x) = (points[i].0, points[i + 1].0);
        return Err(CurveError::NotRising { index: i + 1, x, before });
    }
    match *points {
        [] => Err(CurveError::Empty),
        [(x, y)] if !(x > 0.0 && y > 0.0) => Err(CurveError::SinglePoint { x, y }),
        _ => Ok(()),
    }
}

/// A strictly increasing curve, linear between its points, defined for every x.
#[derive(Clone, Debug, PartialEq)]
pub struct PiecewiseLinear {
    x: Vec<f64>,
    y: Vec<f64>,
}

impl PiecewiseLinear {
    /// The curve through `points`, made monotone and strictly increasing as the module says.
    ///
    /// # Errors
    /// If a coordinate is not finite, if the x do not rise strictly, if there is no point, or a
    /// single one that has no proportion.
    pub fn from_points(points: &[(f64, f64)]) -> Result<Self, CurveError> {
        check(points)?;
        let ((x0, y0), (xn, _)) = (points[0], points[points.len() - 1]);
        let top = points.iter().fold(y0, |m, p| m.max(p.1));
        let range = if top > y0 { top - y0 } else { 1.0 };
        let min_slope = MIN_RISE * range / (xn - x0).max(f64::MIN_POSITIVE);
        let mut y: Vec<f64> = Vec::with_capacity(points.len());
        let mut before: Option<(f64, f64)> = None;
        for &(px, py) in points {
            let lifted = before.map_or(py, |(bx, by)| {
                // The next float at least, should the distance be lost in rounding.
                py.max(by + min_slope * (px - bx)).max(by.next_up())
            });
            y.push(lifted);
            before = Some((px, lifted));
        }
        Ok(Self { x: points.iter().map(|p| p.0).collect(), y })
    }

    /// The curve through `points` as they stand, such as [`PiecewiseLinear::points`] of one that
    /// was stored: nothing is lifted, not by a rounding either.
    ///
    /// # Errors
    /// As [`PiecewiseLinear::from_points`], and [`CurveError::Falling`] if a value is not above the
    /// one before it.
    pub fn from_rising(points: &[(f64, f64)]) -> Result<Self, CurveError> {
        check(points)?;
        if let Some(i) = points.windows(2).position(|w| w[1].1 <= w[0].1) {
            let (before, y) = (points[i].1, points[i + 1].1);
            return Err(CurveError::Falling { index: i + 1, y, before });
        }
        let (x, y) = points.iter().copied().unzip();
        Ok(Self { x, y })
    }

    /// The curve whose value at y is the mean over `curves` of the x at which each reaches y: the
    /// mean of their inverses, never below zero.
    ///
    /// Exact: a mean of piecewise linear functions is linear between their joint corners. This is
    /// Minerva's normalisation (section 5.4). Only corners above zero are kept, with zero itself
    /// where a curve starts at or below it.
    ///
    /// # Errors
    /// [`CurveError::Empty`] if there is no curve or none of them ever rises above zero.
    pub fn mean_inverse(curves: &[Self]) -> Result<Self, CurveError> {
        let mut corners: Vec<f64> = curves.iter().flat_map(|c| c.y.iter().copied()).collect();
        if corners.iter().any(|&y| y <= 0.0) {
            corners.push(0.0);
        }
        corners.retain(|&y| y >= 0.0);
        corners.sort_by(f64::total_cmp);
        // 0.0 and -0.0 differ for `total_cmp` only.
        corners.dedup();
        let points: Vec<(f64, f64)> = corners
            .into_iter()
            .map(|y| {
                let sum: f64 = curves.iter().map(|c| c.inverse(y).max(0.0)).sum();
                (y, sum / curves.len() as f64)
            })
            .collect();
        Self::from_points(&points)
    }

    /// The value at `x`.
    pub fn eval(&self, x: f64) -> f64 {
        eval(&self.x, &self.y, x)
    }

    /// The x at which the curve has the value `y`.
    pub fn inverse(&self, y: f64) -> f64 {
        eval(&self.y, &self.x, y)
    }

    /// The points of the curve, as they are after it was made monotone.
    pub fn points(&self) -> impl ExactSizeIterator<Item = (f64, f64)> + '_ {
        self.x.iter().copied().zip(self.y.iter().copied())
    }

    /// The first point.
    pub fn first(&self) -> (f64, f64) {
        (self.x[0], self.y[0])
    }

    /// The last point.
    pub fn last(&self) -> (f64, f64) {
        let i = self.x.len() - 1;
        (self.x[i], self.y[i])
    }
}

/// Evaluates the line through the points `(from[i], to[i])`, both strictly rising. The extensions
/// are symmetric in the two axes, so that this is the inverse too.
fn eval(from: &[f64], to: &[f64], v: f64) -> f64 {
    let last = from.len() - 1;
    // First point above v; the segment that ends there holds v.
    let i = from.partition_point(|&f| f <= v);
    let proportional = |end: usize| from[end] > 0.0 && to[end] > 0.0;
    if i == 0 && proportional(0) {
        return to[0] * (v / from[0]);
    }
    if i > last && proportional(last) {
        return to[last] * (v / from[last]);
    }
    let b = i.clamp(1, last);
    let (f0, f1, t0, t1) = (from[b - 1], from[b], to[b - 1], to[b]);
    t0 + (t1 - t0) * ((v - f0) / (f1 - f0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(points: &[(f64, f64)]) -> PiecewiseLinear {
        PiecewiseLinear::from_points(points).unwrap()
    }

    #[test]
    fn interpolates_between_points_and_extends_in_proportion() {
        let c = curve(&[(1.0, 40.0), (2.0, 60.0), (4.0, 80.0)]);
        for (x, y) in [(1.0, 40.0), (1.5, 50.0), (2.0, 60.0), (3.0, 70.0), (4.0, 80.0)] {
            assert_eq!(c.eval(x), y);
            assert_eq!(c.inverse(y), x);
        }
        assert_eq!(c.eval(0.5), 20.0);
        assert_eq!(c.eval(0.0), 0.0);
        assert_eq!(c.eval(8.0), 160.0);
        assert_eq!(c.inverse(20.0), 0.5);
        assert_eq!(c.inverse(160.0), 8.0);
    }

    #[test]
    fn a_dip_becomes_the_running_maximum_and_ties_rise() {
        let c = curve(&[(1.0, 10.0), (2.0, 50.0), (3.0, 45.0), (4.0, 50.0), (5.0, 70.0)]);
        assert_eq!(c.eval(2.0), 50.0);
        assert!(c.eval(3.0) > 50.0 && c.eval(3.0) < 50.01, "{}", c.eval(3.0));
        assert!(c.eval(4.0) > c.eval(3.0) && c.eval(4.0) < 50.01);
        assert_eq!(c.eval(5.0), 70.0);
        assert!((c.inverse(c.eval(3.5)) - 3.5).abs() < 1e-9);
    }

    #[test]
    fn where_a_proportion_would_not_rise_the_slope_goes_on() {
        let c = curve(&[(1.0, -20.0), (2.0, 20.0), (3.0, 40.0)]);
        assert_eq!(c.eval(0.5), -40.0);
        assert_eq!(c.inverse(0.0), 1.5);
        assert_eq!(c.eval(6.0), 80.0);
        assert_eq!(c.inverse(-40.0), 0.5);
    }

    #[test]
    fn one_point_is_a_proportion() {
        let c = curve(&[(2.0, 50.0)]);
        assert_eq!((c.eval(1.0), c.eval(4.0), c.inverse(25.0)), (25.0, 100.0, 1.0));
    }

    #[test]
    fn the_mean_inverse_is_exact_and_extends_in_proportion() {
        let (a, b) = (curve(&[(1.0, 40.0), (3.0, 80.0)]), curve(&[(2.0, 20.0), (4.0, 90.0)]));
        let f = PiecewiseLinear::mean_inverse(&[a.clone(), b.clone()]).unwrap();
        for i in 0..=300 {
            let u = f64::from(i) * 0.5;
            let expected = (a.inverse(u) + b.inverse(u)) / 2.0;
            assert!((f.eval(u) - expected).abs() < 1e-9, "{u}: {} {expected}", f.eval(u));
        }
    }

    #[test]
    fn the_mean_inverse_of_curves_that_start_below_zero_starts_at_zero() {
        let c = curve(&[(1.0, -20.0), (2.0, 20.0), (3.0, 40.0)]);
        let f = PiecewiseLinear::mean_inverse(&[c]).unwrap();
        assert_eq!(f.first(), (0.0, 1.5));
        assert_eq!(f.eval(10.0), 1.75);
        assert_eq!(PiecewiseLinear::mean_inverse(&[]), Err(CurveError::Empty));
    }

    #[test]
    fn refuses_what_is_no_curve() {
        let err = |p: &[(f64, f64)]| PiecewiseLinear::from_points(p).unwrap_err().to_string();
        assert_eq!(err(&[]), "a curve needs at least one point");
        assert_eq!(
            err(&[(1.0, 1.0), (1.0, 2.0)]),
            "point 1 is at 1, not above the one before it at 1"
        );
        assert_eq!(err(&[(1.0, f64::NAN)]), "point 0 is (1, NaN); both must be finite");
        assert_eq!(err(&[(1.0, 0.0)]), "a single point must have x and y above zero, not (1, 0)");
    }
}
