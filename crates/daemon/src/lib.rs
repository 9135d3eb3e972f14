//! The daemons: the roles of `airlane-apps` with what a machine on a network needs around them:
//! files, certificates, TCP, limits, logs and pages.

pub mod air;
mod buffers;
pub mod certificate;
pub mod client;
mod date;
pub mod error;
mod fair;
pub mod files;
pub mod folders;
mod happy_eyeballs;
pub mod live;
mod machine;
mod near;
mod open_files;
mod own_host;
mod plain_http;
pub mod play;
mod private;
mod prometheus;
mod resolver;
mod seldom;
pub mod serve;
pub mod tunnel;

pub use date::now_s;
pub use error::DaemonError;
#[cfg(test)]
mod virtual_time;
