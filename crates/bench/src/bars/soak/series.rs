//! What a server used over time, and how flat that stayed.

use airlane_quality::stats::sorted;

use crate::bar::median;

/// Parts of the time, whose medians are compared.
const WINDOWS: usize = 5;

/// A value that was looked at again and again: seconds since the beginning, and the value then.
#[derive(Clone, Debug, Default)]
pub(super) struct Series(Vec<(f64, f64)>);

/// Flatness of a series over a time.
#[derive(Clone, Debug)]
pub(super) struct Flatness {
    /// The medians of equal parts of the time, in their order.
    pub(super) windows: Vec<f64>,
    /// The largest median less the smallest, over the first.
    pub(super) range: f64,
    /// Rise of the straight line through all values (least squares) over the time, over their
    /// median. Negative: it falls.
    pub(super) trend: f64,
}

impl Series {
    pub(super) fn push(&mut self, at_s: f64, value: f64) {
        self.0.push((at_s, value));
    }

    /// The median between two times in seconds; NaN where nothing was looked at.
    pub(super) fn median(&self, from_s: f64, until_s: f64) -> f64 {
        median(self.within(from_s, until_s).map(|(_, value)| value))
    }

    /// Flatness between two times in seconds; NaN where nothing was looked at.
    pub(super) fn flatness(&self, from_s: f64, until_s: f64) -> Flatness {
        let length = (until_s - from_s) / WINDOWS as f64;
        let windows: Vec<f64> = (0..WINDOWS)
            .map(|n| from_s + length * n as f64)
            .map(|from| self.median(from, from + length))
            .collect();
        let range = match sorted(&windows).as_slice() {
            // NaN is the last in this order.
            [least, .., most] => (most - least) / windows[0],
            _ => f64::NAN,
        };
        let rise = slope(self.within(from_s, until_s)) * (until_s - from_s);
        Flatness { windows, range, trend: rise / self.median(from_s, until_s) }
    }

    fn within(&self, from_s: f64, until_s: f64) -> impl Iterator<Item = (f64, f64)> + Clone {
        self.0.iter().filter(move |(at, _)| (from_s..until_s).contains(at)).copied()
    }
}

impl Flatness {
    /// The more demanding of the two.
    pub(super) fn worst(&self) -> f64 {
        if self.range.is_nan() { f64::NAN } else { self.range.max(self.trend.abs()) }
    }
}

/// The slope of the line with the least squares of distances.
fn slope(points: impl Iterator<Item = (f64, f64)> + Clone) -> f64 {
    let count = points.clone().count() as f64;
    let mean = |of: fn((f64, f64)) -> f64| points.clone().map(of).sum::<f64>() / count;
    let (at, value) = (mean(|p| p.0), mean(|p| p.1));
    let (mut with, mut alone) = (0.0, 0.0);
    for (x, y) in points {
        with += (x - at) * (y - value);
        alone += (x - at) * (x - at);
    }
    with / alone
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An hour of values, one every two seconds.
    fn series(value: impl Fn(f64) -> f64) -> Series {
        let mut series = Series::default();
        for n in 0..1800 {
            let at = f64::from(n) * 2.0;
            series.push(at, value(at));
        }
        series
    }

    fn after_ten_minutes(series: &Series) -> Flatness {
        series.flatness(600.0, 3600.0)
    }

    #[test]
    fn what_grows_at_first_alone_is_flat() {
        let flat = after_ten_minutes(&series(|at| 50.0 + at.min(600.0)));
        assert_eq!((flat.range, flat.worst()), (0.0, 0.0), "{flat:?}");
        assert_eq!(flat.windows, [650.0; 5]);
    }

    #[test]
    fn growth_counts_over_all_of_the_time() {
        // A tenth in fifty minutes.
        let flat = after_ten_minutes(&series(|at| 100.0 + (at - 600.0) / 300.0));
        assert!((flat.trend - 0.095).abs() < 0.001, "{flat:?}");
        assert!((flat.range - 0.079).abs() < 0.001, "{flat:?}");
        assert_eq!(flat.worst(), flat.trend);
        // So does what is lost: the load was not the same, or the beginning was no steady state.
        let flat = after_ten_minutes(&series(|at| 100.0 - (at - 600.0) / 300.0));
        assert!(flat.trend < -0.09 && flat.worst() > 0.09, "{flat:?}");
    }

    #[test]
    fn a_step_between_two_levels_counts() {
        let flat = after_ten_minutes(&series(|at| if at < 3000.0 { 100.0 } else { 110.0 }));
        assert!((flat.range - 0.1).abs() < 1e-9, "{flat:?}");
    }

    #[test]
    fn peaks_that_pass_do_not_count() {
        let flat = after_ten_minutes(&series(|at| if at % 60.0 < 10.0 { 150.0 } else { 100.0 }));
        assert!(flat.worst() < 0.01, "{flat:?}");
    }

    #[test]
    fn a_time_of_which_nothing_is_known_is_not_flat() {
        let mut short = Series::default();
        for n in 0..800 {
            short.push(f64::from(n) * 2.0, 100.0);
        }
        assert!(after_ten_minutes(&short).worst().is_nan());
        assert!(after_ten_minutes(&Series::default()).worst().is_nan());
    }
}
