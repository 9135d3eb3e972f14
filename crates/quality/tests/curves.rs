//! Properties of curves that Minerva's weights depend on.

use airlane_quality::PiecewiseLinear;
use proptest::prelude::*;

fn points() -> impl Strategy<Value = Vec<(f64, f64)>> {
    prop::collection::vec((0.01f64..3.0, 0.5f64..100.0), 1..12).prop_map(|steps| {
        let mut x = 0.0;
        steps
            .into_iter()
            .map(|(dx, y)| {
                x += dx;
                (x, y)
            })
            .collect()
    })
}

proptest! {
    #[test]
    fn a_curve_comes_back_from_its_points_bit_for_bit(points in points()) {
        let c = PiecewiseLinear::from_points(&points).unwrap();
        let again: Vec<(f64, f64)> = c.points().collect();
        prop_assert_eq!(PiecewiseLinear::from_rising(&again), Ok(c));
        let flat: Vec<(f64, f64)> = points.iter().map(|p| (p.0, 1.0)).collect();
        prop_assert_eq!(PiecewiseLinear::from_rising(&flat).is_ok(), flat.len() == 1);
    }

    #[test]
    fn every_curve_rises_strictly_and_its_inverse_undoes_it(
        points in points(), xs in prop::collection::vec(0.0f64..60.0, 2..20)
    ) {
        let c = PiecewiseLinear::from_points(&points).unwrap();
        let mut xs = xs;
        xs.sort_by(f64::total_cmp);
        for w in xs.windows(2) {
            if w[1] - w[0] > 1e-6 {
                prop_assert!(c.eval(w[1]) > c.eval(w[0]), "{:?}", w);
            }
        }
        for x in xs {
            // Nearly flat parts lose digits: the slope is down to 1e-4 of the range.
            let (y, back) = (c.eval(x), c.inverse(c.eval(x)));
            prop_assert!((c.eval(back) - y).abs() < 1e-9 * (1.0 + y), "{x} {back}");
            prop_assert!((back - x).abs() < 1e-6 * (1.0 + x), "{x} {back}");
        }
    }

    #[test]
    fn no_measured_point_is_lowered(points in points()) {
        let c = PiecewiseLinear::from_points(&points).unwrap();
        for (x, y) in points {
            prop_assert!(c.eval(x) >= y - 1e-9);
        }
    }

    #[test]
    fn beyond_the_ladder_the_weight_stays(a in points(), b in points(), factor in 1.0f64..20.0) {
        // The weight is r / f(U(r)); with U at its top at least as high as every curve of f,
        // both are proportions from there on.
        let curves = [
            PiecewiseLinear::from_points(&a).unwrap(),
            PiecewiseLinear::from_points(&b).unwrap(),
        ];
        let f = PiecewiseLinear::mean_inverse(&curves).unwrap();
        for u in &curves {
            let (top, _) = u.last();
            let weight = |r: f64| r / f.eval(u.eval(r));
            if u.last().1 >= f.last().0 {
                prop_assert!((weight(top * factor) / weight(top) - 1.0).abs() < 1e-9);
            }
        }
    }
}
