//! The other forms of f, and proportional fairness.

use std::sync::Arc;

use crate::common::{abr, curves, setting};
use airlane_abr::TitleModel;
use airlane_base::{Seed, Time};
use airlane_media::synthetic;
use airlane_minerva::curve::sustaining_rate_bps;
use airlane_minerva::exponential::Exponential;
use airlane_minerva::proportional::LogSlope;
use airlane_minerva::{
    Config, Fairness, Form, Minerva, Normalisation, Progress, RateCurve, Request, UtilityKind,
};
use airlane_quality::PiecewiseLinear;

fn titles(n: usize, seed: u64) -> Vec<Arc<TitleModel>> {
    synthetic::corpus(n, 60, Seed(seed)).into_iter().map(setting).collect()
}

/// f over the mean curves: what belongs to the basic utility.
fn proportional(titles: &[Arc<TitleModel>], alpha: f64) -> Normalisation {
    let titles = titles.iter().map(|s| (&**s, s.view().curve(), 1.0));
    Normalisation::proportional(alpha, titles).unwrap()
}

#[test]
fn the_fitted_form_inverts_the_fits() {
    let curves = curves(&titles(4, 1));
    let q = curves.iter().map(RateCurve::qoe);
    let f = Normalisation::uniform(Form::FixedRateFitted, 1.0, q.clone()).unwrap();
    let fits: Vec<(Exponential, &PiecewiseLinear)> =
        q.map(|c| (Exponential::fit(&c.points().collect::<Vec<_>>()).unwrap(), c)).collect();
    for u in [45.0, 55.0, 65.0] {
        // Within the curves' own rates the mean of r where A - B exp(-C (r - r0)) = u.
        let rates: Vec<f64> = fits
            .iter()
            .map(|(e, c)| {
                let r = e.origin_bps - ((e.limit - u) / e.gap).ln() / e.decay;
                assert!(r > c.first().0 && r < c.last().0, "u {u} is not within the ladder");
                r
            })
            .collect();
        let mean = rates.iter().sum::<f64>() / rates.len() as f64;
        assert!((f.eval(u) / mean - 1.0).abs() < 0.01, "{u}: {} {mean}", f.eval(u));
    }
    assert_eq!(f.form(), Form::FixedRateFitted);
}

#[test]
fn without_normalisation_f_is_a_line() {
    let curves = curves(&titles(4, 1));
    let q = || curves.iter().map(RateCurve::qoe);
    let f = Normalisation::uniform(Form::FixedRate, 2.0, q()).unwrap();
    let line = Normalisation::uniform(Form::Linear, 2.0, q()).unwrap();
    for u in [1.5, 20.0, 80.0, 150.0] {
        assert!((line.eval(u) / line.eval(10.0) - u / 10.0).abs() < 1e-9, "{u}");
    }
    // Least squares: no other slope is closer to the table.
    let squares = |k: f64| f.points().map(|(u, r)| (k * u - r).powi(2)).sum::<f64>();
    let k = 2.0 * line.eval(10.0) / 10.0;
    assert!(squares(k) < squares(1.01 * k) && squares(k) < squares(0.99 * k));
}

#[test]
fn the_slope_of_the_logarithm_falls_and_is_that_of_the_curve() {
    for s in titles(6, 3) {
        let slope = LogSlope::of(&s).unwrap();
        let mut before = f64::INFINITY;
        for i in 1..=400 {
            let q = 0.5 * f64::from(i);
            let at = slope.at(q);
            assert!(at > 0.0 && (at < before || q < 1.0), "{q}: {at} {before}");
            assert!(q < 1.0 || (slope.inverse(at) / q - 1.0).abs() < 1e-9);
            before = at;
        }
        // In the middle of a segment, the slope between its rungs over the quality there.
        let points: Vec<(f64, f64)> = s.view().curve().points().collect();
        let (a, b) = (points[3], points[4]);
        let q = f64::midpoint(a.1, b.1);
        let expected = (b.1 - a.1) / (b.0 - a.0) * 1e6 / q;
        assert!((slope.at(q) / expected - 1.0).abs() < 1e-9, "{} {expected}", slope.at(q));
        // Below the ladder the curve is a proportion, whose log-slope is 1/r.
        let (r, q) = (0.5 * points[0].0, 0.5 * points[0].1);
        assert!((slope.at(q) * r / 1e6 - 1.0).abs() < 1e-9);
    }
}

