//! The roles: server, player, bulk sender and receiver.
//!
//! Each is written once, against the `Runtime`, and runs as a daemon on real sockets and in the
//! laboratory in virtual time.

pub mod air_agent;
pub mod bulk;
pub mod cmcd;
pub mod content;
pub mod datagrams;
pub mod error;
pub mod http;
pub mod live;
pub mod media_path;
pub mod tiles;
pub mod vod;

pub use error::RoleError;
