//! Readers and the writer of chunk tables, described in `docs/reference/chunk-tables.md`.
//!
//! Two formats are read, told apart by their content: `airlane-chunks`, our own, and the tables
//! of the Comyco video description data set. Both may be gzipped.

mod airlane;
mod comyco;
pub(crate) mod json;

use std::fs;
use std::io::Read;
use std::path::Path;

use airlane_base::InputError;
use flate2::read::MultiGzDecoder;

use crate::video::Video;

pub use airlane::{FORMAT, VERSION, to_json, to_json_with};

/// A table of more text than this is refused: the largest real one has 0.2 MB.
pub const MAX_TABLE_BYTES: u64 = 16 << 20;

/// Name of the content that errors say was expected.
const WHAT: &str = "a chunk table";

/// A video and what had to be mended in its table.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The video.
    pub video: Video,
    /// Faults that were mended.
    pub traps: Traps,
}

/// Faults of a table that a reader mends and reports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traps {
    /// Chunks with a quality that was NaN in some rung and metric; it was interpolated.
    pub interpolated_chunks: usize,
    /// Qualities that were interpolated, over all rungs and metrics.
    pub interpolated_values: usize,
    /// Chunks dropped at the end because they are shorter than the others.
    pub dropped_chunks: usize,
    /// Members that the reader does not know, by their path.
    pub unknown_keys: Vec<String>,
}

/// Reads a table from the bytes of a file, gzipped or not.
///
/// # Errors
/// [`InputError`] with line or key; the caller adds the file.
pub fn parse(bytes: &[u8]) -> Result<Table, InputError> {
    let text = text_of(bytes, WHAT)?;
    let value = json::parse(&text, WHAT)?;
    let root = json::Node::root(&value, "docs/reference/chunk-tables.md");
    if root.optional("format")?.is_some() {
        airlane::read(&root)
    } else if root.optional("representations")?.is_some() {
        comyco::read(&root)
    } else {
        Err(InputError::new(
            "neither \"format\" nor \"representations\" is there",
            format!("expected a table of the format {FORMAT:?} or of the Comyco data set"),
        ))
    }
}

/// Reads a table from a file.
///
/// # Errors
/// [`InputError`] that names the file and the line or key.
pub fn load(file: impl AsRef<Path>) -> Result<Table, InputError> {
    let file = file.as_ref();
    let bytes = fs::read(file).map_err(|e| InputError::io(file, "read the table", &e))?;
    parse(&bytes).map_err(|e| e.at_file(file))
}

/// The text of a file, gzipped or not. `what` is what errors say was expected.
pub(crate) fn text_of(bytes: &[u8], what: &str) -> Result<String, InputError> {
    let mut out = Vec::new();
    if bytes.starts_with(&[0x1f, 0x8b]) {
        MultiGzDecoder::new(bytes).take(MAX_TABLE_BYTES + 1).read_to_end(&mut out).map_err(
            |e| InputError::new(format!("not valid gzip: {e}"), "expected a whole file"),
        )?;
    } else {
        out.extend_from_slice(bytes);
    }
    if out.len() as u64 > MAX_TABLE_BYTES {
        return Err(InputError::new(
            format!("more than {} MiB of text", MAX_TABLE_BYTES >> 20),
            format!("expected {what}"),
        ));
    }
    let text = airlane_base::text::decode(&out).map_err(|line| {
        InputError::new("bytes that are no UTF-8", format!("expected {what}")).at_line(line)
    })?;
    Ok(text.into_owned())
}
