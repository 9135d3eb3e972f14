//! A corpus: the videos of a folder, or those that come with Airlane.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use airlane_base::{Fnv64, InputError};

use crate::dash::CHUNK_TABLE;
use crate::table::{self, Table, Traps};
use crate::video::Video;

include!(concat!(env!("OUT_DIR"), "/tables.rs"));

/// One video of a corpus.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The video.
    pub video: Arc<Video>,
    /// The file it was read from, or the name of the embedded table.
    pub origin: PathBuf,
    /// Faults that were mended while it was read.
    pub traps: Traps,
}

/// Videos of different names, in the order of their files.
#[derive(Clone, Debug)]
pub struct Corpus {
    /// Name for people: the folder, or `embedded`.
    pub name: String,
    /// Its videos; never empty.
    pub entries: Vec<Entry>,
}

impl Corpus {
    /// The corpus that comes with Airlane.
    ///
    /// # Errors
    /// If this build has no tables.
    pub fn embedded() -> Result<Self, InputError> {
        if TABLES.is_empty() {
            return Err(InputError::new(
                "this build has no content tables (corpus/tables was empty)",
                "name a folder with --content DIR, or make the corpus and build again",
            ));
        }
        let tables = TABLES.iter().map(|(name, bytes)| {
            let table = table::parse(bytes).map_err(|e| e.at_file(name))?;
            Ok((PathBuf::from(name), table))
        });
        Self::from_tables("embedded", tables.collect::<Result<_, InputError>>()?)
    }

    /// The corpus of a folder: each `*.json` and `*.json.gz` in it is a table in one of the
    /// formats of [`table`], and so is a `quality.json` in a folder within it, as a folder of
    /// packed titles has them. Everything else is left alone.
    ///
    /// # Errors
    /// If the folder cannot be read, holds no table, or one of its tables is refused.
    pub fn load_dir(dir: impl AsRef<Path>) -> Result<Self, InputError> {
        let dir = dir.as_ref();
        let io = |e| InputError::io(dir, "read the content folder", &e);
        let mut files = Vec::new();
        for entry in fs::read_dir(dir).map_err(io)? {
            let path = entry.map_err(io)?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let of_title = path.join(CHUNK_TABLE);
            if (name.ends_with(".json") || name.ends_with(".json.gz")) && path.is_file() {
                files.push(path);
            } else if of_title.is_file() {
                files.push(of_title);
            }
        }
        if files.is_empty() {
            return Err(InputError::new(
                "no table in this folder",
                "expected *.json, *.json.gz or */quality.json, see docs/reference/chunk-tables.md",
            )
            .at_file(dir));
        }
        files.sort();
        let tables = files.into_iter().map(|f| Ok((f.clone(), table::load(&f)?)));
        Self::from_tables(&dir.display().to_string(), tables.collect::<Result<_, InputError>>()?)
    }

    /// A corpus of videos that are at hand, such as [`crate::synthetic::corpus`].
    ///
    /// # Errors
    /// If there is no video, one is not sound ([`Video::check`]), or two share a name.
    pub fn from_videos(name: &str, videos: Vec<Arc<Video>>) -> Result<Self, InputError> {
        videos.iter().try_for_each(|v| v.check())?;
        Self::from_entries(
            name,
            videos
                .into_iter()
                .map(|video| Entry {
                    origin: PathBuf::from(&video.name),
                    video,
                    traps: Traps::default(),
                })
                .collect(),
        )
    }

    fn from_tables(name: &str, tables: Vec<(PathBuf, Table)>) -> Result<Self, InputError> {
        let entry =
            |(origin, Table { video, traps })| Entry { video: Arc::new(video), origin, traps };
        Self::from_entries(name, tables.into_iter().map(entry).collect())
    }

    fn from_entries(name: &str, entries: Vec<Entry>) -> Result<Self, InputError> {
        if entries.is_empty() {
            return Err(InputError::new("a corpus without videos", "expected at least one"));
        }
        let mut seen: BTreeMap<&str, &Path> = BTreeMap::new();
        for e in &entries {
            if let Some(other) = seen.insert(&e.video.name, &e.origin) {
                return Err(InputError::new(
                    format!("{:?} is the name of {} too", e.video.name, other.display()),
                    "expected every video of a corpus to have a name of its own",
                )
                .at_file(&e.origin)
                .at_key("video"));
            }
        }
        Ok(Self { name: name.to_owned(), entries })
    }

    /// The same with every video cut to at most `chunks` chunks.
    ///
    /// # Panics
    /// If `chunks` is zero.
    #[must_use]
    pub fn cut_to(mut self, chunks: usize) -> Self {
        for entry in self.entries.iter_mut().filter(|e| e.video.chunks() > chunks) {
            entry.video = Arc::new(entry.video.cut_to(chunks));
        }
        self
    }

    /// The videos.
    pub fn videos(&self) -> impl ExactSizeIterator<Item = &Arc<Video>> {
        self.entries.iter().map(|e| &e.video)
    }

    /// The video called `name`.
    pub fn video(&self, name: &str) -> Option<&Arc<Video>> {
        self.videos().find(|v| v.name == name)
    }

    /// A hash over [`Video::content_hash`] of all videos: what a result's provenance names.
    pub fn content_hash(&self) -> u64 {
        let mut h = Fnv64::new();
        self.videos().for_each(|v| h.write_u64(v.content_hash()));
        h.finish()
    }

    /// Warnings about faults that had to be mended, one line per kind of fault.
    pub fn warnings(&self) -> Vec<String> {
        let hit = |count: fn(&Traps) -> usize| -> (usize, String) {
            let hit: Vec<&Entry> = self.entries.iter().filter(|e| count(&e.traps) > 0).collect();
            let names: Vec<&str> = hit.iter().take(4).map(|e| e.video.name.as_str()).collect();
            let more = hit.len().saturating_sub(names.len());
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let total: usize = hit.iter().map(|e| count(&e.traps)).sum();
            (total, format!("{}{more}", names.join(", ")))
        };
        let mut lines = Vec::new();
        let (chunks, videos) = hit(|t| t.interpolated_chunks);
        if chunks > 0 {
            lines.push(format!(
                "NaN qualities in {} of {videos} were interpolated over the rungs",
                plural(chunks, "chunk")
            ));
        }
        let (chunks, videos) = hit(|t| t.dropped_chunks);
        if chunks > 0 {
            lines.push(format!("short last chunks of {videos} were dropped ({chunks} in all)"));
        }
        for e in &self.entries {
            for key in &e.traps.unknown_keys {
                lines.push(format!("{}: {key}: not known here, left out", e.origin.display()));
            }
        }
        lines
    }
}

fn plural(n: usize, what: &str) -> String {
    if n == 1 { format!("{n} {what}") } else { format!("{n} {what}s") }
}
