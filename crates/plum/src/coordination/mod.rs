//! Bitrate state control (Plum, section III-D): which end of a client's channel is held to a bitrate, and how
//! both ends agree on it.
//!
//! The server decides ([`ServerControl`]), the client follows ([`ClientControl`]). What the server says is a
//! [`Notice`], which every media header towards the client repeats; what the client answers is the epoch of the
//! newest notice that it follows. Messages may be lost, come twice or overtake each other: at no time are both
//! ends constrained.

mod client;
mod epoch;
mod notice;
mod server;

pub use client::{ClientControl, DEFAULT_NOTICE_TIMEOUT};
pub use epoch::Epoch;
pub use notice::{MalformedNotice, NOTICE_BYTES, Notice};
pub use server::{Decision, ServerControl, State};
