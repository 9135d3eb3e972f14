//! From a video to a title: encodes a ladder, measures it, and writes manifests and the quality
//! table.
//!
//! [`pack`] makes a folder that stock players play, with the table of sizes and qualities that
//! Airlane's own players go by; [`measure`] makes the quality table of a DASH title that exists already. Both let
//! ffmpeg do the work with pixels, as a process. [`pack_layered`] makes a packed layered video with libvpx. What is made, how, and what happens if it is
//! stopped is described in `docs/pack.md`.
//!
//! This crate is an edge: it starts processes and threads, writes files, and looks at the clock to
//! say how much time is left. The parts that decide ([`ladder`], and what is parsed of ffmpeg's
//! words) are pure.

mod audio;
mod chunks;
mod codec;
mod containers;
mod encode;
mod error;
mod ffmpeg;
mod filters;
pub mod ladder;
mod layered;
mod make;
mod manifest;
mod order;
mod pace;
mod pack;
mod probe;
mod progress;
mod rates;
mod request;
mod resume;
mod rung;
mod score;
mod streams;
mod title;
mod title_files;
mod work;

pub use codec::{Codec, Speed};
pub use error::PackError;
pub use ladder::{Ladder, RungRequest, parse_rate};
pub use layered::{EncodingReport, LayeredReport, LayeredRequest, pack_layered};
pub use pack::pack;
pub use progress::{Event, Observer};
pub use request::{MeasureReport, MeasureRequest, PackReport, PackRequest, RungReport};
pub use title::measure;
