//! The laboratory's store: titles of which only the sizes of segments are known. Their bytes come from a
//! [`Pattern`].

use std::collections::BTreeMap;
use std::future::ready;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use airlane_base::Pattern;
use airlane_media::Video;
use airlane_media::name::in_url;
use bytes::Bytes;

use crate::store::{Object, Part, PartRole, Source, Store, StoreFuture, Target};

impl Source for Pattern {
    fn read(&self, range: Range<u64>) -> StoreFuture<'_, io::Result<Bytes>> {
        let piece = self.pieces(range, u64::MAX).next().unwrap_or_default();
        Box::pin(ready(Ok(piece)))
    }
}

/// Path element under which a title's further objects are found.
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

    /// Object at `path`, without its query. A title's name may contain slashes.
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
