//! The store of a folder: files that stand below it, and nothing else.
//!
//! Paths that climb out, by dots or by links, find nothing: the folder is opened once, and every
//! name is resolved below it. Names that begin with a dot are not served.

use std::borrow::Cow;
use std::fmt::Display;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use airlane_base::InputError;
use airlane_origin::store::{Object, Source, StoreFuture, Version};
use bytes::Bytes;
use cap_std::ambient_authority;
use cap_std::fs::Dir;
use percent_encoding::percent_decode_str;
use tokio::task::spawn_blocking;

use crate::buffers::BufferPool;
use crate::open_files::{self, Key, OpenFiles};
use airlane_host::RateLimitedLog;

/// Longest path that is looked at, in bytes.
const MAX_PATH_BYTES: usize = 4096;

/// A folder whose files are served.
#[derive(Clone, Debug)]
pub struct Files {
    open: Arc<OpenFiles>,
    buffers: BufferPool,
    warnings: Arc<RateLimitedLog>,
}

impl Files {
    /// The files below `folder`. What the disk does goes to `warnings`.
    ///
    /// # Errors
    /// If it is no folder that can be read.
    pub(crate) fn open(folder: &Path, warnings: Arc<RateLimitedLog>) -> Result<Self, InputError> {
        let dir = Dir::open_ambient_dir(folder, ambient_authority())
            .map_err(|e| InputError::io(folder, "serve this folder", &e))?;
        let open = Arc::new(OpenFiles::new(dir));
        Ok(Self { open, buffers: BufferPool::default(), warnings })
    }

    /// The file at the path of a URL, `None` if nothing may be served there. A path that ends in a
    /// slash is that of the `index.html` in it.
    ///
    /// # Errors
    /// If there is a file that cannot be opened.
    pub async fn find(&self, path: &str) -> io::Result<Option<Object>> {
        let Some(name) = name_of(path) else { return Ok(None) };
        if let Some(key) = self.open.find_cached(&name) {
            return Ok(Some(self.object(key)));
        }
        let files = self.clone();
        let opening = spawn_blocking(move || files.find_now(&name));
        let found = opening.await.map_err(io::Error::other).flatten();
        found.inspect_err(|e| complain(&self.warnings, &path, e))
    }

    fn find_now(&self, name: &Path) -> io::Result<Option<Object>> {
        use io::ErrorKind as Kind;
        match self.open.find(name) {
            Ok(key) => Ok(key.map(|key| self.object(key))),
            // A path that leads out of the folder is answered as missing, whether or not it exists.
            Err(e)
                if matches!(
                    e.kind(),
                    Kind::NotFound
                        | Kind::PermissionDenied
                        | Kind::NotADirectory
                        | Kind::InvalidInput
                        | Kind::InvalidFilename
                ) =>
            {
                Ok(None)
            }
            Err(e) => Err(e),
        }
    }

    fn object(&self, key: Key) -> Object {
        let open_files::Version { len, modified } = key.version;
        let modified = modified.and_then(|m| m.duration_since(UNIX_EPOCH).ok());
        let version = modified.map(|m| Version {
            etag: format!("\"{len:x}-{:x}\"", m.as_nanos()),
            modified_s: Some(m.as_secs()),
        });
        let extension = key.name.extension().and_then(|e| e.to_str()).unwrap_or_default();
        let extension = extension.to_ascii_lowercase();
        Object {
            len,
            media_type: media_type(&extension),
            version,
            caching: Some(caching(&extension)),
            fields: Vec::new(),
            part: None,
            source: Arc::new(FileSource { key, files: self.clone() }),
        }
    }
}

/// The name below the folder that a URL's path stands for; `None` if it can be none. Several slashes in
/// a row are one, as other servers have it: players join addresses that end and begin with one.
pub fn name_of(path: &str) -> Option<PathBuf> {
    if path.len() > MAX_PATH_BYTES {
        return None;
    }
    let decoded = percent_decode(path.strip_prefix('/')?)?;
    let mut name = PathBuf::new();
    let mut parts = decoded.split('/').peekable();
    while let Some(part) = parts.next() {
        match part {
            "" if parts.peek().is_none() => name.push("index.html"),
            "" => {}
            // A dot that leads nowhere or up, a hidden file.
            _ if part.starts_with('.') || part.contains(['\0', '\\']) => return None,
            _ => name.push(part),
        }
    }
    Some(name)
}

/// A path in which several slashes in a row are one.
pub(crate) fn merge_slashes(path: &str) -> Cow<'_, str> {
    if !path.contains("//") {
        return Cow::Borrowed(path);
    }
    let mut merged = String::with_capacity(path.len());
    for c in path.chars() {
        if c != '/' || !merged.ends_with('/') {
            merged.push(c);
        }
    }
    Cow::Owned(merged)
}

/// Tells the operator of what the disk does.
fn complain(warnings: &Arc<RateLimitedLog>, path: &dyn Display, e: &io::Error) {
    warnings.warn("disk", format_args!("{path} cannot be read: {e}"));
}

/// A version of a file that was found. It is open only while it is read.
#[derive(Debug)]
struct FileSource {
    key: Key,
    files: Files,
}

