//! The paper's method beside the structured one.

use airlane_plum::{OptimiserConfig, Slsqp, SolveError, Solver, Unit};
use proptest::prelude::*;

use crate::common::{cases, concave, pose, problem, structured};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(200)))]

    #[test]
    fn the_structured_solver_is_never_worse(
        problem in prop::sample::select(concave()).prop_flat_map(|qoe| problem(qoe, 1..20))
    ) {
        let ours = structured(&problem).score.utility;
        let slsqp = Slsqp { tolerance: 1e-9, ..Slsqp::default() };
        if let Ok(theirs) = slsqp.solve(&problem, None)
            && theirs.is_valid(&problem)
        {
            let utility = theirs.score.utility;
            let limit = utility - 1e-4 * utility.abs();
            prop_assert!(ours >= limit, "{} below {} in {:?}", ours, utility, problem);
        }
    }
}

#[test]
fn slsqp_comes_near_on_calls_like_the_papers() {
    for capacities in [
        vec![12_000.0, 20_000.0, 100_000.0],
        vec![50_000.0, 50_000.0, 50_000.0, 20_000.0],
        vec![8000.0, 15_000.0, 25_000.0, 40_000.0, 60_000.0, 9000.0, 31_000.0, 18_000.0],
    ] {
        let problem = pose(&capacities, &OptimiserConfig::default());
        let ours = structured(&problem).score.utility;
        let found = Slsqp::default().solve(&problem, None).expect("a solution");
        assert!(found.is_valid(&problem), "{found:?}");
        assert!(ours - found.score.utility < 1e-2, "{} {ours}", found.score.utility);
        // From the optimum it does not leave.
        let again =
            Slsqp::default().solve(&problem, Some(&structured(&problem))).expect("a solution");
        assert!(ours - again.score.utility < 1e-5, "{} {ours}", again.score.utility);
    }
}

/// A step of the gradient is a change of about 1 kbit/s, which the stopping rule takes for the end.
#[test]
fn in_kbps_slsqp_stops_at_the_first_feasible_rates() {
    let problem = pose(&[12_000.0, 20_000.0, 100_000.0], &OptimiserConfig::default());
    let kbps = Slsqp { unit: Unit::Kbps, ..Slsqp::default() };
    let stopped = kbps.solve(&problem, None).expect("a solution").score.utility;
    let scaled = Slsqp::default().solve(&problem, None).expect("a solution").score.utility;
    assert!(scaled - stopped > 0.1, "{scaled} {stopped}");
}

#[test]
fn too_many_participants_are_an_error() {
    let problem = pose(&[1000.0; 300], &OptimiserConfig::default());
    let error = Slsqp::default().solve(&problem, None).expect_err("too many");
    assert_eq!(error, SolveError::TooManyParticipants { solver: "slsqp", max: 256, found: 300 });
}
