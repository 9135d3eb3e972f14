//! Student's t: the interval of a mean over few independent values.

use std::f64::consts::PI;

use crate::Interval;
use crate::interval::TAIL;
use crate::stats;

/// The 97.5th percentile of Student's t with `degrees` of freedom; infinite with none.
pub fn t_975(degrees: usize) -> f64 {
    t_above(TAIL, degrees)
}

/// The value that Student's t with `degrees` of freedom exceeds with probability `tail`, at most 0.025;
/// infinite with no degree.
///
/// The distribution function is a finite sum for whole degrees of freedom (Abramowitz and Stegun
/// 26.7.3 and 26.7.4). Exact to six digits behind the point, and rounded to them, so that the last
/// bits of a machine's arctangent never show in a result.
pub(crate) fn t_above(tail: f64, degrees: usize) -> f64 {
    if degrees == 0 {
        return f64::INFINITY;
    }
    // 12.7062 is that of one degree of freedom and 0.025, the largest of all degrees; it grows less
    // than the tail shrinks.
    let (mut lo, mut hi) = (1.9, 12.8 * TAIL / tail);
    for _ in 0..60 {
        let middle = 0.5 * (lo + hi);
        if within(middle, degrees) < 1.0 - 2.0 * tail { lo = middle } else { hi = middle }
    }
    (0.5 * (lo + hi) * 1e6).round() / 1e6
}

/// The probability that t is between `-t` and `t`.
fn within(t: f64, degrees: usize) -> f64 {
    let angle = (t / (degrees as f64).sqrt()).atan();
    let (sin, cos) = (angle.sin(), angle.cos());
    // Terms of cos^0, cos^2, ... for even degrees, cos^1, cos^3, ... for odd ones.
    let odd = degrees % 2 == 1;
    let mut term = if odd { cos } else { 1.0 };
    let mut sum = 0.0;
    let mut power = usize::from(odd);
    while power + 2 <= degrees {
        sum += term;
        power += 2;
        let over = (power - 1) as f64 / power as f64;
        term *= cos * cos * over;
    }
    if odd { 2.0 / PI * (angle + sin * sum) } else { sin * sum }
}

/// The 95 % interval of the mean of independent values: `mean +- t s / sqrt(n)`. `None` below two
/// values, or if one is no finite number.
///
/// It is exact for normal values. Over three to nine it is the only one to take: no resample of
/// three values leaves their range, which holds the true mean three times in four only.
pub fn mean_interval(xs: &[f64]) -> Option<Interval> {
    let (mean, sd) = (stats::mean(xs)?, stats::sample_sd(xs)?);
    let half = t_975(xs.len() - 1) * sd / (xs.len() as f64).sqrt();
    half.is_finite().then_some(Interval { lo: mean - half, hi: mean + half })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_the_tables() {
        let table = [
            (1, 12.706_205),
            (2, 4.302_653),
            (3, 3.182_446),
            (8, 2.306_004),
            (9, 2.262_157),
            (43, 2.016_692),
            (120, 1.979_930),
        ];
        for (degrees, t) in table {
            assert!((t_975(degrees) - t).abs() < 2e-6, "{degrees}: {}", t_975(degrees));
        }
        assert_eq!(t_975(0), f64::INFINITY);
        for (degrees, t) in [(1, 25.451_700), (9, 2.685_011), (60, 2.299_046)] {
            let found = t_above(0.0125, degrees);
            assert!((found - t).abs() < 2e-5, "{degrees}: {found}");
        }
    }

    #[test]
    fn three_values_have_four_standard_errors() {
        let three = mean_interval(&[1.0, 2.0, 3.0]).unwrap();
        assert!((three.lo + 0.484).abs() < 1e-3 && (three.hi - 4.484).abs() < 1e-3, "{three:?}");
        assert_eq!((mean_interval(&[1.0]), mean_interval(&[1.0, f64::NAN])), (None, None));
    }
}