impl Source for FileSource {
    fn read(&self, range: Range<u64>) -> StoreFuture<'_, io::Result<Bytes>> {
        Box::pin(async move {
            let len = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
            let mut piece = self.files.buffers.take(len);
            let read = match self.files.open.kept(&self.key) {
                Some(file) => match read_cached(&file, &mut piece, range.start) {
                    0 => None,
                    got => Some(open_files::check(&file, &self.key).map(|()| got)),
                },
                None => None,
            };
            let read = match read {
                Some(Ok(got)) => return Ok(piece.filled(got)),
                Some(Err(e)) => Err(e),
                None => {
                    let (open, key) = (self.files.open.clone(), self.key.clone());
                    let reading = spawn_blocking(move || {
                        let file = open.open(&key)?;
                        read_at(&file, &mut piece, range.start)?;
                        open_files::check(&file, &key)?;
                        Ok(piece.filled(len))
                    });
                    reading.await.map_err(io::Error::other).flatten()
                }
            };
            read.inspect_err(|e| complain(&self.files.warnings, &self.key, e))
        })
    }
}

/// Reads what the system has in memory, without waiting for a disk. How many bytes that are; 0 also
/// where files cannot be read so.
///
/// A thread that may wait costs two switches per piece, and memory: what it allocates others free,
/// and it keeps the buffer.
#[cfg(target_os = "linux")]
fn read_cached(file: &File, piece: &mut [u8], at: u64) -> usize {
    use rustix::io::{ReadWriteFlags, preadv2};
    preadv2(file, &mut [io::IoSliceMut::new(piece)], at, ReadWriteFlags::NOWAIT).unwrap_or(0)
}

#[cfg(not(target_os = "linux"))]
fn read_cached(_: &File, _: &mut [u8], _: u64) -> usize {
    0
}

#[cfg(unix)]
fn read_at(file: &File, piece: &mut [u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, piece, at)
}

#[cfg(not(unix))]
fn read_at(mut file: &File, piece: &mut [u8], at: u64) -> io::Result<()> {
    use io::{Read, Seek};
    file.seek(io::SeekFrom::Start(at))?;
    file.read_exact(piece)
}

/// Cache-Control of a file with this extension: an hour for segments; manifests and all else only
/// with revalidation.
fn caching(extension: &str) -> &'static str {
    match extension {
        "m4s" | "mp4" | "m4a" | "m4v" | "cmfv" | "cmfa" | "ts" | "webm" | "vtt" | "jpg" | "png" => {
            "public, max-age=3600"
        }
        _ => "no-cache",
    }
}

/// The media type of a file by its extension (IANA's registry; DASH-IF and HLS for theirs).
fn media_type(extension: &str) -> &'static str {
    match extension {
        "mpd" => "application/dash+xml",
        "m3u8" => "application/vnd.apple.mpegurl",
        "m4s" | "cmfv" => "video/iso.segment",
        "cmfa" => "audio/iso.segment",
        "mp4" | "m4v" => "video/mp4",
        "m4a" => "audio/mp4",
        "webm" => "video/webm",
        "ts" => "video/mp2t",
        "mov" => "video/quicktime",
        "mp3" => "audio/mpeg",
        "vtt" => "text/vtt; charset=utf-8",
        "html" | "htm" => "text/html; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "json" => "application/json",
        "xml" => "application/xml",
        "txt" | "md" | "csv" => "text/plain; charset=utf-8",
        "jpg" | "jpeg" => "image/jpeg",
        "png" => "image/png",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "svg" => "image/svg+xml",
        "ico" => "image/x-icon",
        "wasm" => "application/wasm",
        _ => "application/octet-stream",
    }
}

/// The text behind percent signs (RFC 3986, section 2.1); `None` if it is none.
pub(crate) fn percent_decode(text: &str) -> Option<Cow<'_, str>> {
    // The library leaves a sign alone that no two digits follow.
    let is_sign = |behind: &str| {
        behind.as_bytes().get(..2).is_some_and(|d| d.iter().all(u8::is_ascii_hexdigit))
    };
    if !text.split('%').skip(1).all(is_sign) {
        return None;
    }
    percent_decode_str(text).decode_utf8().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_stay_below_the_folder() {
        let name = |path| name_of(path).map(|n| n.to_string_lossy().into_owned());
        assert_eq!(name("/a/b.m4s").as_deref(), Some("a/b.m4s"));
        assert_eq!(name("/a%20b/%c3%a4.mpd").as_deref(), Some("a b/ä.mpd"));
        assert_eq!(name("/").as_deref(), Some("index.html"));
        assert_eq!(name("/a/").as_deref(), Some("a/index.html"));
        assert_eq!(name("//a///b.m4s").as_deref(), Some("a/b.m4s"));
        assert_eq!(name("/a//").as_deref(), Some("a/index.html"));
        assert_eq!(name("/%2fa%2f%2fb").as_deref(), Some("a/b"));
        for path in [
            "",
            "a",
            "/../x",
            "/a/../x",
            "/%2e%2e/x",
            "//../x",
            "/a//../x",
            "/a//.hidden",
            "/.git/config",
            "/a/.hidden",
            "/%00",
            "/a%5c..%5cx",
            "/%",
            "/%zz",
            "/%ff",
        ] {
            assert_eq!(name(path), None, "{path}");
        }
    }

    proptest! {
        #[test]
        fn no_path_makes_a_name_that_climbs(path in "(/|\\.|%2[eEfF]|%5c|a|%00|\\PC){0,20}") {
            if let Some(name) = name_of(&format!("/{path}")) {
                prop_assert!(name.is_relative());
                prop_assert!(name.components().all(|c| matches!(c, std::path::Component::Normal(_))));
            }
        }
    }
}
