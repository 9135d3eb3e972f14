#![doc = include_str!("../README.md")]
//!
//! ## Model
//!
//! - Client i has a half-duplex link of **capacity** B_i. Its **downlink** d_i and its **uplink** u_j share it.
//! - The server forwards every uplink to all others, and may lower its rate on the way: d_i is at most the
//!   sum of the others' uplinks ([`ContentBound`]).
//! - **QoE** is a function of the downlink ([`Qoe`]). **Utility** is `(1 - rho)` times mean QoE plus `rho`
//!   times its fairness ([`Score`]).
//! - A [`Problem`] has the capacities and a [`OptimiserConfig`]. A [`Solver`] returns a [`Solution`]:
//!   [`Structured`] is fast, [`Exact`] certifies, [`Slsqp`] is the paper's, [`Multistart`] is for QoE that is
//!   not concave. [`solver_for`] chooses.
//! - [`targets`] validates the solution too. Without a valid one all hosts go back to the Natural state.
//!
//! ## Data flow
//!
//! ```text
//! capacities, OptimiserConfig --> Problem --Solver--> Solution --validate--> Targets: Constrained | Natural
//!                                    ^          |
//!                                    '-- previous: warm start
//! ```
//!
//! Nothing here does I/O or reads a clock. Rates are in kbit/s as the QoE functions want them, QoE and
//! utility are in 0 to 1 (utility may be below 0 if rho is large and QoE differs).
//!
//! ## Invariants
//!
//! - Every solution of [`Structured`], [`Exact`] and [`Multistart`] is feasible within 1e-9 of M.
//! - For concave QoE the utility of [`Structured`] is the global optimum up to rounding.
//! - Numbers that make no sense are errors, and never a panic.

mod capacity;
mod coordination;
mod coordinator;
mod fixed_rules;
mod fixed_share;
mod optimiser;
pub mod synthetic;

pub use capacity::{
    CapacityEstimate, CapacityEstimator, CapacityMethod, ChangeDetector, ChannelSample,
    DeliveredConfig,
};
pub use coordination::{
    ClientControl, DEFAULT_NOTICE_TIMEOUT, Decision, Epoch, MalformedNotice, NOTICE_BYTES, Notice,
    ServerControl, State,
};
pub use coordinator::{ClientChannel, Coordinator, CoordinatorConfig, Target};
pub use fixed_rules::{VideoBounds, fixed_rules};
pub use fixed_share::fixed_share;

pub use optimiser::{
    ContentBound, Direction, Exact, Floors, Invalid, MAX_GAP, Multistart, Optimality,
    OptimiserConfig, Problem, ProblemError, Qoe, QoeError, QoeFunction, QoeTable, Reason, Score,
    Slsqp, Solution, SolveError, Solver, Structured, TOLERANCE, TableError, Targets, Unit,
    UnknownQoe, Utility, Views, solver_for, targets,
};
