//! HTTP/3 (RFC 9114) over our connections, by h3.

mod client;
mod server;
mod transport;

pub use client::{Body, H3Client};
pub use server::{H3Server, RequestBounds, Responder};

use crate::error::QuicError;

fn h3_error(e: impl std::fmt::Display) -> QuicError {
    QuicError::Http(e.to_string())
}
