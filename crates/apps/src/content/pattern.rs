//! The laboratory's store: titles of which only the sizes of chunks are known.
//!
//! Their bytes come from a fixed pattern that both ends know, so that a receiver compares every byte
//! that it gets with the byte that it should get.

use std::collections::BTreeMap;
use std::future::ready;
use std::io;
use std::ops::Range;
use std::sync::{Arc, LazyLock};

use airlane_media::Video;
use airlane_media::name::in_url;
use bytes::Bytes;
use rand::Rng as _;

use super::{Object, Part, PartRole, Source, Store, StoreFuture, Target};

/// Length of the pattern: long enough that no two neighbouring packets look alike, and a prime,
/// so that the objects start at different places of it. Where it ends a piece of a body ends too,
/// and with it a frame.
const PATTERN_BYTES: usize = 1_048_573;

static BYTES: LazyLock<Bytes> = LazyLock::new(|| {
    let mut pattern = vec![0; PATTERN_BYTES];
    airlane_base::Seed(0x41_49_52).rng().fill_bytes(&mut pattern);
    Bytes::from(pattern)
});

/// A body of known length with bytes from the pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// Where in the pattern it starts.
    offset: u64,
    /// Its length in bytes.
    len: u64,
}

impl Pattern {
    /// The body called `name`, of `len` bytes.
    pub fn new(name: &str, len: u64) -> Self {
        let mut h = airlane_base::Fnv64::new();
        h.write(name.as_bytes());
        Self { offset: h.finish() % PATTERN_BYTES as u64, len }
    }

    /// Length in bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The bytes of `range`, cut to the body, in pieces of at most `most` bytes without copying.
    pub fn pieces(&self, range: Range<u64>, most: u64) -> impl Iterator<Item = Bytes> + use<> {
        let offset = self.offset;
        let end = range.end.min(self.len);
        let mut at = range.start;
        std::iter::from_fn(move || {
            let start = ((offset + at) % PATTERN_BYTES as u64) as usize;
            let len = end.saturating_sub(at).min(most).min((PATTERN_BYTES - start) as u64);
            if len == 0 {
                return None;
            }
            at += len;
            Some(BYTES.slice(start..start + len as usize))
        })
    }

    /// Whether `bytes` are what the body has from `at` on.
    pub fn matches(&self, at: u64, bytes: &[u8]) -> bool {
        let mut rest = bytes;
        if at + bytes.len() as u64 > self.len {
            return false;
        }
        for piece in self.pieces(at..at + bytes.len() as u64, u64::MAX) {
            let (head, tail) = rest.split_at(piece.len());
            if head != &piece[..] {
                return false;
            }
            rest = tail;
        }
        true
    }
}

impl Source for Pattern {
    fn read(&self, range: Range<u64>) -> StoreFuture<'_, io::Result<Bytes>> {
        let piece = self.pieces(range, u64::MAX).next().unwrap_or_default();
        Box::pin(ready(Ok(piece)))
    }
}

/// Where a title's further objects stand.
const OPENING: &str = "opening";

/// The titles of a server, by their names as URLs have them.
#[derive(Clone, Debug, Default)]
pub struct Library {
    titles: BTreeMap<Arc<str>, Arc<Video>>,
    opening_bytes: Vec<u64>,
}

impl Library {
    /// A library of these videos.
    pub fn new(videos: impl IntoIterator<Item = Arc<Video>>) -> Self {
        let titles = videos.into_iter().map(|v| (in_url(&v.name).into(), v)).collect();
        Self { titles, opening_bytes: Vec::new() }
    }

    /// The same, where each title has further objects of these sizes, such as a manifest and the
    /// header of a track.
    #[must_use]
    pub fn with_opening(self, opening_bytes: Vec<u64>) -> Self {
        Self { opening_bytes, ..self }
    }

    /// The title called `name`.
    pub fn title(&self, name: &str) -> Option<&Arc<Video>> {
        self.titles.get(in_url(name).as_ref())
    }

    /// The path of a chunk.
    pub fn path(video: &Video, rung: usize, chunk: usize) -> String {
        format!("/{}/{rung}/{chunk}.m4s", in_url(&video.name))
    }

    /// The path of the `i`-th further object of a title.
    pub fn opening_path(video: &Video, i: usize) -> String {
        format!("/{}/{OPENING}/{i}.m4s", in_url(&video.name))
    }

    /// What stands at `path`, without its query. A title's name may contain slashes.
    fn object(&self, path: &str) -> Option<Object> {
        let mut parts = path.strip_prefix('/')?.rsplitn(3, '/');
        let number: usize = parts.next()?.strip_suffix(".m4s")?.parse().ok()?;
        let of = parts.next()?;
        let video = self.titles.get(parts.next()?)?;
        let (len, role) = if of == OPENING {
            (*self.opening_bytes.get(number)?, PartRole::Other)
        } else {
            let (rung, chunk) = (of.parse().ok()?, number);
            if rung >= video.rungs.len() || chunk >= video.chunks() {
                return None;
            }
            (video.size_bytes(rung, chunk), PartRole::Picture { rung, chunk })
        };
        Some(Object {
            len,
            media_type: "video/iso.segment",
            version: None,
            caching: None,
            fields: Vec::new(),
            part: Some(Part { title: video.name.as_str().into(), role }),
            source: Arc::new(Pattern::new(path, len)),
        })
    }
}

impl Store for Library {
    fn find<'a>(&'a self, target: Target<'a>) -> StoreFuture<'a, io::Result<Option<Object>>> {
        Box::pin(ready(Ok(self.object(target.path))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_make_up_the_body_and_match_it_anywhere() {
        let body = Pattern::new("/a/0/0.m4s", 3_000_000);
        let all: Vec<u8> = body.pieces(0..body.len(), 65_536).flatten().collect();
        assert_eq!(all.len(), 3_000_000);
        assert!(body.matches(0, &all));
        assert!(body.matches(1_048_000, &all[1_048_000..1_050_000]));
        assert!(!body.matches(1, &all[..100]), "other bytes");
        assert!(!body.matches(2_999_999, &all[..2]), "past the end");
        let range: Vec<u8> = body.pieces(10..20, 3).flatten().collect();
        assert_eq!(range, &all[10..20]);
        assert_eq!(
            body.pieces(5..99_999_999, u64::MAX).map(|p| p.len() as u64).sum::<u64>(),
            2_999_995
        );
    }
}
