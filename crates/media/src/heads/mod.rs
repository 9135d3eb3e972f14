//! Recordings of how viewers of 360-degree videos looked around.
//!
//! Two formats are read, told apart by content: that of AVTrack360, a file per viewer, and that of
//! Dragonfly's traces, an archive per title. Angles are brought to one frame: yaw to the right of the
//! panorama's middle, pitch up, roll towards the right shoulder. They are described in
//! `docs/reference/tile-tables.md`.

mod avtrack;
mod dragonfly;

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

use airlane_base::InputError;
use flate2::read::MultiGzDecoder;

use crate::table::MAX_TABLE_BYTES;

/// Orientation of a head at one moment; degrees.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeadSample {
    /// Time since the video began.
    pub at: Duration,
    /// To the right of the panorama's middle.
    pub yaw_deg: f64,
    /// Up.
    pub pitch_deg: f64,
    /// Towards the right shoulder; 0 where it was not recorded.
    pub roll_deg: f64,
}

/// One viewer in one video.
#[derive(Clone, Debug, PartialEq)]
pub struct Recording {
    /// Title of the video.
    pub title: String,
    /// Name of the viewer.
    pub viewer: String,
    /// At rising times; never empty.
    pub samples: Vec<HeadSample>,
}

/// Reads the recordings of a file from its bytes. `name` is the file's name without folder: the
/// viewer of an AVTrack360 file, which has none in it, is called as it.
///
/// # Errors
/// [`InputError`] with line or key; the caller adds the file.
pub fn parse(bytes: &[u8], name: &str) -> Result<Vec<Recording>, InputError> {
    let mut plain = Vec::new();
    if bytes.starts_with(&[0x1f, 0x8b]) {
        let mut unpacked = MultiGzDecoder::new(bytes).take(MAX_TABLE_BYTES + 1);
        unpacked.read_to_end(&mut plain).map_err(|e| {
            InputError::new(format!("not valid gzip: {e}"), "expected a whole file")
        })?;
    } else {
        plain.extend_from_slice(bytes);
    }
    if plain.len() as u64 > MAX_TABLE_BYTES {
        return Err(InputError::new(
            format!("more than {} MiB", MAX_TABLE_BYTES >> 20),
            "expected recorded heads",
        ));
    }
    let stem = name.split('.').next().unwrap_or(name);
    if plain.iter().find(|b| !b.is_ascii_whitespace()) == Some(&b'{') {
        avtrack::read(&plain, stem)
    } else {
        dragonfly::read(&plain)
    }
}

/// The recordings of a folder by title; of each title in the order of files, and within a file as it
/// has them. Each `*.json`, `*.json.gz`, `*.tar` and `*.tar.gz` in it is read, everything else is left
/// alone.
///
/// # Errors
/// If the folder cannot be read, holds no recording, or one of its files is refused.
pub fn load_dir(dir: impl AsRef<Path>) -> Result<BTreeMap<String, Vec<Recording>>, InputError> {
    let dir = dir.as_ref();
    let io = |e| InputError::io(dir, "read the folder of heads", &e);
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).map_err(io)? {
        let path = entry.map_err(io)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let plain = name.strip_suffix(".gz").unwrap_or(&name);
        if (plain.ends_with(".json") || plain.ends_with(".tar")) && path.is_file() {
            files.push((path, name));
        }
    }
    files.sort();
    let mut titles: BTreeMap<String, Vec<Recording>> = BTreeMap::new();
    for (file, name) in files {
        let bytes = fs::read(&file).map_err(|e| InputError::io(&file, "read the heads", &e))?;
        for recording in parse(&bytes, &name).map_err(|e| e.at_file(&file))? {
            titles.entry(recording.title.clone()).or_default().push(recording);
        }
    }
    if titles.is_empty() {
        return Err(InputError::new(
            "no recorded heads in this folder",
            "expected *.json, *.json.gz, *.tar or *.tar.gz, see docs/reference/tile-tables.md",
        )
        .at_file(dir));
    }
    Ok(titles)
}
