//! Proportional fairness (appendix D): flows meet where what more rate brings them, over what they
//! have, is equal.
//!
//! `Z = C - P'(r_r) / q` with q the QoE that a flow expects, P the video's mean curve and
//! `r_r = P^-1(q)` the rate that q stands for. Where all Z are equal no rate can be moved so that
//! the sum of `log q` grows. C is common to a provider's titles and keeps Z above zero.

use airlane_abr::TitleModel;
use airlane_quality::{CurveError, PiecewiseLinear};

/// The least q, as a share of the mean curve's end: what is lower counts as that.
pub(crate) const MIN_Q: f64 = 0.01;
/// The greatest, on the same scale.
const MAX_Q: f64 = 10.0;

/// `P'(P^-1(q)) / q` of one title, per Mbit/s, over q: the slope of log P, falling.
///
/// A mean curve has corners at its rungs and no derivative there. Its slopes between rungs are
/// taken at the middle of their segments; between these points the logarithm of `P'/q` goes in a
/// line over that of q. Where the slope rises faster than q, the lower of both stays (a running
/// minimum), so that Z rises. Below the lowest rung the curve is a proportion, whose log-slope is
/// 1/r; above the highest the last slope goes on.
#[derive(Clone, Debug)]
pub struct LogSlope {
    /// Minus the logarithm of P'/q, over that of q.
    curve: PiecewiseLinear,
}

impl LogSlope {
    /// The log-slope of a title's mean curve.
    ///
    /// # Errors
    /// If the curve never rises above zero.
    pub fn of(setting: &TitleModel) -> Result<Self, CurveError> {
        let points: Vec<(f64, f64)> =
            setting.view().curve().points().map(|(r, q)| (r / 1e6, q)).collect();
        let (first, last) = (points[0], points[points.len() - 1]);
        let least = MIN_Q * last.1;
        let mut slopes: Vec<(f64, f64)> = Vec::with_capacity(points.len() + 4);
        let slope = |a: (f64, f64), b: (f64, f64)| (b.1 - a.1) / (b.0 - a.0);
        let segments: Vec<(f64, f64)> =
            points.windows(2).map(|w| (f64::midpoint(w[0].1, w[1].1), slope(w[0], w[1]))).collect();
        let below = match segments.first() {
            Some(segment) if first.1 <= 0.0 => segment.1,
            _ => first.1 / first.0,
        };
        slopes.push((least, below));
        slopes.push((first.1, below));
        slopes.extend(&segments);
        let above = segments.last().map_or(below, |s| s.1);
        slopes.push((last.1, above));
        slopes.push((MAX_Q * last.1, above));
        let mut logs: Vec<(f64, f64)> = Vec::with_capacity(slopes.len());
        for (q, slope) in slopes {
            let x = q.ln();
            if q >= least && logs.last().is_none_or(|l| l.0 < x) {
                logs.push((x, (q / slope).ln()));
            }
        }
        Ok(Self { curve: PiecewiseLinear::from_points(&logs)? })
    }

    /// P'/q at q, per Mbit/s.
    pub fn at(&self, q: f64) -> f64 {
        let (least, most) = self.range();
        (-self.curve.eval(q.max(f64::MIN_POSITIVE).ln().clamp(least, most))).exp()
    }

    /// The q at which P'/q has a value, per Mbit/s.
    pub fn inverse(&self, slope: f64) -> f64 {
        let (least, most) = self.range();
        self.curve.inverse(-slope.ln()).clamp(least, most).exp()
    }

    /// The greatest P'/q, at the least q.
    pub fn greatest(&self) -> f64 {
        (-self.curve.first().1).exp()
    }

    fn range(&self) -> (f64, f64) {
        (self.curve.first().0, self.curve.last().0)
    }
}
