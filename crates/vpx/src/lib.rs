//! VP9 in layers of quality, with the system's libvpx.
//!
//! libvpx is loaded when it is wanted ([`Library::open`]) and not when Airlane is built or started: only
//! `airlane pack --layered` and `airlane send` of raw video need it, and whoever has ffmpeg from a distribution has it already. The crate
//! holds what is unsafe about it: it encodes ([`Encoder`]) and decodes ([`Decoder`]), and knows nothing of
//! files.

mod decoder;
mod encoder;
mod library;
mod releases;

use std::io;

pub use decoder::{Decoder, Luma};
pub use encoder::{Encoder, Settings};
pub use library::Library;

/// Error of libvpx.
#[derive(Debug, thiserror::Error)]
pub enum VpxError {
    /// It is not there, or cannot be loaded.
    #[error(
        "cannot load libvpx ({said}); install it (apt-get install libvpx7, or the libvpx of this system; \
         ffmpeg from a distribution brings it) or name it with --libvpx FILE"
    )]
    Missing {
        /// Message of the system on the last library that was tried.
        said: String,
    },
    /// It is there and cannot be used.
    #[error("{file} cannot be used: {found}; known are {known}, with their VP9 encoder")]
    Unusable {
        /// The library.
        file: String,
        /// Fault of the library.
        found: String,
        /// The releases that can be used.
        known: String,
    },
    /// A call failed.
    #[error("libvpx failed {doing}: {said}")]
    Failed {
        /// Action that failed.
        doing: &'static str,
        /// Message of the library.
        said: String,
    },
    /// A thread for it could not be had.
    #[error("no thread for an encoder: {0}")]
    Thread(#[from] io::Error),
}
