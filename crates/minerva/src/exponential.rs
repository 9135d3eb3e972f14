//! `A - B exp(-C r)`, the form that appendix C fits to functions of a rate: increasing and concave,
//! as the convergence theorem wants them.

/// Trial values of C, over the width of the rates: from a line to a bend within the first points.
const TRIALS: (f64, f64, i32) = (0.05, 60.0, 20);
/// Steps of the search between two trial values: each leaves 62 % of the interval.
const REFINEMENTS: usize = 20;

/// `A - B exp(-C (r - r0))` with B and C not below zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exponential {
    /// A, what the function comes close to.
    pub limit: f64,
    /// B, how far below that it is at r0.
    pub gap: f64,
    /// C, per bit per second.
    pub decay: f64,
    /// r0, bits per second: only so that no factor overflows.
    pub origin_bps: f64,
}

impl Exponential {
    /// The fit of least squares through points of rate (bits per second, rising) and value, none
    /// if there is no point or one is not finite. Points that do not rise give a constant.
    ///
    /// A and B are solved for exactly, C by a search on a grid and by golden sections from its
    /// best point, between 0.05 and 60 over the width of the rates.
    pub fn fit(points: &[(f64, f64)]) -> Option<Self> {
        let (&(first, _), &(last, _)) = (points.first()?, points.last()?);
        points.iter().all(|p| p.0.is_finite() && p.1.is_finite()).then_some(())?;
        let width = (last - first).max(f64::MIN_POSITIVE);
        let at = |log: f64| solve(points, first, log.exp() / width);
        let (lo, hi) = (TRIALS.0.ln(), TRIALS.1.ln());
        let step = (hi - lo) / f64::from(TRIALS.2 - 1);
        let mut best = (f64::INFINITY, lo);
        for i in 0..TRIALS.2 {
            let log = lo + step * f64::from(i);
            let error = at(log).1;
            if error < best.0 {
                best = (error, log);
            }
        }
        let golden = (5.0_f64.sqrt() - 1.0) / 2.0;
        let (mut a, mut b) = (best.1 - step, best.1 + step);
        let (mut c, mut d) = (b - golden * (b - a), a + golden * (b - a));
        let (mut at_c, mut at_d) = (at(c).1, at(d).1);
        for _ in 0..REFINEMENTS {
            if at_c < at_d {
                (b, d, at_d) = (d, c, at_c);
                c = b - golden * (b - a);
                at_c = at(c).1;
            } else {
                (a, c, at_c) = (c, d, at_d);
                d = a + golden * (b - a);
                at_d = at(d).1;
            }
        }
        Some(at(if at_c.min(at_d) < best.0 { f64::midpoint(a, b) } else { best.1 }).0)
    }

    /// The value at a rate in bits per second.
    pub fn eval(&self, rate_bps: f64) -> f64 {
        if self.gap == 0.0 {
            return self.limit;
        }
        self.limit - self.gap * (-self.decay * (rate_bps - self.origin_bps)).exp()
    }
}

/// The best A and B for a C, and the sum of squares that they leave.
fn solve(points: &[(f64, f64)], origin_bps: f64, decay: f64) -> (Exponential, f64) {
    let n = points.len() as f64;
    let (mut sx, mut sy, mut sxx, mut sxy, mut syy) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for &(r, y) in points {
        let x = (-decay * (r - origin_bps)).exp();
        sx += x;
        sy += y;
        sxx += x * x;
        sxy += x * y;
        syy += y * y;
    }
    let (vx, cxy, vy) = (sxx - sx * sx / n, sxy - sx * sy / n, syy - sy * sy / n);
    let slope = if vx > 0.0 { (cxy / vx).min(0.0) } else { 0.0 };
    let limit = (sy - slope * sx) / n;
    let error = vy - 2.0 * slope * cxy + slope * slope * vx;
    (Exponential { limit, gap: -slope, decay, origin_bps }, error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_the_form_is_found() {
        for (a, b, c) in [(90.0, 60.0, 1.2e-6), (80.0, 300.0, 6e-6), (95.0, 30.0, 0.2e-6)] {
            let truth = Exponential { limit: a, gap: b, decay: c, origin_bps: 1e5 };
            let points: Vec<(f64, f64)> =
                (1..=75).map(|i| f64::from(i) * 1e5).map(|r| (r, truth.eval(r))).collect();
            let fit = Exponential::fit(&points).unwrap();
            for (r, y) in points {
                assert!((fit.eval(r) - y).abs() < 1e-2, "{r}: {} {y}", fit.eval(r));
            }
        }
    }

    #[test]
    fn what_does_not_rise_becomes_its_mean() {
        let fit = Exponential::fit(&[(1e6, 3.0), (2e6, 2.0), (3e6, 1.0)]).unwrap();
        assert!((fit.eval(1e6) - 2.0).abs() < 1e-9 && fit.eval(0.0) == fit.eval(9e9), "{fit:?}");
        assert_eq!(Exponential::fit(&[(1e6, 3.0)]).unwrap().eval(5e6), 3.0);
        assert_eq!(Exponential::fit(&[]), None);
        assert_eq!(Exponential::fit(&[(1e6, f64::NAN)]), None);
    }
}
