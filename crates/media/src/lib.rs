#![doc = include_str!("../README.md")]
//!
//! A [`Video`] is a table of sizes and qualities per rung and chunk; a [`Corpus`] is the videos
//! of a folder, or those that come with Airlane. [`Perceptual`] is what a player sees of a video
//! under one metric. [`CorpusStatistics`] says what a corpus is like, [`select`] draws from it.
//! The formats are described in `docs/reference/chunk-tables.md`
//! and `docs/reference/tile-tables.md`. [`layers`] are real-time videos in layers, [`clouds`]
//! moving point clouds.
//!
//! A [`tiles::TiledVideo`] is the same for a 360-degree video that is sent tile by tile;
//! [`heads`] are recordings of how people looked around in such videos.
//!
//! [`dash`] and [`hls`] are the manifests of titles as players know them, [`mp4`] what is to be
//! read in their files, [`ivf`] a file of encoded frames. [`vp9`] is what is to be known of the frames of layered video, [`y4m`] how pictures
//! come that are yet to be encoded.

mod byte_range;
pub mod corpus;
pub mod dash;
pub mod heads;
pub mod hls;
pub mod ivf;
pub mod layers;
pub mod mp4;
pub mod name;
pub mod perceptual;
mod render;
pub mod select;
pub mod statistics;
pub mod synthetic;
pub mod table;
pub mod tiles;
pub mod url;
pub mod video;
pub mod vp9;
pub mod y4m;

pub use corpus::Corpus;
pub use layers::clouds;
pub use perceptual::Perceptual;
pub use statistics::CorpusStatistics;
pub use tiles::{TileContent, TiledVideo};
pub use video::{Metric, Rung, Video};
