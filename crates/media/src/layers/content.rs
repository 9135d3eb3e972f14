//! The clips of a folder, or those that come with Airlane.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use airlane_base::{Fnv64, InputError};

use super::clouds;
use super::packed::Packed;
use super::recorded::{self, Recorded};
use super::single::LAYERED_OVERHEAD;
use super::table::{self, WHAT};
use super::{LayeredVideo, SingleEncoding, SingleLadder};
use crate::table::text_of;

include!(concat!(env!("OUT_DIR"), "/layers.rs"));
include!(concat!(env!("OUT_DIR"), "/clouds.rs"));

/// Clips of different names, in the order of their names.
#[derive(Clone, Debug)]
pub struct LayerContent {
    /// Name for people: the folder, or `embedded`.
    pub name: String,
    /// Its clips; never empty.
    pub videos: Vec<Arc<LayeredVideo>>,
}

/// The endings of recorded files, of quality and of temporal layers and of all.
const QUALITY: &str = "-quality.trace";
const TEMPORAL: &str = "-temp.trace";
const RECORDED: &str = ".trace";
/// The ending of packed layered videos.
const PACKED: &str = ".layers";

impl LayerContent {
    /// The clips that come with Airlane.
    ///
    /// # Errors
    /// If this build has none.
    pub fn embedded() -> Result<Self, InputError> {
        if LAYERS.is_empty() && CLOUDS.is_empty() {
            return Err(InputError::new(
                "this build has no tables of layers (corpus/layers and corpus/clouds were empty)",
                "name a folder with --content DIR, or make the tables and build again",
            ));
        }
        let mut clips = Clips::default();
        for (name, bytes) in LAYERS.iter().chain(CLOUDS) {
            clips.add(name, bytes).map_err(|e| e.at_file(name))?;
        }
        clips.finish("embedded")
    }

    /// The clips of a folder: each `*.json` and `*.json.gz` in it is a table of one of our own formats,
    /// each `NAME-quality.trace`, `NAME-temp.trace` and other `NAME.trace`, of point clouds, gzipped or
    /// not, one that was recorded; of one name these are one clip. Of `*.layers`, packed layered videos, the
    /// tables are read. Everything else is left alone.
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
            let is_clip = name.ends_with(PACKED) || Kind::of(&name).is_some();
            if is_clip && path.is_file() {
                files.push((name, path));
            }
        }
        files.sort();
        let mut clips = Clips::default();
        for (name, path) in files {
            if name.ends_with(PACKED) {
                let video = Packed::open(&path)?.into_video();
                clips.insert(video).map_err(|e| e.at_file(&path))?;
                continue;
            }
            let bytes = fs::read(&path).map_err(|e| InputError::io(&path, "read the table", &e))?;
            clips.add(&name, &bytes).map_err(|e| e.at_file(&path))?;
        }
        clips.finish(&dir.display().to_string()).map_err(|e| e.at_file(dir))
    }

    /// The place of the clip called `name`.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.videos.iter().position(|video| video.name == name)
    }

    /// A hash over [`LayeredVideo::content_hash`] of all clips.
    pub fn content_hash(&self) -> u64 {
        let mut h = Fnv64::new();
        self.videos.iter().for_each(|video| h.write_u64(video.content_hash()));
        h.finish()
    }
}

/// Kind of a file, by its name, with the name of its clip if the file does not say one.
enum Kind<'a> {
    Table,
    Recorded(&'a str),
    Clouds(&'a str),
}

impl<'a> Kind<'a> {
    fn of(name: &'a str) -> Option<Self> {
        let name = name.strip_suffix(".gz").unwrap_or(name);
        if name.ends_with(".json") {
            return Some(Self::Table);
        }
        let layers = name.strip_suffix(QUALITY).or_else(|| name.strip_suffix(TEMPORAL));
        let kind =
            layers.map(Self::Recorded).or_else(|| name.strip_suffix(RECORDED).map(Self::Clouds))?;
        let (Self::Recorded(stem) | Self::Clouds(stem)) = kind else { return None };
        (!stem.is_empty()).then_some(kind)
    }
}

/// Clips by name.
#[derive(Default)]
struct Clips(BTreeMap<String, LayeredVideo>);

impl Clips {
    fn add(&mut self, name: &str, bytes: &[u8]) -> Result<(), InputError> {
        let text = text_of(bytes, WHAT)?;
        let stem = match Kind::of(name) {
            Some(Kind::Recorded(stem)) => stem,
            Some(Kind::Clouds(stem)) => return self.insert(clouds_of(stem, &text)?),
            _ => return self.insert(table::parse(&text)?),
        };
        let video = self.0.entry(stem.to_owned()).or_insert_with(|| LayeredVideo {
            fps: recorded::FPS,
            derived: true,
            ..recorded_video(stem)
        });
        let had = match recorded::parse(&text)? {
            Recorded::Quality(table) => {
                video.single = Some(SingleLadder::of_quality(&table, video.fps, LAYERED_OVERHEAD));
                video.quality.replace(table).is_some()
            }
            Recorded::Temporal(table) => {
                video.single_quantiser = Some(SingleEncoding::of_temporal(&table, video.fps));
                video.temporal.replace(table).is_some()
            }
        };
        if had || !video.derived { Err(twice()) } else { Ok(()) }
    }

    /// Adds a clip that is whole.
    fn insert(&mut self, video: LayeredVideo) -> Result<(), InputError> {
        match self.0.insert(video.name.clone(), video) {
            Some(_) => Err(twice()),
            None => Ok(()),
        }
    }

    fn finish(self, name: &str) -> Result<LayerContent, InputError> {
        if self.0.is_empty() {
            return Err(InputError::new(
                "no table of layers in this folder",
                "expected *.json, *.json.gz, *.trace.gz or *.layers, see \
                 docs/reference/layer-tables.md",
            ));
        }
        for video in self.0.values() {
            video.check().map_err(|e| e.at_key(&video.name))?;
        }
        let videos = self.0.into_values().map(Arc::new).collect();
        Ok(LayerContent { name: name.to_owned(), videos })
    }
}

/// A clip of which nothing was read yet.
fn recorded_video(name: &str) -> LayeredVideo {
    LayeredVideo {
        name: name.to_owned(),
        title: name.to_owned(),
        source: "recorded by the authors of Octopus".to_owned(),
        ..LayeredVideo::default()
    }
}

/// A recorded clip of point clouds.
fn clouds_of(name: &str, text: &str) -> Result<LayeredVideo, InputError> {
    let clouds = Some(clouds::recorded::parse(text)?);
    Ok(LayeredVideo { fps: clouds::recorded::FPS, clouds, ..recorded_video(name) })
}

fn twice() -> InputError {
    InputError::new("another table has this clip too", "expected every clip of a folder once")
}
