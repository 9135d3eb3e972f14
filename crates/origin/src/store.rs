//! What a server has to offer: objects by their paths.
//!
//! A [`Store`] finds objects and reads their bytes. In the laboratory it is a
//! [`Library`](crate::Library) of chunk tables; a daemon's reads files. The origin is the same.

use std::fmt::Debug;
use std::future::{Future, ready};
use std::io;
use std::net::SocketAddr;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};

/// A future of a store.
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Object that is asked for, and the client that asks.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// The path of the URL as it came: it starts with a slash and has no query.
    pub path: &'a str,
    /// The query, without its question mark.
    pub query: Option<&'a str>,
    /// The fields of the request.
    pub fields: &'a HeaderMap,
    /// Address of the client.
    pub peer: SocketAddr,
}

/// Finds objects. One store serves any number of requests at a time.
pub trait Store: Send + Sync + Debug {
    /// Object that is asked for; `Ok(None)` if there is none.
    ///
    /// # Errors
    /// If what stands there cannot be opened; of the kind `PermissionDenied` if this client may not
    /// have it (403).
    fn find<'a>(&'a self, target: Target<'a>) -> StoreFuture<'a, io::Result<Option<Object>>>;
}

/// Reads the bytes of one object.
pub trait Source: Send + Sync + Debug {
    /// The bytes of `range`, which lies within the object and is not empty; fewer, but at least one,
    /// if that is cheaper.
    ///
    /// # Errors
    /// If they cannot be read, or the object is shorter than it was when it was found.
    fn read(&self, range: Range<u64>) -> StoreFuture<'_, io::Result<Bytes>>;
}

/// One object, found.
#[derive(Clone, Debug)]
pub struct Object {
    /// Its length in bytes.
    pub len: u64,
    /// Its media type, for `Content-Type`.
    pub media_type: &'static str,
    /// Version of the object, if it is known.
    pub version: Option<Version>,
    /// Directives on its caching, for `Cache-Control`; `None`: the header is not sent.
    pub caching: Option<&'static str>,
    /// Further fields of answers with it.
    pub fields: Vec<(HeaderName, HeaderValue)>,
    /// The part of a title that it is, if it is one.
    pub part: Option<Part>,
    /// Its bytes.
    pub source: Arc<dyn Source>,
}

/// Version of an object, which tells it from others (RFC 9110, section 8.8).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// A strong entity tag with its quotes.
    pub etag: String,
    /// Time of its last change, in whole seconds since 1970, if that is known.
    pub modified_s: Option<u64>,
}

/// Part of a title that an object is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The title's name.
    pub title: Arc<str>,
    /// Role of the object in the title.
    pub role: PartRole,
}

/// Role of an object in a title.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartRole {
    /// A chunk of the picture: its position in the ladder, lowest rate first, and its number, both
    /// from 0.
    Picture {
        /// Position in the ladder.
        rung: usize,
        /// Number of the chunk.
        chunk: usize,
    },
    /// A file of many chunks of the picture, of which requests name parts: its position in the
    /// ladder, and where each chunk begins, rising.
    Pictures {
        /// Position in the ladder.
        rung: usize,
        /// First byte of each chunk.
        begins: Arc<[u64]>,
    },
    /// Anything else that counts in the rate and not in the quality: sound, subtitles, headers.
    Other,
}

impl Part {
    /// The part that the bytes from `first` on are of.
    pub(crate) fn at(&self, first: u64) -> Self {
        let role = match (self.chunk_at(first, u64::MAX), &self.role) {
            (Some((rung, chunk, _)), _) => PartRole::Picture { rung, chunk },
            (None, PartRole::Pictures { .. }) => PartRole::Other,
            (None, role) => role.clone(),
        };
        Self { title: self.title.clone(), role }
    }

    /// The chunk of the picture that the byte `first` is of, in an object of `len` bytes: its position in
    /// the ladder, its number, and its bytes.
    pub(crate) fn chunk_at(&self, first: u64, len: u64) -> Option<(usize, usize, Range<u64>)> {
        match &self.role {
            PartRole::Picture { rung, chunk } => Some((*rung, *chunk, 0..len)),
            PartRole::Pictures { rung, begins } => {
                let after = begins.partition_point(|&begin| begin <= first);
                let chunk = after.checked_sub(1)?;
                let end = begins.get(after).copied().unwrap_or(len);
                Some((*rung, chunk, begins[chunk]..end))
            }
            PartRole::Other => None,
        }
    }
}

impl Source for Bytes {
    fn read(&self, range: Range<u64>) -> StoreFuture<'_, io::Result<Bytes>> {
        let at = |n: u64| usize::try_from(n).unwrap_or(usize::MAX).min(self.len());
        let piece = self.slice(at(range.start)..at(range.end));
        Box::pin(ready(Ok(piece)))
    }
}
