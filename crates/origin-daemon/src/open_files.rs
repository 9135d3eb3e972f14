//! Open files of a folder: a few, those that were read last.
//!
//! An answer has no file open while its client takes nothing. It names the [`Version`] that it is
//! of, and what is read is of that one or an error: never of another.

use std::fs::{File, Metadata};
use std::io;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use cap_std::fs::Dir;
use lru::LruCache;
use parking_lot::Mutex;

/// Files that are kept open: far fewer than a process may have by default, which is 1024.
const MAX_OPEN_FILES: NonZeroUsize = NonZeroUsize::new(120).unwrap();

/// The files of a folder.
#[derive(Debug)]
pub(crate) struct OpenFiles {
    dir: Dir,
    kept: Mutex<LruCache<Key, Arc<File>>>,
}

/// A version of a file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    /// Its path below the folder.
    pub(crate) name: Arc<Path>,
    /// Version of the file.
    pub(crate) version: Version,
}

/// Version of a file: its length and the time of its last change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Version {
    /// Its length in bytes.
    pub(crate) len: u64,
    /// Time of the last change; `None` where the system does not tell.
    pub(crate) modified: Option<SystemTime>,
}

impl Version {
    fn of(about: &Metadata) -> Self {
        Self { len: about.len(), modified: about.modified().ok() }
    }
}

impl OpenFiles {
    /// Those below `dir`, of which none is open.
    pub(crate) fn new(dir: Dir) -> Self {
        Self { dir, kept: Mutex::new(LruCache::new(MAX_OPEN_FILES)) }
    }

    /// Finds the file at `name` and opens it; `None` if there is no file. May wait for a disk.
    ///
    /// # Errors
    /// If there is something that cannot be opened.
    pub(crate) fn find(&self, name: &Path) -> io::Result<Option<Key>> {
        // Looked at first: to open what is no file, such as a pipe, may take for ever.
        let about = self.dir.metadata(name)?;
        if !about.is_file() {
            return Ok(None);
        }
        let modified = about.modified().ok().map(cap_std::time::SystemTime::into_std);
        let key = Key { name: name.into(), version: Version { len: about.len(), modified } };
        if self.kept(&key).is_some() {
            return Ok(Some(key));
        }
        self.keep_as_it_is(key, self.dir.open(name)?.into_std())
    }

    /// The same without waiting for a disk, and so without a thread that may; `None` where the system
    /// does not have in memory what it takes, there is no such file, or it cannot be had so.
    #[cfg(target_os = "linux")]
    pub(crate) fn find_cached(&self, name: &Path) -> Option<Key> {
        use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
        let open = |flags| {
            let resolve =
                ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::CACHED;
            let opened = openat2(&self.dir, name, flags | OFlags::CLOEXEC, Mode::empty(), resolve);
            Some(File::from(opened.ok()?))
        };
        // Looked at first, as above; a descriptor of a path alone opens nothing.
        let about = open(OFlags::PATH)?.metadata().ok()?;
        let key = Key { name: name.into(), version: Version::of(&about) };
        if !about.is_file() || self.kept(&key).is_some() {
            return about.is_file().then_some(key);
        }
        self.keep_as_it_is(key, open(OFlags::RDONLY | OFlags::NONBLOCK)?).ok()?
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn find_cached(&self, _: &Path) -> Option<Key> {
        None
    }

    /// The file of a version, if it is open.
    pub(crate) fn kept(&self, key: &Key) -> Option<Arc<File>> {
        self.kept.lock().get(key).cloned()
    }

    /// The file of a version, opened again if it is not. May wait for a disk.
    ///
    /// # Errors
    /// If there is no such version any more.
    pub(crate) fn open(&self, key: &Key) -> io::Result<Arc<File>> {
        if let Some(file) = self.kept(key) {
            return Ok(file);
        }
        let file = Arc::new(self.dir.open(&key.name)?.into_std());
        check(&file, key)?;
        self.keep(key.clone(), file.clone());
        Ok(file)
    }

    /// Keeps a file of this name, which was looked at before it was opened: as it is open it counts,
    /// should it have changed since. `None` if it is no file any more.
    fn keep_as_it_is(&self, key: Key, file: File) -> io::Result<Option<Key>> {
        let about = file.metadata()?;
        if !about.is_file() {
            return Ok(None);
        }
        let key = Key { version: Version::of(&about), ..key };
        self.keep(key.clone(), Arc::new(file));
        Ok(Some(key))
    }

    fn keep(&self, key: Key, file: Arc<File>) {
        // Closed without the lock: a file system may take its time for that.
        let closed = self.kept.lock().push(key, file);
        drop(closed);
    }
}

/// Checks that an open file still is of that version. What was read before is of it as well, but
/// for changes that are closer in time than the file system tells apart.
///
/// # Errors
/// If it was changed.
pub(crate) fn check(file: &File, key: &Key) -> io::Result<()> {
    match Version::of(&file.metadata()?) == key.version {
        true => Ok(()),
        false => Err(io::Error::other("it was changed while it was sent")),
    }
}

/// The name of a file, for messages.
impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.name.display().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use cap_std::ambient_authority;

    use std::path::PathBuf;

    use super::*;

    #[test]
    fn few_are_open_and_each_is_of_its_version() {
        let folder = tempfile::tempdir().unwrap();
        let at = |n: usize| folder.path().join(n.to_string());
        let files =
            OpenFiles::new(Dir::open_ambient_dir(folder.path(), ambient_authority()).unwrap());
        let mut keys = Vec::new();
        for n in 0..2 * MAX_OPEN_FILES.get() {
            std::fs::write(at(n), vec![0; n]).unwrap();
            keys.push(files.find(&PathBuf::from(n.to_string())).unwrap().unwrap());
        }
        assert_eq!(files.kept.lock().len(), MAX_OPEN_FILES.get());
        let cached = files.find_cached(&PathBuf::from("3"));
        assert!(cached.is_none_or(|key| key == keys[3]));
        assert!(files.kept(&keys[0]).is_none() && files.kept(keys.last().unwrap()).is_some());
        // One that was closed is opened again, if it is still there.
        assert_eq!(files.open(&keys[0]).unwrap().metadata().unwrap().len(), 0);
        std::fs::write(at(1), b"more").unwrap();
        assert!(files.open(&keys[1]).unwrap_err().to_string().contains("changed"));
        std::fs::remove_file(at(2)).unwrap();
        assert_eq!(files.open(&keys[2]).unwrap_err().kind(), io::ErrorKind::NotFound);
        // One that is open under a name that another has now is still what it was.
        let last = keys.last().unwrap();
        std::fs::rename(at(1), at(2 * MAX_OPEN_FILES.get() - 1)).unwrap();
        let kept = files.open(last).unwrap();
        assert!(check(&kept, last).is_ok());
        assert_eq!(files.find(&last.name).unwrap().unwrap().version.len, 4);
    }
}
