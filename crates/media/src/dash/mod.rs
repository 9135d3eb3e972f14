//! DASH manifests (ISO/IEC 23009-1) of titles on demand, as flat lists of chunks.
//!
//! [`parse`] reads what packagers write: every way to name chunks (`SegmentTemplate` with a
//! timeline or a duration, `SegmentList`, `SegmentBase` with an index in the file), inherited from
//! `Period` and `AdaptationSet`, with a `BaseURL` at every level. [`write()`] writes a [`Presentation`]
//! as a manifest that is read as an equal one. Nothing here touches a file or the network.
//!
//! Refused with the reason: `type="dynamic"` (live), more than one `Period` (each may have another
//! ladder and other initialisation segments, so that one list of chunks would not be sound), remote
//! elements (`xlink:href`; those that resolve to nothing are removed), a title of no length whose
//! chunks depend on it, and whatever exceeds a limit: 16 MiB of text, 32 levels, 1 000
//! representations, 100 000 chunks per representation and 1 000 000 in all, URLs of 2 048 bytes
//! (and as many of the base that they stand beside) and 256 MiB of them.
//!
//! Left out, with a note: adaptation sets and representations with an `EssentialProperty` that is
//! not known here, as the standard asks for (trick modes, thumbnails), and descriptive attributes
//! that make no sense (`frameRate="0/0"`). Left out: what is neither video, audio nor text.
//! `Period@start` does not count: times are from the start of the period. What `minBufferTime`
//! promises is handed on; `availabilityStartTime` and the like have no meaning on demand.
//!
//! Where there are several `BaseURL`s at one level, [`parse_alternative`] reads the title at another
//! place. [`Presentation::choose`] and [`Presentation::align`] leave the one ladder that a player
//! takes of several adaptation sets.

mod encoding;
mod ladder;
mod read;
mod segments;
mod template;
mod time;
mod write;
mod xml;

use std::fmt;
use std::time::Duration;

use airlane_base::{InputError, Rate};

use crate::mp4::Index;

pub use crate::byte_range::ByteRange;
pub use encoding::decode;
pub use ladder::codec_family;
pub use read::{parse, parse_alternative};
pub use write::write;
pub use xml::MAX_BYTES;

/// Chunks of one representation at most.
pub const MAX_CHUNKS: usize = crate::video::MAX_CHUNKS;

/// The quality table beside a manifest that names none.
pub const CHUNK_TABLE: &str = "quality.json";

/// The scheme of the property that names the quality table of a title (see
/// `docs/reference/chunk-tables.md`).
pub const CHUNK_TABLE_SCHEME: &str = "urn:airlane:chunks:1";

/// A title: its representations by kind, each list in rising order of bandwidth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Presentation {
    /// Duration of the title, if the manifest says it.
    pub duration: Option<Duration>,
    /// `minBufferTime`.
    pub min_buffer: Option<Duration>,
    /// URL of the quality table, relative to the manifest unless absolute. Without it a file
    /// `quality.json` beside the manifest is the convention.
    pub chunk_table: Option<String>,
    /// The encodings of the pictures.
    pub video: Vec<Representation>,
    /// The encodings of the sound.
    pub audio: Vec<Representation>,
    /// Subtitles and captions.
    pub text: Vec<Representation>,
    /// Places at which the title is said to be, at least 1: see [`parse_alternative`].
    pub alternatives: usize,
    /// Notes for people on what was left out of the title and why: a sentence each, without control
    /// characters.
    pub notes: Vec<String>,
}

impl Default for Presentation {
    fn default() -> Self {
        Self {
            duration: None,
            min_buffer: None,
            chunk_table: None,
            video: Vec::new(),
            audio: Vec::new(),
            text: Vec::new(),
            alternatives: 1,
            notes: Vec::new(),
        }
    }
}

impl Presentation {
    /// The representations of a kind.
    pub fn of(&self, kind: Kind) -> &[Representation] {
        match kind {
            Kind::Video => &self.video,
            Kind::Audio => &self.audio,
            Kind::Text => &self.text,
        }
    }

    fn list(&mut self, kind: Kind) -> &mut Vec<Representation> {
        match kind {
            Kind::Video => &mut self.video,
            Kind::Audio => &mut self.audio,
            Kind::Text => &mut self.text,
        }
    }

    /// All representations: video, audio, text.
    pub fn all(&self) -> impl Iterator<Item = &Representation> {
        Kind::ALL.into_iter().flat_map(|kind| self.of(kind))
    }
}

/// Kind of content of a representation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Pictures.
    Video,
    /// Sound.
    Audio,
    /// Subtitles and captions.
    Text,
}

impl Kind {
    /// All kinds, in the order of [`Presentation::all`].
    pub const ALL: [Self; 3] = [Self::Video, Self::Audio, Self::Text];

