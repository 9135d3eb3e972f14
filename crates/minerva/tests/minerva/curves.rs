//! `Q(r)`, f and the offline optimum.

use crate::common::{curves, normalisation, setting};
use airlane_base::Seed;
use airlane_media::synthetic;
use airlane_minerva::curve::sustaining_rate_bps;
use airlane_minerva::{Form, Normalisation, RateCurve, fixed_rate_bound, fixed_rate_optimum};
use airlane_quality::PiecewiseLinear;

#[test]
fn a_rate_that_sustains_a_rung_is_worth_it() {
    let s = setting(synthetic::flat("flat", 60, 1e6));
    let q = &curves(std::slice::from_ref(&s))[0];
    for rung in 1..s.rungs() {
        let worth = q.qoe().eval(sustaining_rate_bps(&s, rung));
        let p = s.view().mean(rung);
        // The first chunk and the way up cost, what is held at the end brings a little.
        assert!((worth - p).abs() < 6.0, "rung {rung}: {worth} for {p}");
    }
    assert!(q.delivered_bps(1e9) <= s.mean_rate_bps()[7] * 1.3);
}

#[test]
fn curves_and_f_rise_strictly_and_go_on_in_proportion() {
    let settings: Vec<_> = synthetic::corpus(6, 60, Seed(1)).into_iter().map(setting).collect();
    let curves = curves(&settings);
    let f = normalisation(&settings, 2.0);
    for c in &curves {
        let (lo, hi) = (c.qoe().first().0, c.qoe().last().0);
        let mut before = f64::NEG_INFINITY;
        for i in 0..1000 {
            let q = c.qoe().eval(0.5 * lo + (2.0 * hi - 0.5 * lo) * f64::from(i) / 999.0);
            assert!(q > before, "{} at step {i}", c.name());
            before = q;
        }
        assert!((c.qoe().eval(2.0 * hi) - 2.0 * c.top_qoe()).abs() < 1e-9);
    }
    let mut before = 0.0;
    for u in 1..=150 {
        let v = f.eval(f64::from(u));
        assert!(v > before, "f({u})");
        before = v;
    }
    assert_eq!(f.eval(0.0), f.eval(-1e9), "U <= 0 reads f's minimum");
    assert!(f.eval(0.0) > 0.0);
}

#[test]
fn weights_average_to_alpha_where_utilities_are_equal() {
    let settings: Vec<_> = synthetic::corpus(8, 60, Seed(2)).into_iter().map(setting).collect();
    let curves = curves(&settings);
    for alpha in [1.0, 1.65, 2.0] {
        let f = normalisation(&settings, alpha);
        for u in [30.0, 50.0, 70.0] {
            let weights: Vec<f64> = curves.iter().map(|c| c.qoe().inverse(u) / f.eval(u)).collect();
            let mean = weights.iter().sum::<f64>() / weights.len() as f64;
            assert!((mean - alpha).abs() < 0.02 * alpha, "u {u}: {weights:?}");
        }
    }
}

#[test]
fn popularity_weighs_and_the_table_survives_storage() {
    let line =
        |slope: f64| PiecewiseLinear::from_points(&[(1e6 / slope, 1.0), (1e8 / slope, 100.0)]);
    let (a, b) = (line(1.0).unwrap(), line(2.0).unwrap());
    let f = Normalisation::new(Form::Equation2, 1.0, [(&a, 3.0), (&b, 1.0)]).unwrap();
    // a needs 1 Mbit/s per point, b half of that.
    for u in [1.0, 40.0, 100.0, 200.0] {
        assert!((f.eval(u) - u * 0.875e6).abs() < 1.0, "{u}: {}", f.eval(u));
    }
    assert!((f.with_alpha(2.0).unwrap().eval(40.0) - 17.5e6).abs() < 1.0);
    let stored = serde_json::to_string(&f).unwrap();
    assert_eq!(serde_json::from_str::<Normalisation>(&stored).unwrap(), f);

    // A title that nobody watches is as good as none, however far its curve goes.
    let far = PiecewiseLinear::from_points(&[(1e6, 1.0), (2e8, 200.0)]).unwrap();
    let with = Normalisation::new(Form::FixedRate, 1.0, [(&a, 3.0), (&b, 1.0), (&far, 0.0)]);
    let without = Normalisation::new(Form::FixedRate, 1.0, [(&a, 3.0), (&b, 1.0)]);
    assert_eq!(with, without);

    let refused = |json: &str| serde_json::from_str::<Normalisation>(json).unwrap_err().to_string();
    let bad = refused(r#"{"form":"fixed-rate","alpha":0,"points":[[1,1],[2,2]]}"#);
    assert!(bad.starts_with("alpha is 0; expected a finite number above 0"), "{bad}");
    let bad = refused(r#"{"form":"fixed-rate","alpha":1,"points":[[1,-5],[2,2]]}"#);
    assert!(bad.contains("must rise and stay above zero"), "{bad}");
    let bad = refused(r#"{"form":"fixed-rate","alpha":1,"points":[[1,5],[2,2]]}"#);
    assert!(bad.starts_with("point 1 has 2, not above the one before it with 5"), "{bad}");
    assert!(Normalisation::new(Form::FixedRate, 1.0, [(&a, -1.0)]).is_err());
    assert!(Normalisation::new(Form::FixedRate, 1.0, []).is_err());
    assert!(f.with_alpha(f64::NAN).is_err());
}

#[test]
fn the_optimum_uses_the_link_and_makes_all_equal() {
    let settings: Vec<_> = synthetic::corpus(4, 60, Seed(3)).into_iter().map(setting).collect();
    let curves = curves(&settings);
    let curves: Vec<&RateCurve> = curves.iter().collect();
    for capacity in [2e6, 4e6, 10e6] {
        let opt = fixed_rate_optimum(&curves, capacity);
        let sum: f64 = opt.rates_bps.iter().sum();
        assert!((sum - capacity).abs() < 1.0, "{sum}");
        for (c, r) in curves.iter().zip(&opt.rates_bps) {
            assert!((c.qoe().eval(*r) - opt.worst_qoe).abs() < 1e-6);
        }
        let equal =
            curves.iter().map(|c| c.qoe().eval(capacity / 4.0)).fold(f64::INFINITY, f64::min);
        assert!(opt.worst_qoe >= equal);
        let bound = fixed_rate_bound(&curves, capacity);
        assert!(bound.worst_qoe >= opt.worst_qoe, "pauses are left to others");
    }
    // More than all can use: the end of the lowest ladder.
    let opt = fixed_rate_optimum(&curves, 1e9);
    let lowest = curves.iter().map(|c| c.top_qoe()).fold(f64::INFINITY, f64::min);
    assert!((opt.worst_qoe - lowest).abs() < 1e-9);
    assert!(opt.rates_bps.iter().sum::<f64>() < 1e9);
}
