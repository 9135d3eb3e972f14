//! Segment sizes of the 360-Video-DASH data set (darijo/360-Video-DASH-Dataset): for several
//! tilings, segment lengths and target rates the bytes of each segment of each tile.
//!
//! Of the tilings the one with most tiles is read, of the segment lengths the one nearest to a
//! second. Tile ids begin at 2 and go in raster order; id 1 is a track that all tiles share, which
//! has one rate only and is left out. The last segment is cut short in some tracks: as many are read
//! as all tracks have.

use std::time::Duration;

use airlane_base::InputError;

use super::{MAX_GOPS, MAX_LEVELS, MAX_SIDE};
use crate::table::json::Node;
use crate::video::MAX_CHUNK_BYTES;

/// Sizes in such a file, of one tiling and segment length.
#[derive(Clone, Debug, PartialEq)]
pub struct Sizes {
    /// Name of the video.
    pub name: String,
    /// Columns of tiles.
    pub columns: usize,
    /// Rows of tiles.
    pub rows: usize,
    /// Duration of a segment.
    pub gop: Duration,
    /// Target rates in bits/s, rising.
    pub targets_bps: Vec<u64>,
    /// Bytes by segment, tile (raster order) and level; at least 1.
    pub bytes: Vec<Vec<Vec<u64>>>,
}

/// Columns and rows of a tiling as its key names it, such as `8x5`.
fn tiling(key: &str) -> Option<(usize, usize)> {
    let (columns, rows) = key.split_once('x')?;
    let side = |text: &str| text.parse().ok().filter(|side| (1..=MAX_SIDE).contains(side));
    Some((side(columns)?, side(rows)?))
}

/// True if a table has a tiling for a key at its top.
pub(super) fn is_one(root: &Node<'_>) -> Result<bool, InputError> {
    Ok(root.map()?.keys().any(|key| tiling(key).is_some()))
}

pub(super) fn read(root: &Node<'_>, name: &str) -> Result<Sizes, InputError> {
    let tilings = root.map()?.keys().filter_map(|key| Some((tiling(key)?, key)));
    let ((columns, rows), key) = tilings
        .max_by_key(|((columns, rows), _)| columns * rows)
        .ok_or_else(|| root.wrong("a tiling such as \"8x5\""))?;
    let lengths = root.member(key)?;
    let (length_ms, length_key) = numbered(&lengths, "milliseconds, such as \"1000\"")?
        .into_iter()
        .filter(|(ms, _)| (1..=60_000).contains(ms))
        .min_by_key(|(ms, _)| ms.abs_diff(1000))
        .ok_or_else(|| lengths.wrong("a segment length of 1 to 60000 ms"))?;
    let rates = lengths.member(&length_key)?;
    let targets = numbered(&rates, "a target rate in bits/s")?;
    if targets.is_empty() || targets.len() > MAX_LEVELS {
        return Err(rates.wrong(&format!("1 to {MAX_LEVELS} target rates")));
    }
    let mut tracks = Vec::with_capacity(targets.len());
    for (_, key) in &targets {
        let level = rates.member(key)?;
        let tracks_of: Vec<Vec<u64>> = (2..columns * rows + 2)
            .map(|id| segments(&level.member(&id.to_string())?))
            .collect::<Result<_, _>>()?;
        tracks.push(tracks_of);
    }
    let gops = tracks.iter().flatten().map(Vec::len).min().unwrap_or(0).min(MAX_GOPS);
    let at = |gop: usize, tile: usize| tracks.iter().map(|level| level[tile][gop]).collect();
    Ok(Sizes {
        name: name.to_owned(),
        columns,
        rows,
        gop: Duration::from_millis(length_ms),
        targets_bps: targets.into_iter().map(|(bps, _)| bps).collect(),
        bytes: (0..gops)
            .map(|gop| (0..columns * rows).map(|tile| at(gop, tile)).collect())
            .collect(),
    })
}

/// The keys of an object that are whole numbers, rising.
fn numbered(node: &Node<'_>, what: &str) -> Result<Vec<(u64, String)>, InputError> {
    let number = |key: &String| match key.parse::<u64>() {
        Ok(number) => Ok((number, key.clone())),
        Err(_) => Err(InputError::new(format!("the key {key:?}"), format!("expected {what}"))
            .at_key(node.path())),
    };
    let mut all: Vec<(u64, String)> =
        node.map()?.keys().map(number).collect::<Result<_, InputError>>()?;
    all.sort();
    Ok(all)
}

/// The bytes of the segments of a track, which are numbered from 1.
fn segments(track: &Node<'_>) -> Result<Vec<u64>, InputError> {
    let count = track.map()?.len();
    if count == 0 {
        return Err(track.wrong("the segments of a tile"));
    }
    (1..=count).map(|n| track.member(&n.to_string())?.count(MAX_CHUNK_BYTES)).collect()
}
