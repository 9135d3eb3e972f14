//! HTTP/3 (RFC 9114) over our connections, by h3.

mod body;
mod client;
mod control_frames;
mod message;
mod priorities;
mod server;
mod transport;

pub use client::{Body, H3Client};
pub use control_frames::{ControlFault, ControlFrames};
pub use message::{Malformed, MessageKind, MessageReader};
pub use server::{H3Server, RequestBounds, Responder};

use crate::error::QuicError;

/// HTTP/3's code for a connection that is closed in good order (RFC 9114, section 8.1).
pub const H3_NO_ERROR: u32 = 0x100;

fn h3_error(e: impl std::fmt::Display) -> QuicError {
    let said = e.to_string();
    // What a transport says is undefined to h3, and well known here.
    QuicError::Http(said.strip_prefix("Undefined error: ").unwrap_or(&said).to_owned())
}
