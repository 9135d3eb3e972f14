//! `Exact` and `Structured` beside an interior-point solver of conic programs.

use airlane_plum::{ContentBound, Exact, MAX_GAP, Optimality, Problem, Qoe, Solver};
use clarabel::algebra::CscMatrix;
use clarabel::solver::{
    DefaultSettings, DefaultSolver, IPSolver, SolverStatus, SupportedConeT,
    SupportedConeT::{ExponentialConeT, NonnegativeConeT, SecondOrderConeT, ZeroConeT},
};
use proptest::prelude::*;

use crate::common::{assert_feasible, cases, problem, structured};

/// Rows `b - A x` of a conic program.
#[derive(Default)]
struct Rows {
    rows: Vec<usize>,
    columns: Vec<usize>,
    values: Vec<f64>,
    right: Vec<f64>,
    cones: Vec<SupportedConeT<f64>>,
}

impl Rows {
    /// Adds the row `right - sum of value * variable`.
    fn push(&mut self, row: &[(usize, f64)], right: f64) {
        for &(column, value) in row {
            self.rows.push(self.right.len());
            self.columns.push(column);
            self.values.push(value);
        }
        self.right.push(right);
    }
}

/// Optimum of the utility by Clarabel, with rates over M. Variables: d, u, q of each client, and t with
/// `|q - mean q| <= t`.
fn optimum(problem: &Problem, qoe: &Qoe) -> Option<f64> {
    let (n, m) = (problem.participants(), problem.max_rate());
    let (d, u, q, t) = (|i| i, |i| n + i, |i| 2 * n + i, 3 * n);
    let mut rows = Rows::default();
    if *qoe == Qoe::Linear {
        (0..n).for_each(|i| rows.push(&[(d(i), 1.0), (q(i), -1.0)], 0.0));
        rows.cones.push(ZeroConeT(n));
    }
    let before = rows.right.len();
    for (i, b) in problem.capacities().iter().enumerate() {
        rows.push(&[(d(i), 1.0), (u(i), 1.0)], b / m);
        rows.push(&[(d(i), 1.0)], 1.0);
        rows.push(&[(d(i), -1.0)], 0.0);
        rows.push(&[(u(i), -1.0)], 0.0);
        if problem.content() == ContentBound::Written {
            rows.push(&[(u(i), 1.0)], problem.max_uplink() / m);
            let others = (0..n).filter(|&j| j != i).map(|j| (u(j), -1.0));
            let row: Vec<(usize, f64)> = std::iter::once((d(i), 1.0)).chain(others).collect();
            rows.push(&row, 0.0);
        }
    }
    let all: Vec<(usize, f64)> = (0..n).map(|i| (d(i), 1.0)).collect();
    if problem.content() == ContentBound::Relaxed {
        rows.push(&all, problem.relaxed_total() / m);
    }
    if let Some(server) = problem.server() {
        rows.push(&all, server / m);
    }
    rows.cones.push(NonnegativeConeT(rows.right.len() - before));
    let scale = m.ln_1p();
    for i in 0..n {
        match qoe {
            // (1 - d)^2 <= 1 - q.
            Qoe::ConcaveSquare { .. } => {
                rows.push(&[(q(i), 1.0)], 2.0);
                rows.push(&[(d(i), 2.0)], 2.0);
                rows.push(&[(q(i), -1.0)], 0.0);
                rows.cones.push(SecondOrderConeT(3));
            }
            // exp((q - 1) ln(M + 1)) <= (M d + 1) / (M + 1).
            Qoe::Logarithmic => {
                rows.push(&[(q(i), -scale)], -scale);
                rows.push(&[], 1.0);
                rows.push(&[(d(i), -m / (m + 1.0))], 1.0 / (m + 1.0));
                rows.cones.push(ExponentialConeT());
            }
            _ => {}
        }
    }
    rows.push(&[(t, -1.0)], 0.0);
    for i in 0..n {
        let share = 1.0 / n as f64;
        let row: Vec<(usize, f64)> =
            (0..n).map(|j| (q(j), share - if i == j { 1.0 } else { 0.0 })).collect();
        rows.push(&row, 0.0);
    }
    rows.cones.push(SecondOrderConeT(n + 1));
    let size = 3 * n + 1;
    let mut cost = vec![0.0; size];
    (0..n).for_each(|i| cost[q(i)] = -(1.0 - problem.rho()) / n as f64);
    cost[t] = 2.0 * problem.rho() / (n as f64).sqrt();
    let count = rows.right.len();
    let matrix = CscMatrix::new_from_triplets(count, size, rows.rows, rows.columns, rows.values);
    let settings = DefaultSettings {
        verbose: false,
        tol_gap_abs: 1e-10,
        tol_gap_rel: 1e-10,
        tol_feas: 1e-10,
        ..DefaultSettings::default()
    };
    let none = CscMatrix::zeros((size, size));
    let mut solver =
        DefaultSolver::new(&none, &cost, &matrix, &rows.right, &rows.cones, settings).ok()?;
    solver.solve();
    let solution = &solver.solution;
    (solution.status == SolverStatus::Solved).then(|| problem.rho() - solution.obj_val)
}

/// Clarabel's optimum is as precise as its own tolerance and the conditioning allow: it is compared from
/// above, and from below where it says that it has solved the problem.
fn assert_agrees(problem: &Problem, qoe: &Qoe, found: f64, tolerance: f64) {
    if let Some(optimum) = optimum(problem, qoe) {
        let difference = found - optimum;
        assert!(difference.abs() <= tolerance, "{found} differs by {difference:e} in {problem:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(256)))]

    #[test]
    fn linear_qoe_is_certified_and_agrees(problem in problem(Qoe::Linear, 1..61)) {
        let exact = Exact.solve(&problem, None).expect("linear");
        assert_feasible(&problem, &exact);
        let Optimality::Certified { gap } = exact.optimality else { panic!("{exact:?}") };
        prop_assert!(gap < MAX_GAP, "gap {:e} in {:?}", gap, problem);
        assert_agrees(&problem, &Qoe::Linear, exact.score.utility, 1e-8);
        let fast = structured(&problem);
        assert_feasible(&problem, &fast);
        assert_agrees(&problem, &Qoe::Linear, fast.score.utility, 1e-6);
        prop_assert!((fast.score.utility - exact.score.utility).abs() <= 1e-9);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(64)))]

    #[test]
    fn concave_square_qoe_agrees(problem in problem(Qoe::ConcaveSquare { alpha: None }, 1..41)) {
        let fast = structured(&problem);
        assert_feasible(&problem, &fast);
        assert_agrees(&problem, &Qoe::ConcaveSquare { alpha: None }, fast.score.utility, 1e-6);
    }

    #[test]
    fn logarithmic_qoe_agrees(problem in problem(Qoe::Logarithmic, 1..31)) {
        let fast = structured(&problem);
        assert_feasible(&problem, &fast);
        assert_agrees(&problem, &Qoe::Logarithmic, fast.score.utility, 1e-6);
    }
}
