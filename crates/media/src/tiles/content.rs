//! The 360-degree videos of a folder, or those that come with Airlane.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use airlane_base::{Fnv64, InputError};

use super::{TiledVideo, parse};

include!(concat!(env!("OUT_DIR"), "/tiles.rs"));

/// 360-degree videos of different names, in the order of their files.
#[derive(Clone, Debug)]
pub struct TileContent {
    /// Name for people: the folder, or `embedded`.
    pub name: String,
    /// Its videos; never empty.
    pub videos: Vec<Arc<TiledVideo>>,
}

impl TileContent {
    /// The videos that come with Airlane.
    ///
    /// # Errors
    /// If this build has none.
    pub fn embedded() -> Result<Self, InputError> {
        if TILES.is_empty() {
            return Err(InputError::new(
                "this build has no tables of tiles (corpus/tiles was empty)",
                "name a folder with --content DIR, or make the tables and build again",
            ));
        }
        let videos = TILES.iter().map(|(name, bytes)| {
            let video = parse(bytes, stem(name)).map_err(|e| e.at_file(name))?;
            Ok((PathBuf::from(name), video))
        });
        Self::from_files("embedded", videos.collect::<Result<_, InputError>>()?)
    }

    /// The videos of a folder: each `*.json` and `*.json.gz` in it is a table in one of the formats
    /// of [`parse`]. Everything else is left alone.
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
            if (name.ends_with(".json") || name.ends_with(".json.gz")) && path.is_file() {
                files.push((path, name));
            }
        }
        if files.is_empty() {
            return Err(InputError::new(
                "no table of tiles in this folder",
                "expected *.json or *.json.gz, see docs/reference/tile-tables.md",
            )
            .at_file(dir));
        }
        files.sort();
        let videos = files.into_iter().map(|(file, name)| {
            let bytes = fs::read(&file).map_err(|e| InputError::io(&file, "read the table", &e))?;
            let video = parse(&bytes, stem(&name)).map_err(|e| e.at_file(&file))?;
            Ok((file, video))
        });
        Self::from_files(&dir.display().to_string(), videos.collect::<Result<_, InputError>>()?)
    }

    fn from_files(name: &str, files: Vec<(PathBuf, TiledVideo)>) -> Result<Self, InputError> {
        let mut seen: BTreeMap<&str, &Path> = BTreeMap::new();
        for (file, video) in &files {
            if let Some(other) = seen.insert(&video.name, file) {
                return Err(InputError::new(
                    format!("{:?} is the name of {} too", video.name, other.display()),
                    "expected every video of a folder to have a name of its own",
                )
                .at_file(file)
                .at_key("video"));
            }
        }
        let videos = files.into_iter().map(|(_, video)| Arc::new(video)).collect();
        Ok(Self { name: name.to_owned(), videos })
    }

    /// The video called `name`.
    pub fn video(&self, name: &str) -> Option<&Arc<TiledVideo>> {
        self.videos.iter().find(|video| video.name == name)
    }

    /// A hash over [`TiledVideo::content_hash`] of all videos.
    pub fn content_hash(&self) -> u64 {
        let mut h = Fnv64::new();
        self.videos.iter().for_each(|video| h.write_u64(video.content_hash()));
        h.finish()
    }
}

/// The name of a file without its endings, as a video may be called.
fn stem(name: &str) -> &str {
    name.strip_suffix(".gz").unwrap_or(name).strip_suffix(".json").unwrap_or(name)
}
