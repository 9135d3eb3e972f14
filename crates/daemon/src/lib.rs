//! The daemons: the roles of `airlane-apps` with what a machine on a network needs around them:
//! files, certificates, TCP, limits, logs and pages.

pub mod air;
mod buffers;
pub mod certificate;
pub mod client;
pub mod error;
pub mod files;
pub mod live;
mod open_files;
pub mod play;
pub mod serve;

pub use error::DaemonError;