#[test]
fn z_stays_above_zero_and_weights_average_to_alpha_where_it_is_equal() {
    let titles = titles(8, 2);
    let f = proportional(&titles, 2.0);
    let constant = f.constant().unwrap();
    let slopes: Vec<LogSlope> = titles.iter().map(|s| LogSlope::of(s).unwrap()).collect();
    assert!(slopes.iter().all(|s| constant - s.greatest() > 0.0));
    for slope in [0.1, 0.2, 0.4] {
        let weights: Vec<f64> = titles
            .iter()
            .zip(&slopes)
            .map(|(s, l)| s.view().curve().inverse(l.inverse(slope)) / f.eval(constant - slope))
            .collect();
        let mean = weights.iter().sum::<f64>() / weights.len() as f64;
        assert!((mean - 2.0).abs() < 0.05, "{slope}: {weights:?}");
    }
    assert!(f.eval(-1.0) > 0.0 && f.eval(0.0) == f.eval(-1.0));

    let stored = serde_json::to_string(&f).unwrap();
    assert_eq!(serde_json::from_str::<Normalisation>(&stored).unwrap(), f);
    let refused = |json: &str| serde_json::from_str::<Normalisation>(json).unwrap_err().to_string();
    for json in [
        r#"{"form":"proportional","alpha":1,"points":[[1,1],[2,2]]}"#,
        r#"{"form":"fixed-rate","alpha":1,"constant":5,"points":[[1,1],[2,2]]}"#,
    ] {
        assert!(refused(json).contains("has a constant"), "{json}");
    }
    let q = titles[0].view().curve();
    assert!(Normalisation::uniform(Form::Proportional, 1.0, [q]).is_err());
    assert!(Normalisation::proportional(1.0, [(&*titles[0], q, -1.0)]).is_err());
    assert!(Normalisation::proportional(1.0, []).is_err());
}

#[test]
fn flows_settle_where_slopes_of_the_logarithm_are_equal() {
    let titles = titles(4, 5);
    let f = Arc::new(proportional(&titles, 2.0));
    let config = Config {
        utility: UtilityKind::Basic,
        fairness: Fairness::Proportional,
        ..Config::default()
    };
    let link = crate::flows::Link { capacity_bps: 10e6, delay: 0, noise: 0.0 };
    let weights = crate::flows::run(&titles, &f, config, link, 600, Seed(1)).pop().unwrap();
    let sum: f64 = weights.iter().sum();
    let slopes: Vec<f64> = titles
        .iter()
        .zip(&weights)
        .map(|(s, w)| {
            let rate = 10e6 * w / sum;
            assert!(rate < sustaining_rate_bps(s, 7), "no ladder ends here");
            LogSlope::of(s).unwrap().at(s.view().curve().eval(rate))
        })
        .collect();
    for s in &slopes {
        assert!((s / slopes[0] - 1.0).abs() < 0.03, "{slopes:?}");
    }
    // Max-min on the same link gives the hardest title more, and the easiest less.
    let f = Normalisation::uniform(Form::Equation2, 2.0, titles.iter().map(|s| s.view().curve()));
    let config = Config { fairness: Fairness::MaxMin, ..config };
    let max_min = crate::flows::run(&titles, &Arc::new(f.unwrap()), config, link, 600, Seed(1));
    let share = |w: &[f64], i: usize| w[i] / w.iter().sum::<f64>();
    let max_min = max_min.last().unwrap();
    assert!(share(max_min, 3) > share(&weights, 3) && share(max_min, 0) < share(&weights, 0));
}

#[test]
fn no_weight_grows_beyond_the_top_rung_under_proportional_fairness() {
    let titles = titles(3, 6);
    let f = Arc::new(proportional(&titles, 2.0));
    let config = Config { fairness: Fairness::Proportional, ..Config::default() };
    for s in &titles {
        let top = sustaining_rate_bps(s, 7);
        let raw = |rate: f64| {
            let mut m = Minerva::new(s.clone(), abr(), f.clone(), config);
            let mut progress =
                Progress { min_rtt: std::time::Duration::from_millis(20), ..Progress::default() };
            for chunk in [0, 9] {
                let buffer = std::time::Duration::from_secs(12);
                let stalled = std::time::Duration::ZERO;
                m.on_request(
                    Time::ZERO,
                    Request { chunk, rung: 7, buffer, stalled, after_seek: false },
                    progress,
                );
            }
            loop {
                let at = m.next_event().unwrap();
                progress.busy = at - Time::ZERO;
                progress.acked_bytes = (rate * progress.busy.as_secs_f64() / 8.0) as u64;
                if let Some(u) = m.poll(at, progress) {
                    return u.raw_weight;
                }
            }
        };
        let weights: Vec<f64> = [1.01, 1.2, 1.5, 2.0, 4.0].iter().map(|k| raw(k * top)).collect();
        assert!(weights.windows(2).all(|w| w[1] <= w[0] + 1e-9), "{weights:?}");
    }
}

#[test]
fn fairness_of_one_kind_with_an_f_of_another_is_max_min() {
    let titles = titles(3, 6);
    let f = Normalisation::uniform(Form::Equation2, 2.0, titles.iter().map(|s| s.view().curve()));
    let f = Arc::new(f.unwrap());
    let basic = Config { utility: UtilityKind::Basic, ..Config::default() };
    let link = crate::flows::Link { capacity_bps: 6e6, delay: 1, noise: 0.1 };
    let run = |config| crate::flows::run(&titles, &f, config, link, 50, Seed(1));
    assert_eq!(run(basic), run(Config { fairness: Fairness::Proportional, ..basic }));
}
