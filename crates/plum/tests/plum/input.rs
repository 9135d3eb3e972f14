//! Tests of refused problems, and of how names and settings are read.

use airlane_plum::{
    ContentBound, Exact, Floors, Multistart, OptimiserConfig, Problem, ProblemError, Qoe, QoeError,
    QoeFunction, QoeTable, Slsqp, SolveError, Solver, Structured, TableError, UnknownQoe, Views,
};

use crate::common::{concave, not_concave, pose};

fn refused(capacities: &[f64], config: &OptimiserConfig) -> ProblemError {
    Problem::new(capacities, config).expect_err("it makes no sense")
}

#[test]
fn capacities_that_are_no_rates_are_refused() {
    let config = OptimiserConfig::default();
    for wrong in [f64::NAN, -1.0, 1e13, f64::INFINITY, f64::NEG_INFINITY] {
        let error = refused(&[1000.0, wrong], &config);
        assert!(matches!(error, ProblemError::Capacity { participant: 1, .. }), "{error}");
    }
    assert_eq!(refused(&[], &config), ProblemError::NoParticipants);
}

#[test]
fn settings_outside_their_interval_are_refused() {
    let usual = OptimiserConfig::default;
    let with_rho = |rho| ("rho", OptimiserConfig { rho, ..usual() });
    let with_max = |max_rate| ("max_rate", OptimiserConfig { max_rate, ..usual() });
    let with_views = |views| ("views", OptimiserConfig { views: Views::Fixed(views), ..usual() });
    let with_server = |server| ("server", OptimiserConfig { server: Some(server), ..usual() });
    let down = |min_down| {
        ("min_down", OptimiserConfig { floors: Some(Floors { min_down, min_up: 0.0 }), ..usual() })
    };
    let nan = f64::NAN;
    let mut all = vec![with_rho(-0.1), with_rho(1.1), with_rho(nan), with_max(0.0), with_max(-1.0)];
    all.extend([with_max(nan), with_max(f64::INFINITY), with_views(0.0), with_views(nan)]);
    all.extend([with_server(-1.0), with_server(nan), down(-1.0), down(nan)]);
    for (expected, config) in all {
        match refused(&[1000.0], &config) {
            ProblemError::Setting { name, .. } => assert_eq!(name, expected),
            other => panic!("{other}"),
        }
    }
}

