//! Traffic without video: bulk transfers over QUIC and rows of datagrams, each with both of its ends.
//!
//! Both are written once, against the `Runtime`, for real sockets and for virtual time.

pub mod bulk;
pub mod datagrams;
mod error;

pub use error::TrafficError;
