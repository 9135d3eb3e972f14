//! The interface of all solvers, and the choice between them.

use super::multistart::Multistart;
use super::problem::Problem;
use super::solution::{Invalid, Solution};
use super::structured::Structured;

/// Reason why a solver has no solution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SolveError {
    /// A certificate for QoE that is not linear.
    #[error("a certificate needs linear QoE")]
    NotLinear,
    /// More participants than the solver takes.
    #[error("{solver} takes {max} participants, found {found}")]
    TooManyParticipants {
        /// Name of the solver.
        solver: &'static str,
        /// Number that it takes.
        max: usize,
        /// Number found.
        found: usize,
    },
    /// No usable answer from the numerical method.
    #[error("{solver} found no solution")]
    NoSolution {
        /// Name of the solver.
        solver: &'static str,
    },
}

/// Method that solves a [`Problem`].
pub trait Solver {
    /// Name, for reports.
    fn name(&self) -> &'static str;

    /// Solves a problem. The search begins at a previous solution of a similar problem, if there is one.
    ///
    /// # Errors
    /// If the solver does not take this problem or finds no solution.
    fn solve(&self, problem: &Problem, previous: Option<&Solution>)
    -> Result<Solution, SolveError>;
}

/// Solver for a problem: [`Structured`] for concave QoE, [`Multistart`] for the rest.
pub fn solver_for(problem: &Problem) -> Box<dyn Solver> {
    if problem.qoe().is_concave() {
        Box::new(Structured::default())
    } else {
        Box::new(Multistart::default())
    }
}

/// Outcome of an optimisation, as the state machines of section III-D need it.
#[derive(Clone, Debug, PartialEq)]
pub enum Targets {
    /// Valid target rates.
    Constrained(Solution),
    /// No valid target rates: all hosts go back to the Natural state.
    Natural(Reason),
}

/// Reason why hosts go back to the Natural state.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum Reason {
    /// No solution.
    #[error(transparent)]
    Unsolved(#[from] SolveError),
    /// A solution that is not valid.
    #[error(transparent)]
    Invalid(#[from] Invalid),
}

/// Solves a problem and validates the solution.
pub fn targets(solver: &dyn Solver, problem: &Problem, previous: Option<&Solution>) -> Targets {
    match solver.solve(problem, previous) {
        Err(error) => Targets::Natural(error.into()),
        Ok(solution) => match solution.validate(problem) {
            Err(invalid) => Targets::Natural(invalid.into()),
            Ok(()) => Targets::Constrained(solution),
        },
    }
}
