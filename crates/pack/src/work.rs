//! The folder of a title while it is made: its lock, and files that are whole or not there.
//!
//! Everything is made in `.pack/` within the folder. A file gets its name when it is whole and on
//! the disk; the title's own names appear at the very end, the manifest last.

use std::fs::{self, File, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use airlane_base::Fnv64;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::PackError;

/// Bytes at the head and at the tail of a source that are hashed.
const HASHED_BYTES: u64 = 1 << 20;

/// Fingerprint that tells a file from another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Fingerprint {
    bytes: u64,
    modified_ns: u64,
    /// Of its head and its tail.
    hash: String,
}

impl Fingerprint {
    /// Of a file, by its size, its date and 1 MiB at either end.
    pub(crate) fn of(path: &Path) -> Result<Self, PackError> {
        let failed = || PackError::io("read", path);
        let mut file = File::open(path).map_err(failed())?;
        let about = file.metadata().map_err(failed())?;
        let modified = about.modified().ok().and_then(|t| t.duration_since(UNIX_EPOCH).ok());
        let mut hash = Fnv64::new();
        let mut bytes = Vec::new();
        (&file).take(HASHED_BYTES).read_to_end(&mut bytes).map_err(failed())?;
        let tail = about.len().saturating_sub(HASHED_BYTES);
        file.seek(SeekFrom::Start(tail)).map_err(failed())?;
        file.take(HASHED_BYTES).read_to_end(&mut bytes).map_err(failed())?;
        hash.write(&bytes);
        Ok(Self {
            bytes: about.len(),
            modified_ns: modified.map_or(0, |d| u64::try_from(d.as_nanos()).unwrap_or(u64::MAX)),
            hash: format!("{:016x}", hash.finish()),
        })
    }
}

/// A title's folder, locked for this run.
pub(crate) struct Work {
    dir: PathBuf,
    inner: PathBuf,
    lock: File,
}

impl Work {
    /// Opens or creates the folder, and its work folder.
    pub(crate) fn open(dir: &Path) -> Result<Self, PackError> {
        let dir = std::path::absolute(dir).map_err(PackError::io("find", dir))?;
        let inner = dir.join(".pack");
        fs::create_dir_all(&inner).map_err(PackError::io("create", &inner))?;
        let path = inner.join("lock");
        let lock = File::create(&path).map_err(PackError::io("create", &path))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { dir, inner, lock }),
            Err(TryLockError::WouldBlock) => Err(PackError::Busy { dir }),
            Err(TryLockError::Error(error)) => Err(PackError::Io { doing: "lock", path, error }),
        }
    }

    /// `work` if it is open already, or the folder opened.
    pub(crate) fn open_again(work: Option<Self>, dir: &Path) -> Result<Self, PackError> {
        work.map_or_else(|| Self::open(dir), Ok)
    }

    /// The title's folder.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// A path within the work folder.
    pub(crate) fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.inner.join(name)
    }

    /// Those of `names` that are in the title's folder.
    pub(crate) fn present<'a>(&self, names: &'a [String]) -> Vec<&'a str> {
        let there = |n: &&String| self.dir.join(n).symlink_metadata().is_ok();
        names.iter().filter(there).map(String::as_str).collect()
    }

    /// Removes `names` from the title's folder, the last one first, and all that was being made.
    pub(crate) fn clear(&self, names: &[String]) -> Result<(), PackError> {
        for name in names.iter().rev() {
            remove(&self.dir.join(name))?;
        }
        self.empty(&["lock"])
    }

    /// Removes all of the work folder but the job file.
    pub(crate) fn tidy(&self) -> Result<(), PackError> {
        self.empty(&["lock", "job.json"])
    }

    fn empty(&self, but: &[&str]) -> Result<(), PackError> {
        let entries = fs::read_dir(&self.inner).map_err(PackError::io("read", &self.inner))?;
        for entry in entries {
            let path = entry.map_err(PackError::io("read", &self.inner))?.path();
            if !path.file_name().is_some_and(|n| but.iter().any(|b| n == *b)) {
                remove(&path)?;
            }
        }
        Ok(())
    }

    /// Moves `names` from the work folder to their places, in their order. What is not in the work
    /// folder has been moved before.
    pub(crate) fn publish(&self, names: &[String]) -> Result<(), PackError> {
        for name in names {
            let (from, to) = (self.path(name), self.dir.join(name));
            if from.symlink_metadata().is_err() {
                continue;
            }
            remove(&to)?;
            fs::rename(&from, &to).map_err(PackError::io("move to its place", &to))?;
            sync_folder(&self.dir)?;
        }
        Ok(())
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        // A process that is being started elsewhere in this one may hold the file for a moment
        // longer: closing it alone would not free the folder.
        let _ = self.lock.unlock();
    }
}

/// Removes a file or a folder, if it is there.
pub(crate) fn remove(path: &Path) -> Result<(), PackError> {
    let Ok(about) = path.symlink_metadata() else { return Ok(()) };
    match about.is_dir() {
        true => fs::remove_dir_all(path),
        false => fs::remove_file(path),
    }
    .map_err(PackError::io("remove", path))
}

/// Writes a file that is whole or not there: under another name, to the disk, then renamed.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), PackError> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    let part = path.with_file_name(name);
    let mut file = File::create(&part).map_err(PackError::io("create", &part))?;
    file.write_all(bytes).map_err(PackError::io("write", &part))?;
    file.sync_data().map_err(PackError::io("write", &part))?;
    fs::rename(&part, path).map_err(PackError::io("rename to", path))
}

/// Makes the names in a folder last.
pub(crate) fn sync_folder(path: &Path) -> Result<(), PackError> {
    let synced = File::open(path).and_then(|folder| folder.sync_all());
    synced.map_err(PackError::io("write", path))
}

/// Reads JSON that an earlier run wrote; `None` if it is not there or not of this form.
pub(crate) fn read_json<T: DeserializeOwned>(path: &Path) -> Option<T> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

/// Writes JSON as a whole.
pub(crate) fn write_json(path: &Path, value: &impl Serialize) -> Result<(), PackError> {
    let text = serde_json::to_vec(value).map_err(std::io::Error::from);
    write_whole(path, &text.map_err(PackError::io("write", path))?)
}
