//! A 360-degree video session: a server that sends the tiles of one GoP after another over a stream
//! with several paths, and a client that shows what arrived in time.
//!
//! ```text
//! reports --> Planner --plan of the GoP--> server ==MultipathStream==> Viewer --records--> quality
//!    ^          (OWS, FIX, ...)                                          | at each deadline
//!    '-------------------------- what arrived, and how fast <------------'
//! ```
//!
//! The server starts a GoP every GoP duration, sends its tiles in the order of the plan, and leaves
//! out those that it has not begun when the next GoP starts. The client shows GoP `n` so long after
//! the session's first message as `n + 1` GoPs last; tiles that are complete later are useless.
//! Nobody's clock is compared with the other's.
//!
//! The decisions are pure: [`Planner`] at the server, [`Viewer`] at the client. [`serve`] and [`watch`] drive
//! them. `docs/reference/wire/tiles.md` has what is on the stream. Bodies come from a pattern that
//! both ends know ([`Pattern`](airlane_base::Pattern)), and the client compares every byte.

mod client;
mod error;
mod planner;
mod quality;
mod server;
mod title;
mod viewer;
pub mod wire;

pub use client::watch;
pub use error::TilesError;
pub use planner::{Item, Method, Planner, PlannerConfig};
pub use quality::{GopQuality, quality};
pub use server::{SentGop, Show, serve};
pub use title::{Tile, Title, TitleError};
pub use viewer::{ShownGop, Viewer};
