mod audience;
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
pub use curve::{CurveError, Level, MAX_LEVELS, TileCurve};
pub use display::{Concealment, Display, TileContent};
pub use head::{HeadTrace, HeadTraceError};
pub use joint::Joint;
pub use optimum::{MAX_OPTIMUM_TILES, optimum, oracle_bound};
pub use orientation::{Orientation, Vector, direction};
pub use ows::{Ows, Solution, fix};
pub use problem::{LossKind, Plan, Problem, ProblemError};
pub use psnr::{
    MAX_PSNR_DB, panorama_psnr_db, psnr_db, session_psnr_db, viewport_psnr_db, weighted_mse,
    ws_psnr_db,
};
pub use rate::{Allocation, Workspace};
pub use throughput::{History, Throughput, ThroughputError};
pub use tiling::{MAX_SIDE, Tiling, TilingError, ws_row_weight};
pub use viewport::{FieldOfView, FieldOfViewError, Viewport};
