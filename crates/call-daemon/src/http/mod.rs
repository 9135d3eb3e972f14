//! Server of the pages and of signalling, over HTTP/1.1.

pub(crate) mod connections;
pub(crate) mod offer_limiter;
pub(crate) mod pages;
mod routes;
pub(crate) mod signalling;

use bytes::Bytes;
use http::Response;
use http_body_util::Full;

/// An answer.
pub(crate) type Answer = Response<Full<Bytes>>;
