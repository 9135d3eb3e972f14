//! Target rates of a call: section III-B's utility, section III-C's problem, and solvers.

mod certificate;
mod config;
mod exact;
mod levels;
mod multistart;
mod problem;
mod qoe;
mod search;
mod slsqp;
mod solution;
mod solver;
mod structured;
mod table;
mod utility;

pub use config::{ContentBound, Floors, OptimiserConfig, Views};
pub use exact::{Exact, MAX_GAP};
pub use multistart::Multistart;
pub use problem::{Problem, ProblemError};
pub use qoe::{Qoe, QoeError, QoeFunction, UnknownQoe};
pub use slsqp::{Slsqp, Unit};
pub use solution::{Direction, Invalid, Optimality, Solution, TOLERANCE};
pub use solver::{Reason, SolveError, Solver, Targets, solver_for, targets};
pub use structured::Structured;
pub use table::{QoeTable, TableError};
pub use utility::{Score, Utility};
