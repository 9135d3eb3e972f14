#![doc = include_str!("../README.md")]
//!
//! ## Model
//!
//! - The **panorama** is equirectangular and cut into **tiles** ([`Tiling`]). A tile of a GoP (group of
//!   pictures, one second) is sent as a whole, at one of its **levels** ([`TileCurve`]: bits and mean
//!   squared error), and is **late** if it is complete after its deadline.
//! - The user sees a **viewport** ([`Viewport`]). P(t) is how much of it a tile fills, in the mean over
//!   other users ([`Audience`]).
//! - eps(t), the probability that a tile is late, follows from its place in the **order** of sending
//!   and from what the transport brought in past seconds ([`History`], [`Throughput`]).
//! - A **plan** ([`Plan`]) is a level for each tile, and an order. [`Ows`] is the paper's Algorithm 1,
//!   [`fix`] the same without an order of its own, [`Joint`] chooses both together, [`optimum`] is
//!   exact for few tiles.
//! - A **missing** tile shows what was there before, or mid-grey ([`Display`]). What a user got is the
//!   PSNR of the true viewport ([`viewport_psnr_db`]).
//!
//! ## Data flow
//!
//! ```text
//! HeadTrace of others --Audience--> P(t) --.
//! seconds of the past --History--> eps, C_agg --> Problem --Ows--> Plan --transport--> what arrived
//! levels, Dmiss --TileCurve----------------'                                               |
//!                          PSNR <-- true viewport (Audience) <-- Display <-----------------'
//! ```
//!
//! Nothing here does I/O, reads a clock or draws numbers, but for [`synthetic`] GoPs and the heads of
//! a [`crowd`](crowd()), which are drawn from a seed. Angles are in degrees where a name says so and else in radians, sizes in bits, rates in bits
//! per second, distortions in squared steps of 8-bit samples.
//!
//! ## Invariants
//!
//! - The parts of a viewport in all tiles sum to its solid angle, at poles and across the seam as
//!   elsewhere.
//! - The rate step keeps to its budget whenever the smallest levels do, and returns a bound that no
//!   choice of levels beats.
//! - A plan sends every tile once. P(t) of a user never depends on what that user saw.

mod audience;
mod crowd;
mod crowd_statistics;
mod curve;
mod display;
mod head;
mod joint;
mod optimum;
mod orientation;
mod ows;
mod prices;
mod problem;
mod psnr;
mod rate;
pub mod synthetic;
mod throughput;
mod tiling;
mod viewport;

pub use audience::{Audience, Observation, Sampling};
pub use crowd::{CrowdModel, SAMPLES_PER_S, crowd};
pub use crowd_statistics::{CrowdStatistics, MOVED_S};
pub use curve::{CurveError, Level, MAX_LEVELS, TileCurve};
pub use display::{Concealment, Display, TileContent};
pub use head::{HeadTrace, HeadTraceError};
pub use joint::Joint;
pub use optimum::{MAX_OPTIMUM_TILES, optimum, oracle_bound};
pub use orientation::{Orientation, Vector, direction};
pub use ows::{Ows, Solution, by_likelihood, fix};
pub use problem::{LossKind, Plan, Problem, ProblemError};
pub use psnr::{
    MAX_PSNR_DB, panorama_psnr_db, psnr_db, session_psnr_db, viewport_psnr_db, weighted_mse,
    ws_psnr_db,
};
pub use rate::{Allocation, Workspace};
pub use throughput::{History, Throughput, ThroughputError};
pub use tiling::{MAX_SIDE, Tiling, TilingError, ws_row_weight};
pub use viewport::{FieldOfView, FieldOfViewError, Viewport};
