//! The daemons: the roles of `airlane-apps` with what a machine on a network needs around them:
//! files, certificates, TCP, limits, logs and pages.

pub mod certificate;
pub mod client;
mod date;
pub mod error;
pub mod files;
mod machine;
pub mod play;
mod room;
mod said;
pub mod serve;

pub use error::DaemonError;