    /// As `contentType` has it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Video => "video",
            Self::Audio => "audio",
            Self::Text => "text",
        }
    }
}

/// One encoding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Representation {
    /// `id`.
    pub id: String,
    /// Number of its adaptation set in the manifest, from 0: players switch within a set. Sets
    /// between which the manifest lets them switch
    /// (`urn:mpeg:dash:adaptation-set-switching:2016`) count as the first of them.
    pub set: usize,
    /// Kind of its content.
    pub kind: Kind,
    /// MIME type without parameters, such as `video/mp4`; empty if the manifest does not say.
    pub mime: String,
    /// Codecs as RFC 6381 has them; empty if the manifest does not say.
    pub codecs: String,
    /// `bandwidth`: the rate at which it plays on after `minBufferTime`.
    pub bandwidth: Rate,
    /// Width in pixels.
    pub width: Option<u32>,
    /// Height in pixels.
    pub height: Option<u32>,
    /// Frames per second.
    pub frame_rate: Option<FrameRate>,
    /// Audio samples per second.
    pub sampling_hz: Option<u32>,
    /// Audio channels.
    pub channels: Option<u32>,
    /// Language as RFC 5646 has it.
    pub language: Option<String>,
    /// `Role` of its set, such as `main` or `alternate`, if it has one of the standard's scheme.
    pub role: Option<String>,
    /// True if its samples are encrypted (`ContentProtection`).
    pub is_protected: bool,
    /// The initialisation segment.
    pub init: Option<Object>,
    /// Ticks per second of the chunks' times, at least 1.
    pub timescale: u64,
    /// The tick at which the presentation begins (`presentationTimeOffset`).
    pub time_offset: u64,
    /// The index that names the chunks, until [`Representation::fill`] has read it.
    pub index: Option<Object>,
    /// The file that the index is of, if it is not the one that the index is in.
    pub indexed: Option<String>,
    /// True if the manifest lists no chunks and names no index, so that the one chunk is the whole
    /// file. That may have an index all the same: see [`Representation::found_index`].
    pub is_whole_file: bool,
    /// The chunks in their order. Empty only if there is an index.
    pub chunks: Vec<Chunk>,
}

impl Representation {
    /// An MP4 encoding in the first set of its manifest, of which nothing more is known: without
    /// chunks, and with a bandwidth of 0, which is to be set. `timescale` is in ticks per second.
    pub fn new(
        id: impl Into<String>,
        kind: Kind,
        codecs: impl Into<String>,
        timescale: u64,
    ) -> Self {
        Self {
            id: id.into(),
            set: 0,
            kind,
            mime: format!("{}/mp4", kind.name()),
            codecs: codecs.into(),
            bandwidth: Rate::ZERO,
            width: None,
            height: None,
            frame_rate: None,
            sampling_hz: None,
            channels: None,
            language: None,
            role: None,
            is_protected: false,
            init: None,
            timescale,
            time_offset: 0,
            index: None,
            indexed: None,
            is_whole_file: false,
            chunks: Vec::new(),
        }
    }

    /// Start of a chunk, counted from the beginning of the presentation; `None` if there is no such
    /// chunk. A chunk that begins before the presentation does counts from its beginning.
    pub fn start(&self, chunk: usize) -> Option<Duration> {
        let time = self.chunks.get(chunk)?.time;
        Some(self.ticks(time.saturating_sub(self.time_offset)))
    }

    /// Duration of a chunk, `None` if there is no such chunk.
    pub fn duration(&self, chunk: usize) -> Option<Duration> {
        Some(self.ticks(self.chunks.get(chunk)?.duration))
    }

    /// Duration of all chunks together.
    pub fn total(&self) -> Duration {
        self.ticks(self.chunks.iter().fold(0, |sum, c| sum.saturating_add(c.duration)))
    }

