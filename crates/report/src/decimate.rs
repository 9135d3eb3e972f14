//! Thinning of long series, so that a page stays small and quick.

/// The most points a line of the page has.
pub const MAX_POINTS: usize = 4000;

/// The points of a line, in rising time, at most `max` of them (never fewer than 8).
///
/// Points without a time are left out, and so are times or values that lack the other. A line that
/// is too long is cut into stretches of equally many points, and of each stretch the lowest and
/// the highest value stay, in their order; so do the first and the last point of the line. A
/// stretch with gaps keeps one of them.
pub fn decimate(times_s: &[f64], values: &[f64], max: usize) -> (Vec<f64>, Vec<f64>) {
    let mut points: Vec<(f64, f64)> = times_s
        .iter()
        .zip(values)
        .filter(|(t, _)| t.is_finite())
        .map(|(&t, &v)| (t, if v.is_finite() { v } else { f64::NAN }))
        .collect();
    // A stable sort: points of the same time stay in their order.
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let max = max.max(8);
    if points.len() > max {
        points = thin(&points, max);
    }
    points.into_iter().unzip()
}

fn thin(points: &[(f64, f64)], max: usize) -> Vec<(f64, f64)> {
    // Three points at most per stretch, and the two ends.
    let stretches = (max - 2) / 3;
    let inner = &points[1..points.len() - 1];
    let mut kept = Vec::with_capacity(max);
    kept.push(points[0]);
    for s in 0..stretches {
        let stretch = &inner[inner.len() * s / stretches..inner.len() * (s + 1) / stretches];
        let by_value = |a: &&(usize, f64), b: &&(usize, f64)| a.1.total_cmp(&b.1);
        let finite: Vec<(usize, f64)> = stretch
            .iter()
            .enumerate()
            .filter(|(_, p)| p.1.is_finite())
            .map(|(i, p)| (i, p.1))
            .collect();
        let gap = stretch.iter().position(|p| p.1.is_nan());
        let mut keep: Vec<usize> = [
            finite.iter().min_by(by_value).map(|p| p.0),
            finite.iter().max_by(by_value).map(|p| p.0),
            gap,
        ]
        .into_iter()
        .flatten()
        .collect();
        keep.sort_unstable();
        keep.dedup();
        kept.extend(keep.into_iter().map(|i| stretch[i]));
    }
    kept.push(points[points.len() - 1]);
    kept
}

/// `v` with six significant digits, which is more than a screen shows: it halves the page.
pub fn rounded(v: f64) -> f64 {
    if v.is_finite() { format!("{v:.5e}").parse().unwrap_or(v) } else { v }
}

/// A time in seconds, to a tenth of a millisecond.
pub fn rounded_time(t: f64) -> f64 {
    (t * 1e4).round() / 1e4
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn keeps_extremes_ends_and_order(
            values in prop::collection::vec(prop_oneof![
                20 => -1e6f64..1e6,
                1 => Just(f64::NAN),
            ], 1..3000),
            max in 8usize..500,
        ) {
            let times: Vec<f64> = (0..values.len()).map(|i| i as f64 * 0.1).collect();
            let (t, v) = decimate(&times, &values, max);
            prop_assert_eq!(t.len(), v.len());
            prop_assert!(v.len() <= max);
            prop_assert!(t.windows(2).all(|w| w[0] < w[1]));
            prop_assert_eq!(t.first(), times.first());
            prop_assert_eq!(t.last(), times.last());
            let low = |v: &[f64]| v.iter().copied().fold(f64::INFINITY, f64::min);
            let high = |v: &[f64]| v.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            prop_assert_eq!(low(&v), low(&values));
            prop_assert_eq!(high(&v), high(&values));
            let gaps = |v: &[f64]| v.iter().any(|v| v.is_nan());
            prop_assert_eq!(gaps(&v), gaps(&values));
        }
    }

    #[test]
    fn sorts_by_time_and_leaves_out_points_without_one() {
        let (t, v) = decimate(&[2.0, f64::NAN, 1.0, 3.0], &[20.0, 0.0, 10.0], 100);
        assert_eq!(t, [1.0, 2.0]);
        assert_eq!(v, [10.0, 20.0]);
    }

    #[test]
    fn rounds_to_what_can_be_seen() {
        assert_eq!(rounded(1_234_567.89), 1_234_570.0);
        assert_eq!(rounded(-0.000_123_456_789), -0.000_123_457);
        assert_eq!(rounded_time(12.345_678_9), 12.3457);
    }
}
