//! The daemons around `airlane-origin`: the server with files, certificates, TCP, limits, logs and pages, and
//! the player.

mod buffers;
mod error;
pub mod files;
mod open_files;
pub mod play;
pub mod serve;

pub use error::DaemonError;