    fn ticks(&self, ticks: u64) -> Duration {
        let nanos = u128::from(ticks) * 1_000_000_000 / u128::from(self.timescale.max(1));
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// End of the last chunk, counted from the beginning of the presentation.
    pub fn end(&self) -> Duration {
        let end = self.chunks.last().map_or(0, |c| c.time.saturating_add(c.duration));
        self.ticks(end.saturating_sub(self.time_offset))
    }

    /// The MIME type, if it is one of WebM.
    pub fn webm(&self) -> Option<&str> {
        Some(self.mime.as_str()).filter(|m| m.ends_with("/webm") || m.ends_with("/x-matroska"))
    }

    /// Notes the index that was found in a file of which the manifest says no more than that it is
    /// one ([`Representation::is_whole_file`], [`crate::mp4::find_index`]).
    pub fn found_index(&mut self, range: ByteRange) {
        let Some(file) = self.chunks.first().map(|c| c.object.url.clone()) else { return };
        let before = ByteRange { offset: 0, length: range.offset };
        if range.offset > 0 {
            self.init.get_or_insert_with(|| Object { url: file.clone(), range: Some(before) });
        }
        self.index = Some(Object { url: file, range: Some(range) });
        self.chunks.clear();
        self.is_whole_file = false;
    }

    /// Lists the chunks that the index names: `bytes` is what lies at [`Representation::index`].
    ///
    /// # Errors
    /// Without an index, with a broken one or one of WebM, and if it leads beyond the 2^63rd byte.
    pub fn fill(&mut self, bytes: &[u8]) -> Result<(), InputError> {
        let Some(at) = &self.index else {
            return Err(InputError::new("no index", "expected a representation with one"));
        };
        if let Some(mime) = self.webm() {
            return Err(InputError::new(
                format!("{mime} with an index, which is not read"),
                "expected MP4, or chunks that the manifest lists",
            )
            .at_key(format!("Representation {}", self.id)));
        }
        let (index, end) = Index::read(bytes)?;
        let beyond = || InputError::new("parts beyond the end of any file", "expected an index");
        // Parts are counted from the end of the index, or from the beginning of another file (ISO/IEC
        // 23009-1, section 6.3.4.1).
        let (media, anchor) = match &self.indexed {
            Some(media) => (media, Some(0)),
            None => (&at.url, at.range.map_or(0, |r| r.offset).checked_add(end)),
        };
        let mut offset = anchor.and_then(|o| o.checked_add(index.gap_bytes)).ok_or_else(beyond)?;
        let mut time = index.earliest;
        let mut chunks = Vec::with_capacity(index.parts.len());
        for part in &index.parts {
            let length = u64::from(part.bytes);
            chunks.push(Chunk {
                object: Object { url: media.clone(), range: Some(ByteRange { offset, length }) },
                time,
                duration: u64::from(part.duration),
            });
            offset = offset.checked_add(length).filter(|o| *o < 1 << 63).ok_or_else(beyond)?;
            time = time.checked_add(u64::from(part.duration)).ok_or_else(beyond)?;
        }
        // The offset is given in the ticks of the manifest, the chunks in those of the index.
        let offset = u128::from(self.time_offset) * u128::from(index.timescale);
        let offset = offset / u128::from(self.timescale.max(1));
        self.time_offset = u64::try_from(offset).map_err(|_| beyond())?;
        self.timescale = u64::from(index.timescale);
        self.chunks = chunks;
        (self.index, self.indexed) = (None, None);
        Ok(())
    }
}

/// A part of a representation that is fetched as one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Location of the chunk.
    pub object: Object,
    /// Start, ticks of the track.
    pub time: u64,
    /// Duration, ticks.
    pub duration: u64,
}

/// A file or a part of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// Relative to the manifest, or absolute.
    pub url: String,
    /// Range of its bytes; all without.
    pub range: Option<ByteRange>,
}

/// Frames per second as a fraction, such as 30000/1001.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameRate {
    /// Frames, at least 1.
    pub frames: u32,
    /// In so many seconds, at least 1.
    pub seconds: u32,
}

impl FrameRate {
    /// The rate of frames so far apart, of which the time was rounded or cut to microseconds: a whole number
    /// per second or per 1001 ms (as of television, 30000/1001) where one gives this time, so that hours
    /// of frames drift by nothing.
    pub fn of_frame_time(frame_time: Duration) -> Self {
        let micros = u32::try_from(frame_time.as_micros()).unwrap_or(u32::MAX).max(1);
        let gives = |rate: &Self| {
            let exact = 1e6 * f64::from(rate.seconds) / f64::from(rate.frames);
            (exact.floor()..=exact.ceil()).contains(&f64::from(micros))
        };
        let per_second = (1e6 / f64::from(micros)).round() as u32;
        let television = (1.001e6 / f64::from(micros)).round() as u32;
        let known = [(per_second, 1), (television.saturating_mul(1_000), 1_001)];
        let known = known.into_iter().filter(|(frames, _)| *frames > 0);
        let mut known = known.map(|(frames, seconds)| Self { frames, seconds });
        known.find(gives).unwrap_or(Self { frames: 1_000_000, seconds: micros })
    }

    /// Frames per second.
    pub fn as_f64(self) -> f64 {
        f64::from(self.frames) / f64::from(self.seconds)
    }
}

impl fmt::Display for FrameRate {
    /// As a manifest has it, such as `25` or `30000/1001`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.seconds {
            1 => write!(f, "{}", self.frames),
            seconds => write!(f, "{}/{seconds}", self.frames),
        }
    }
}
