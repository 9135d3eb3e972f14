//! The report of a laboratory run: one HTML file that works offline.
//!
//! Fill a [`model::Report`], call [`render`], write the text to a file. The page needs no network,
//! no server and no other file. The same report gives the same bytes.

mod decimate;
mod json;
mod merge;
pub mod model;
mod page;

pub use decimate::{MAX_POINTS, decimate};
pub use merge::{merge, tally};
pub use model::Report;
pub use page::render;
