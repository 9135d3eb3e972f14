//! The report of a laboratory run: one HTML file that works offline.
//!
//! Fill a [`model::Report`], call [`render`], write the text to a file. The page needs no network,
//! no server and no other file. The same report gives the same bytes.

pub mod model;

pub use model::Report;
