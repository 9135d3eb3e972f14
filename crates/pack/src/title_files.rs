//! The files of a title that exists, by the URLs of its manifest.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Component, Path, PathBuf};

use airlane_base::InputError;
use airlane_media::dash::{self, ByteRange, Object, Presentation, Representation};
use airlane_media::mp4::{IndexSearch, find_index};
use airlane_media::url;

use crate::ffmpeg::Piece;

/// A chunk or an index of more bytes than this is refused.
const MAX_PIECE_BYTES: u64 = 1 << 30;
/// Bytes of a file in which its index is looked for at a time, and how often.
const LOOKED_AT_BYTES: u64 = 16 << 10;
const MAX_LOOKS: usize = 8;

/// Reads a manifest. Where its title may be in several places, the first of them that is there
/// counts.
pub(crate) fn read_manifest(path: &Path) -> Result<Presentation, InputError> {
    let failed = |e: std::io::Error| InputError::io(path, "read the manifest", &e);
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(failed)?;
    // One byte more than the parser takes, so that it can say that it is too much; twice as many
    // where a character takes two.
    file.take(2 * dash::MAX_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(failed)?;
    let at_file = |e: InputError| e.at_file(path);
    let text = dash::decode(&bytes).map_err(at_file)?;
    let first = dash::parse(&text).map_err(at_file)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let is_here = |title: &Presentation| {
        let object = title
            .video
            .first()
            .and_then(|r| r.chunks.first().map(|c| &c.object).or(r.index.as_ref()));
        object.and_then(|o| local(&o.url, folder).ok()).is_some_and(|file| file.is_file())
    };
    for number in 1..first.alternatives {
        if is_here(&first) {
            break;
        }
        let other = dash::parse_alternative(&text, number).map_err(at_file)?;
        if is_here(&other) {
            return Ok(other);
        }
    }
    Ok(first)
}

/// Lists the chunks that the index of a representation names, if it has one.
pub(crate) fn list_chunks(r: &mut Representation, folder: &Path) -> Result<(), InputError> {
    if r.is_whole_file
        && let Some(range) = r.chunks.first().and_then(|c| index_in(&c.object, folder))
    {
        r.found_index(range);
    }
    let Some(index) = r.index.clone() else { return Ok(()) };
    let bytes = match r.webm() {
        // Refused for what it is.
        Some(_) => Vec::new(),
        None => read(&piece(&index, folder)?)?,
    };
    // What is before the index initialises, if nothing else is said to.
    if r.indexed.is_none() {
        let range = index.range.map(|range| ByteRange { offset: 0, length: range.offset });
        r.init.get_or_insert(Object { url: index.url, range });
    }
    r.fill(&bytes)
}

/// Range of the index in a file whose manifest does not give it.
fn index_in(file: &Object, folder: &Path) -> Option<ByteRange> {
    let path = local(&file.url, folder).ok()?;
    let mut offset = 0;
    for _ in 0..MAX_LOOKS {
        let length = fs::metadata(&path).ok()?.len().saturating_sub(offset).min(LOOKED_AT_BYTES);
        let bytes = read(&Piece { file: path.clone(), offset, length: Some(length) }).ok()?;
        match find_index(&bytes, offset) {
            IndexSearch::Found(range) => return Some(range),
            IndexSearch::Beyond(next) if next > offset => offset = next,
            IndexSearch::Beyond(_) | IndexSearch::Nothing => return None,
        }
    }
    None
}

/// The file that a URL names within a folder.
pub(crate) fn local(reference: &str, folder: &Path) -> Result<PathBuf, InputError> {
    let outside = || {
        InputError::new(
            format!("the URL {reference:?}"),
            "expected files within the folder of the manifest",
        )
    };
    if url::is_absolute(reference) {
        return Err(outside());
    }
    let path = reference.split(['?', '#']).next().unwrap_or_default();
    let path = PathBuf::from(decoded(path).ok_or_else(outside)?);
    let within = path.components().all(|c| matches!(c, Component::Normal(_)));
    if !within || path.as_os_str().is_empty() {
        return Err(outside());
    }
    Ok(folder.join(path))
}

/// Without percent-encoding; `None` if that is no text for a path.
fn decoded(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let hex = bytes.get(at + 1..at + 3).filter(|_| byte == b'%');
        let hex = hex.and_then(|h| std::str::from_utf8(h).ok());
        match hex.and_then(|h| u8::from_str_radix(h, 16).ok()) {
            Some(decoded) => {
                out.push(decoded);
                at += 3;
            }
            None => {
                out.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8(out).ok().filter(|t| !t.contains('\0'))
}

pub(crate) fn piece(object: &Object, folder: &Path) -> Result<Piece, InputError> {
    let file = local(&object.url, folder)?;
    let offset = object.range.map_or(0, |r| r.offset);
    Ok(Piece { file, offset, length: object.range.map(|r| r.length) })
}

pub(crate) fn read(piece: &Piece) -> Result<Vec<u8>, InputError> {
    let failed = |e| InputError::io(&piece.file, "read", &e);
    let about = fs::metadata(&piece.file).map_err(failed)?;
    let length = piece.length.unwrap_or_else(|| about.len().saturating_sub(piece.offset));
    let beyond = piece.offset.checked_add(length).is_none_or(|end| end > about.len());
    if beyond || length > MAX_PIECE_BYTES {
        let found = format!("{length} bytes from {} on of {}", piece.offset, about.len());
        let expected = "expected a range within the file, and at most 1 GiB";
        return Err(InputError::new(found, expected).at_file(&piece.file));
    }
    let mut file = File::open(&piece.file).map_err(failed)?;
    file.seek(SeekFrom::Start(piece.offset)).map_err(failed)?;
    let mut bytes = Vec::new();
    file.take(length).read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_stay_within_the_folder() {
        let folder = Path::new("/title");
        let path = |url| local(url, folder).ok();
        assert_eq!(path("video/1.m4s?a=b"), Some("/title/video/1.m4s".into()));
        assert_eq!(path("a%20b.mp4"), Some("/title/a b.mp4".into()));
        for url in [
            "../1.m4s",
            "/etc/passwd",
            "http://a/b",
            "//a/b",
            "a/%2e%2e/%2e%2e/b",
            "",
            "%2Fa",
            "a%00b",
            "?x",
        ] {
            assert_eq!(path(url), None, "{url}");
        }
    }
}