/// Extremes that are accepted meet every solver; no number may become NaN, and nothing may panic.
#[test]
fn extreme_numbers_have_finite_solutions() {
    let rates = [0.0, f64::MIN_POSITIVE, 1e-9, 1.0, 1e6, 1e12];
    let qoe = concave().into_iter().chain(not_concave());
    for (qoe, max_rate) in
        qoe.flat_map(|q| [1e-3, 1.0, 30_000.0, 1e12].map(|max_rate| (q.clone(), max_rate)))
    {
        for views in [1e-6, 1.0, 1e9] {
            for (content, server) in [
                (ContentBound::Written, None),
                (ContentBound::Relaxed, None),
                (ContentBound::Written, Some(1e-9)),
                (ContentBound::Relaxed, Some(1e9)),
            ] {
                let (views, qoe, rho) = (Views::Fixed(views), qoe.clone(), 0.3);
                let config =
                    OptimiserConfig { max_rate, views, rho, qoe, content, server, floors: None };
                // Coefficients and tables may not suit this maximum rate.
                let Ok(problem) = Problem::new(&rates, &config) else { continue };
                let multistart = Multistart { random_starts: 2, ..Multistart::default() };
                let solvers: [&dyn Solver; 4] =
                    [&Structured::default(), &Exact, &Slsqp::default(), &multistart];
                for solver in solvers {
                    let Ok(solution) = solver.solve(&problem, None) else { continue };
                    assert!(solution.score.utility.is_finite(), "{problem:?} {solution:?}");
                    if solver.name() != "slsqp" {
                        let excess = solution.violation(&problem);
                        // Beside a capacity of 1e12 rounding alone is 1e-4.
                        assert!(excess <= 1e-9 * max_rate.max(1e6), "{problem:?} {solution:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn limits_that_contradict_each_other_are_refused() {
    let config = |min_down, min_up, server| OptimiserConfig {
        floors: Some(Floors { min_down, min_up }),
        server,
        ..OptimiserConfig::default()
    };
    for (config, name) in [
        (config(30_000.0, 0.0, None), "min_down"),
        (config(2000.0, 0.0, Some(8000.0)), "min_down"),
        (config(0.0, 10_000.0, None), "min_up"),
    ] {
        let error = refused(&[20_000.0; 4], &config);
        assert!(
            matches!(error, ProblemError::Contradiction { name: found, .. } if found == name),
            "{error}"
        );
    }
    // Equation 3 has no limit of one uplink.
    let relaxed = OptimiserConfig { content: ContentBound::Relaxed, ..config(0.0, 10_000.0, None) };
    assert!(Problem::new(&[20_000.0; 4], &relaxed).is_ok());
}

#[test]
fn names_of_qoe_are_those_of_the_paper() {
    for name in ["lin", "log", "sqrc", "sqrcv"] {
        assert_eq!(name.parse::<Qoe>().expect("a name").to_string(), name);
    }
    let error = "linear".parse::<Qoe>().expect_err("no such name");
    assert_eq!(error, UnknownQoe { name: "linear".to_owned() });
    assert_eq!(error.to_string(), "no QoE function linear; expected lin, log, sqrc or sqrcv");
}

#[test]
fn settings_are_read_with_the_usual_ones_in_place_of_those_left_out() {
    let text =
        r#"{"rho": 0.2, "qoe": {"sqrcv": {}}, "views": "participants", "content": "relaxed"}"#;
    let config: OptimiserConfig = serde_json::from_str(text).expect("settings");
    assert_eq!(config.qoe, Qoe::ConvexSquare { alpha: None });
    assert_eq!((config.rho, config.max_rate), (0.2, 30_000.0));
    assert_eq!(pose(&[1000.0; 5], &config).max_uplink(), 6000.0);
    assert!(serde_json::from_str::<OptimiserConfig>(r#"{"roh": 0.2}"#).is_err());
    let table = r#"{"qoe": {"table": [[0, 0], [500, 0.8], [400, 1]]}}"#;
    let error = serde_json::from_str::<OptimiserConfig>(table).expect_err("rates fall");
    assert!(error.to_string().contains("rates are finite"), "{error}");
}

#[test]
fn coefficients_and_tables_must_suit_the_maximum_rate() {
    let of = |qoe| QoeFunction::new(&qoe, 1000.0);
    for alpha in [0.0, 1e-6, -1.1e-6, f64::NAN] {
        let error = of(Qoe::ConcaveSquare { alpha: Some(alpha) }).expect_err("outside");
        assert!(matches!(error, QoeError::Alpha { .. }));
    }
    for alpha in [0.0, -1e-6, 1.1e-6, f64::NAN] {
        assert!(of(Qoe::ConvexSquare { alpha: Some(alpha) }).is_err());
    }
    assert!(of(Qoe::ConcaveSquare { alpha: Some(-1e-6) }).is_ok());
    let table = QoeTable::new(vec![(0.0, 0.0), (2000.0, 1.0)]).expect("a table");
    assert_eq!(of(Qoe::Table(table)), Err(QoeError::Table { rate: 2000.0, max_rate: 1000.0 }));
}

#[test]
fn points_that_make_no_table_are_refused() {
    let of = |points: &[(f64, f64)]| QoeTable::new(points.to_vec()).expect_err("no table");
    assert_eq!(of(&[(0.0, 1.0)]), TableError::TooShort(1));
    for (points, point) in [
        (&[(0.0, 0.0), (0.0, 1.0)], 1),
        (&[(-1.0, 0.0), (1.0, 1.0)], 0),
        (&[(0.0, 0.0), (f64::NAN, 1.0)], 1),
    ] {
        assert!(matches!(of(points), TableError::Rate { point: found, .. } if found == point));
    }
    for (points, point) in [
        (&[(0.0, 0.5), (1.0, 0.4)], 1),
        (&[(0.0, -0.1), (1.0, 1.0)], 0),
        (&[(0.0, 0.0), (1.0, 0.9)], 1),
        (&[(0.0, f64::NAN), (1.0, 1.0)], 0),
    ] {
        assert!(matches!(of(points), TableError::Qoe { point: found, .. } if found == point));
    }
}

#[test]
fn qoe_functions_are_normalised_monotone_and_inverted() {
    for (qoe, is_concave) in concave()
        .into_iter()
        .map(|q| (q, true))
        .chain(not_concave().into_iter().map(|q| (q, false)))
    {
        let function = QoeFunction::new(&qoe, 2000.0).expect("it suits");
        assert_eq!(function.is_concave(), is_concave, "{qoe:?}");
        assert_eq!(function.value(2000.0), 1.0);
        assert_eq!(function.value(5000.0), 1.0);
        assert_eq!(function.slope(5000.0), 0.0);
        let mut before = 0.0;
        for i in 0..200 {
            let rate = f64::from(i) * 10.0 + 0.5;
            let q = function.value(rate);
            assert!(q >= before && q <= 1.0, "{qoe:?} at {rate}");
            before = q;
            // The smallest rate with this QoE is not above this rate.
            let back = function.rate(q);
            assert!(back <= rate * (1.0 + 1e-9), "{qoe:?} at {rate}: {back}");
            assert!((function.value(back) - q).abs() < 1e-9, "{qoe:?} at {rate}");
            if !matches!(qoe, Qoe::Table(_)) {
                let step = 1e-3;
                let numeric =
                    (function.value(rate + step) - function.value(rate - step)) / (2.0 * step);
                assert!((function.slope(rate) - numeric).abs() < 1e-6, "{qoe:?} at {rate}");
            }
        }
        // Every Q is 0 without downlink, but for a table that says otherwise.
        assert!(matches!(qoe, Qoe::Table(_)) || function.value(0.0) == 0.0);
    }
}

#[test]
fn a_certificate_is_for_linear_qoe_alone() {
    let problem = pose(
        &[1000.0; 3],
        &OptimiserConfig { qoe: Qoe::Logarithmic, ..OptimiserConfig::default() },
    );
    assert_eq!(Exact.solve(&problem, None), Err(SolveError::NotLinear));
}

#[test]
fn the_score_has_its_parts() {
    let config = OptimiserConfig { max_rate: 1000.0, rho: 0.25, ..OptimiserConfig::default() };
    let score = pose(&[1000.0; 4], &config).score(&[0.0, 0.0, 1000.0, 2000.0]);
    assert_eq!((score.performance, score.fairness), (0.5, 0.0));
    assert_eq!(score.utility, 0.375);
    assert_eq!(score.deviation(), 0.5);
}
