//! The places that a title is at: one presentation for each, loaded when it is needed.

use std::sync::Arc;

use airlane_base::InputError;
use airlane_media::dash::{self, ByteRange, Kind, Object, Presentation, Representation};
use airlane_media::mp4::{IndexSearch, find_index};
use parking_lot::Mutex;

use crate::error::DaemonError;
use airlane_http_client::{Client, FetchError, Url};

/// Index segments of more bytes are refused.
const MAX_INDEX_BYTES: usize = 16 << 20;
/// Bytes of a file in which its index is looked for at a time: the heads of most films are smaller.
const LOOKED_AT_BYTES: u64 = 16 << 10;
/// Maximum number of reads for the index before the file is taken as one chunk.
const MAX_LOOKS: usize = 8;

/// One part of a title.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TitlePart {
    /// The initialisation segment of a rung.
    Init(Kind, usize),
    /// A chunk of a rung.
    Chunk(Kind, usize, usize),
}

impl TitlePart {
    /// Object of the part, if there is such a part.
    pub(super) fn of(self, presentation: &Presentation) -> Option<&Object> {
        match self {
            Self::Init(kind, rung) => presentation.of(kind).get(rung)?.init.as_ref(),
            Self::Chunk(kind, rung, chunk) => {
                Some(&presentation.of(kind).get(rung)?.chunks.get(chunk)?.object)
            }
        }
    }
}

/// The places that a title is at.
#[derive(Debug)]
pub(super) struct Sources {
    url: Url,
    text: String,
    /// Number of base URLs from which the title can be had.
    alternatives: usize,
    /// The one that worked last, and its number.
    current: Mutex<(usize, Arc<Presentation>)>,
}

impl Sources {
    /// Loads the first place whose indices can be read.
    pub(super) async fn load(
        client: &Client,
        url: &Url,
        text: String,
    ) -> Result<Self, DaemonError> {
        let mut number = 0;
        loop {
            match load(client, url, &text, number).await {
                Ok(presentation) => {
                    let alternatives = presentation.alternatives;
                    let current = Mutex::new((number, Arc::new(presentation)));
                    return Ok(Self { url: url.clone(), text, alternatives, current });
                }
                Err((e, alternatives)) if number + 1 < alternatives => {
                    tracing::warn!("{e}: trying the next BaseURL");
                    number += 1;
                }
                Err((e, _)) => return Err(e),
            }
        }
    }

    /// Number of base URLs from which the title can be had, at least 1.
    pub(super) fn alternatives(&self) -> usize {
        self.alternatives
    }

    /// The place that worked last, and its number.
    pub(super) fn current(&self) -> (usize, Arc<Presentation>) {
        self.current.lock().clone()
    }

    /// Takes another place from now on.
    pub(super) fn settle(&self, number: usize, presentation: Arc<Presentation>) {
        *self.current.lock() = (number, presentation);
    }

    /// The title at the place of that number, if it is the same title there: of as many rungs, and
    /// as many chunks in each.
    pub(super) async fn at(&self, client: &Client, number: usize) -> Option<Arc<Presentation>> {
        let (at, known) = self.current();
        if at == number {
            return Some(known);
        }
        let other = match load(client, &self.url, &self.text, number).await {
            Ok(presentation) => presentation,
            Err((e, _)) => {
                tracing::debug!("BaseURL {number}: {e}");
                return None;
            }
        };
        let shape = |p: &Presentation| -> Vec<(Kind, String, usize)> {
            let all = p.video.iter().chain(&p.audio);
            all.map(|r| (r.kind, r.id.clone(), r.chunks.len())).collect()
        };
        (shape(&other) == shape(&known)).then(|| Arc::new(other))
    }
}

/// The title at one of its places, with one ladder of video and one of audio, and the chunks that
/// the indices name. An error comes with the number of places.
async fn load(
    client: &Client,
    url: &Url,
    text: &str,
    number: usize,
) -> Result<Presentation, (DaemonError, usize)> {
    let at_manifest = |e: InputError| DaemonError::from(e.at_file(url.to_string()));
    let mut title = dash::parse_alternative(text, number).map_err(|e| (at_manifest(e), 1))?;
    let alternatives = title.alternatives;
    let kinds = [Kind::Video, Kind::Audio];
    for kind in kinds {
        title.choose(kind);
    }
    for of in title.video.iter_mut().chain(&mut title.audio) {
        let indexed = index(client, url, of).await;
        indexed.map_err(|e| (e, alternatives))?;
    }
    for kind in kinds {
        title.align(kind);
    }
    if title.video.iter().all(|r| r.chunks.is_empty()) {
        let e = InputError::new("no video", "expected a manifest with chunks of video");
        return Err((at_manifest(e), alternatives));
    }
    Ok(title)
}

/// Lists the chunks that the index of a representation names.
async fn index(client: &Client, url: &Url, of: &mut Representation) -> Result<(), DaemonError> {
    if of.is_whole_file && of.webm().is_none() {
        match found_index(client, url, of).await? {
            Some(range) => of.found_index(range),
            None => tracing::warn!(
                "{url}: Representation {:?} has no index: the file is fetched as one chunk",
                of.id
            ),
        }
    }
    let Some(index) = of.index.clone() else { return Ok(()) };
    if of.webm().is_some() {
        // Refused for what it is, whatever is there.
        of.fill(&[]).map_err(|e| e.at_file(url.to_string()))?;
    }
    let at = url.join(&index.url)?;
    let (bytes, _) = client.get_all(&at, index.range.map(first_and_last), MAX_INDEX_BYTES).await?;
    of.fill(&bytes).map_err(|e| e.at_file(at.to_string()))?;
    Ok(())
}

/// Finds the index of a file whose manifest does not give its range.
async fn found_index(
    client: &Client,
    url: &Url,
    of: &Representation,
) -> Result<Option<ByteRange>, FetchError> {
    let Some(chunk) = of.chunks.first() else { return Ok(None) };
    let at = url.join(&chunk.object.url)?;
    // What initialises comes first; a box begins where it ends.
    let before = of.init.as_ref().filter(|init| init.url == chunk.object.url);
    let mut offset = before.and_then(|init| init.range).map_or(0, |r| r.offset + r.length);
    for _ in 0..MAX_LOOKS {
        let range = ByteRange { offset, length: LOOKED_AT_BYTES };
        let looked = client.get_all(&at, Some(first_and_last(range)), MAX_INDEX_BYTES).await;
        let bytes = match looked {
            Ok((bytes, _)) => bytes,
            // Where the file has ended there is no index.
            Err(FetchError::Status { status, .. })
                if status == http::StatusCode::RANGE_NOT_SATISFIABLE =>
            {
                return Ok(None);
            }
            Err(e) => return Err(e),
        };
        match find_index(&bytes, offset) {
            IndexSearch::Found(range) => return Ok(Some(range)),
            IndexSearch::Beyond(next) if next > offset => offset = next,
            IndexSearch::Beyond(_) | IndexSearch::Nothing => return Ok(None),
        }
    }
    Ok(None)
}

/// A range as [`Client`] takes it.
pub(super) fn first_and_last(range: ByteRange) -> (u64, u64) {
    (range.offset, range.offset.saturating_add(range.length.max(1) - 1))
}
