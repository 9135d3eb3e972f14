//! Tests of which solutions are used, and which lead back to the Natural state.

use airlane_plum::{
    Direction, Floors, Invalid, Optimality, OptimiserConfig, Problem, Reason, Solution, SolveError,
    Solver, Structured, Targets, targets,
};

use crate::common::{pose, structured};

fn call() -> Problem {
    pose(&[12_000.0, 20_000.0, 30_000.0], &OptimiserConfig::default())
}

/// A solver that returns what it is given.
struct Given(Result<Solution, SolveError>);

impl Solver for Given {
    fn name(&self) -> &'static str {
        "given"
    }

    fn solve(&self, _: &Problem, _: Option<&Solution>) -> Result<Solution, SolveError> {
        self.0.clone()
    }
}

#[test]
fn a_good_solution_becomes_targets() {
    let problem = call();
    let found = targets(&Structured::default(), &problem, None);
    assert_eq!(found, Targets::Constrained(structured(&problem)));
}

#[test]
fn numbers_that_are_none_lead_back_to_natural() {
    let problem = call();
    for wrong in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let mut solution = structured(&problem);
        solution.down[1] = wrong;
        assert_eq!(solution.violation(&problem), f64::INFINITY);
        let found = targets(&Given(Ok(solution)), &problem, None);
        assert_eq!(found, Targets::Natural(Reason::Invalid(Invalid::NotFinite)));
        let mut solution = structured(&problem);
        solution.score.utility = wrong;
        assert!(!solution.is_valid(&problem));
    }
}

#[test]
fn violated_constraints_lead_back_to_natural() {
    let problem = call();
    let good = structured(&problem);
    let with = |change: fn(&mut Solution)| {
        let mut solution = good.clone();
        change(&mut solution);
        solution.validate(&problem)
    };
    let is_infeasible =
        |found: Result<(), Invalid>| matches!(found, Err(Invalid::Infeasible { .. }));
    assert!(is_infeasible(with(|s| s.down[0] = -1.0)));
    assert!(is_infeasible(with(|s| s.up[0] = -1.0)));
    assert!(is_infeasible(with(|s| s.down[2] = 25_000.0)));
    assert!(is_infeasible(with(|s| s.up[2] = 16_000.0)));
    assert!(is_infeasible(with(|s| s.up.fill(0.0))));
    let found = with(|s| s.down.truncate(2));
    assert_eq!(found, Err(Invalid::Length { rates: 2, participants: 3 }));
    assert_eq!(with(|_| ()), Ok(()));
}

#[test]
fn a_server_that_carries_less_makes_a_solution_infeasible() {
    let solution = structured(&call());
    let config = OptimiserConfig { server: Some(10_000.0), ..OptimiserConfig::default() };
    let limited = pose(&[12_000.0, 20_000.0, 30_000.0], &config);
    assert!(matches!(solution.validate(&limited), Err(Invalid::Infeasible { .. })));
    let found = structured(&limited);
    assert!(found.down.iter().sum::<f64>() <= 10_000.0 + 1e-6);
}

#[test]
fn rates_at_the_floor_lead_back_to_natural() {
    let config = OptimiserConfig { floors: Some(Floors::AUTHORS), ..OptimiserConfig::default() };
    let poor = pose(&[1500.0, 20_000.0, 30_000.0], &config);
    let Targets::Natural(Reason::Invalid(invalid)) = targets(&Structured::default(), &poor, None)
    else {
        panic!("1.5 Mbit/s is too little");
    };
    let Invalid::BelowFloor { participant: 0, direction, rate, floor } = invalid else {
        panic!("{invalid:?}");
    };
    assert_eq!((direction, floor), (Direction::Down, 2000.0));
    assert!(rate <= 1500.0);
    let rich = pose(&[12_000.0, 20_000.0, 30_000.0], &config);
    let down = vec![2000.0, 5000.0, 5000.0];
    let at_floor = Solution::from_down(&rich, down, Optimality::Local);
    assert!(!at_floor.is_valid(&rich), "a floor is exceeded, not reached");
    let above = Solution::from_down(&rich, vec![2000.5, 5000.0, 5000.0], Optimality::Local);
    assert!(above.is_valid(&rich));
}

#[test]
fn no_solution_leads_back_to_natural() {
    let error = SolveError::NoSolution { solver: "given" };
    let found = targets(&Given(Err(error)), &call(), None);
    assert_eq!(found, Targets::Natural(Reason::Unsolved(error)));
}
