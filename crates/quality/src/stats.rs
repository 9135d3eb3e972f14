//! Means, deviations, quantiles, distribution functions and Jain's index.
//!
//! Values are finite floats; where there is nothing to compute on, the answer is `None`.

use serde::{Deserialize, Serialize};

/// The arithmetic mean.
pub fn mean(xs: &[f64]) -> Option<f64> {
    (!xs.is_empty()).then(|| xs.iter().sum::<f64>() / xs.len() as f64)
}

/// The standard deviation of a whole population (divided by n).
pub fn population_sd(xs: &[f64]) -> Option<f64> {
    Some((sum_of_squares(xs)? / xs.len() as f64).sqrt())
}

/// The standard deviation estimated from a sample (divided by n - 1), `None` below two values.
pub fn sample_sd(xs: &[f64]) -> Option<f64> {
    (xs.len() > 1).then_some(())?;
    Some((sum_of_squares(xs)? / (xs.len() - 1) as f64).sqrt())
}

fn sum_of_squares(xs: &[f64]) -> Option<f64> {
    let m = mean(xs)?;
    Some(xs.iter().map(|x| (x - m) * (x - m)).sum())
}

/// The values in rising order.
pub fn sorted(xs: &[f64]) -> Vec<f64> {
    let mut s = xs.to_vec();
    s.sort_by(f64::total_cmp);
    s
}

/// The quantile `q` in 0..=1 by linear interpolation between order statistics (type 7 of Hyndman
/// and Fan 1996, the default of R and NumPy).
pub fn quantile(xs: &[f64], q: f64) -> Option<f64> {
    quantile_of_sorted(&sorted(xs), q)
}

/// [`quantile`] of values that are in rising order already.
pub fn quantile_of_sorted(xs: &[f64], q: f64) -> Option<f64> {
    let last = xs.len().checked_sub(1)?;
    let h = q.clamp(0.0, 1.0) * last as f64;
    let below = h.floor() as usize;
    let above = (below + 1).min(last);
    Some(xs[below] + (h - below as f64) * (xs[above] - xs[below]))
}

/// The smallest of values in rising order that at least the share `q` of them do not exceed (nearest
/// rank; type 1 of Hyndman and Fan): one of the values themselves.
pub fn nearest_rank_of_sorted(xs: &[f64], q: f64) -> Option<f64> {
    let rank = (q.clamp(0.0, 1.0) * xs.len() as f64).ceil() as usize;
    xs.get(rank.saturating_sub(1)).copied()
}

/// The middle value.
pub fn median(xs: &[f64]) -> Option<f64> {
    quantile(xs, 0.5)
}

/// Lower quartile, median and upper quartile.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Quartiles {
    /// The quantile 0.25.
    pub lower: f64,
    /// The quantile 0.5.
    pub median: f64,
    /// The quantile 0.75.
    pub upper: f64,
}

/// The quartiles of `xs`.
pub fn quartiles(xs: &[f64]) -> Option<Quartiles> {
    let s = sorted(xs);
    Some(Quartiles {
        lower: quantile_of_sorted(&s, 0.25)?,
        median: quantile_of_sorted(&s, 0.5)?,
        upper: quantile_of_sorted(&s, 0.75)?,
    })
}

/// Jain's fairness index `(sum x)^2 / (n * sum x^2)`: 1 if all are equal, 1/n if one has it all.
///
/// Source: Jain, Chiu, Hawe, DEC-TR-301, 1984. `None` without values or if all are zero.
pub fn jain(xs: &[f64]) -> Option<f64> {
    let sum: f64 = xs.iter().sum();
    let squares: f64 = xs.iter().map(|x| x * x).sum();
    (squares > 0.0).then(|| sum * sum / (xs.len() as f64 * squares))
}

/// The empirical distribution function: for each distinct value, rising, the share of values at
/// or below it.
pub fn cdf(xs: &[f64]) -> Vec<(f64, f64)> {
    let s = sorted(xs);
    let n = s.len() as f64;
    let mut points: Vec<(f64, f64)> = Vec::new();
    for (i, &x) in s.iter().enumerate() {
        let share = (i + 1) as f64 / n;
        match points.last_mut() {
            Some(p) if p.0 == x => p.1 = share,
            _ => points.push((x, share)),
        }
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_and_deviations() {
        let xs = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];
        assert_eq!(mean(&xs), Some(5.0));
        assert_eq!(population_sd(&xs), Some(2.0));
        assert!((sample_sd(&xs).unwrap() - (32.0f64 / 7.0).sqrt()).abs() < 1e-12);
        assert_eq!((mean(&[]), population_sd(&[]), sample_sd(&[1.0])), (None, None, None));
    }

    #[test]
    fn quantiles_are_those_of_type_7() {
        let xs = [40.0, 10.0, 20.0, 30.0];
        let q = quartiles(&xs).unwrap();
        assert_eq!((q.lower, q.median, q.upper), (17.5, 25.0, 32.5));
        assert_eq!(quantile(&xs, 0.0), Some(10.0));
        assert_eq!(quantile(&xs, 1.0), Some(40.0));
        assert_eq!(quantile(&xs, 0.1), Some(13.0));
        assert_eq!((median(&[3.0]), median(&[])), (Some(3.0), None));
    }

    #[test]
    fn a_nearest_rank_is_a_value_that_so_many_do_not_exceed() {
        let hundred: Vec<f64> = (1..=100).map(f64::from).collect();
        assert_eq!(nearest_rank_of_sorted(&hundred, 0.99), Some(99.0));
        assert_eq!(nearest_rank_of_sorted(&hundred, 0.5), Some(50.0));
        assert_eq!(nearest_rank_of_sorted(&[3.0], 0.99), Some(3.0));
        assert_eq!(nearest_rank_of_sorted(&[], 0.5), None);
    }

    #[test]
    fn jain_is_one_for_equals_and_one_over_n_for_one_alone() {
        assert_eq!(jain(&[3.0, 3.0, 3.0]), Some(1.0));
        assert_eq!(jain(&[0.0, 5.0, 0.0, 0.0]), Some(0.25));
        assert_eq!((jain(&[]), jain(&[0.0])), (None, None));
    }

    #[test]
    fn the_distribution_function_counts_ties_once() {
        assert_eq!(cdf(&[2.0, 1.0, 2.0, 4.0]), [(1.0, 0.25), (2.0, 0.75), (4.0, 1.0)]);
        assert!(cdf(&[]).is_empty());
    }
}
