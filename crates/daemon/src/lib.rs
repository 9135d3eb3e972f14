//! The daemons: the roles of `airlane-apps` with what a machine on a network needs around them:
//! files, certificates, TCP, limits, logs and pages.

pub mod air;
mod buffers;
pub mod certificate;
pub mod client;
mod date;
pub mod dirs;
pub mod error;
mod fair;
pub mod files;
mod happy_eyeballs;
mod host_id;
pub mod live;
mod net_scope;
mod open_files;
mod own_host;
mod plain_http;
pub mod play;
mod prometheus;
mod rate_limited_log;
mod resolver;
mod secret_file;
pub mod serve;
pub mod tunnel;

pub use date::now_s;
pub use error::DaemonError;
#[cfg(test)]
mod virtual_time;
