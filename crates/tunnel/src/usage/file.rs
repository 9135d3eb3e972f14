//! The file in which it is kept what metered interfaces have used.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use airlane_base::InputError;
use serde::{Deserialize, Serialize};

use super::cap::Cap;

/// The version of the format.
const SCHEMA: u32 = 1;
/// Bytes that are read of it at most.
const MAX_BYTES: u64 = 1 << 20;
const MEND: &str = "mend the file; or take it away, and all caps begin anew";

/// The file as it is.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    schema: u32,
    /// By the name of the interface's path.
    #[serde(rename = "radios")]
    interfaces: BTreeMap<String, InterfaceUsage>,
}

/// Usage of an interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct InterfaceUsage {
    /// The name of the period.
    period: String,
    /// Bytes in it: never fewer than were used, more after a crash.
    bytes: u64,
}

/// Usage of metered interfaces, as a file. One process at a time has it.
#[derive(Debug)]
pub(crate) struct UsageFile {
    file: PathBuf,
    content: Content,
    /// Held locked as long as this lives.
    _lock: File,
}

impl UsageFile {
    /// Opens it, or begins one where there is none.
    ///
    /// # Errors
    /// If it is no such file, another process has it, or its folder cannot be written to.
    pub(crate) fn open(file: &Path) -> Result<Self, InputError> {
        let failed = |doing: &str, e: &io::Error| InputError::io(file, doing, e);
        let folder = folder_of(file);
        fs::create_dir_all(folder).map_err(|e| failed("make the folder of", &e))?;
        let mut beside = file.as_os_str().to_owned();
        beside.push(".lock");
        let lock = File::create(&beside).map_err(|e| failed("lock", &e))?;
        lock.try_lock().map_err(|e| match e {
            fs::TryLockError::WouldBlock => {
                let found = "another tunnel keeps its account in it";
                InputError::new(found, "stop that, or give each a file: --usage FILE").at_file(file)
            }
            fs::TryLockError::Error(e) => failed("lock", &e),
        })?;
        let content = match fs::metadata(file).map(|about| about.len()) {
            Ok(bytes) if bytes > MAX_BYTES => {
                let found = format!("a file of {bytes} bytes");
                return Err(InputError::new(found, MEND).at_file(file));
            }
            Ok(_) => read(&fs::read_to_string(file).map_err(|e| failed("read", &e))?)
                .map_err(|e| e.at_file(file))?,
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                Content { schema: SCHEMA, interfaces: BTreeMap::new() }
            }
            Err(e) => return Err(failed("read", &e)),
        };
        Ok(Self { file: file.to_owned(), content, _lock: lock })
    }

    /// The period that counts for an interface at a time, seconds since 1970, and what was used in it. A
    /// clock that goes back begins none anew.
    pub(crate) fn used(&self, interface: &str, cap: Cap, now_s: u64) -> (String, u64) {
        let period = cap.period.name(now_s);
        match self.content.interfaces.get(interface) {
            Some(used) if cap.period.is_of(&used.period) && used.period >= period => {
                (used.period.clone(), used.bytes)
            }
            _ => (period, 0),
        }
    }

    /// Notes down what an interface has used in a period. The file has it when this returns.
    ///
    /// # Errors
    /// If it cannot be written; then all is as before.
    pub(crate) fn note(&mut self, interface: &str, period: String, bytes: u64) -> io::Result<()> {
        let before =
            self.content.interfaces.insert(interface.to_owned(), InterfaceUsage { period, bytes });
        let written = self.write();
        if written.is_err() {
            match before {
                Some(before) => self.content.interfaces.insert(interface.to_owned(), before),
                None => self.content.interfaces.remove(interface),
            };
        }
        written
    }

    fn write(&self) -> io::Result<()> {
        let mut text = serde_json::to_vec_pretty(&self.content)?;
        text.push(b'\n');
        let mut half = tempfile::NamedTempFile::new_in(folder_of(&self.file))?;
        half.write_all(&text)?;
        half.as_file().sync_all()?;
        half.persist(&self.file)?;
        Ok(())
    }
}

fn folder_of(file: &Path) -> &Path {
    file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn read(text: &str) -> Result<Content, InputError> {
    let content: Content = serde_json::from_str(text).map_err(|e| {
        InputError::new(format!("no usage of interfaces: {e}"), MEND).at_line(e.line())
    })?;
    match content.schema {
        SCHEMA => Ok(content),
        other => {
            let found = format!("usage of schema {other}");
            Err(InputError::new(found, format!("expected schema {SCHEMA}: {MEND}"))
                .at_key("schema"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::usage::Period;

    const MONTH: Cap = Cap { bytes: 1 << 30, period: Period::Month };
    const NOVEMBER: u64 = 1_796_000_000;
    const DECEMBER: u64 = 1_797_000_000;

    #[test]
    fn what_was_noted_is_there_again_and_ends_with_its_period() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("state/usage.json");
        let mut book = UsageFile::open(&file).unwrap();
        assert_eq!(book.used("wwan0", MONTH, NOVEMBER), ("month 2026-11".to_owned(), 0));
        book.note("wwan0", "month 2026-11".to_owned(), 500).unwrap();
        book.note("10.0.0.2", "ever".to_owned(), 7).unwrap();
        drop(book);
        let book = UsageFile::open(&file).unwrap();
        assert_eq!(book.used("wwan0", MONTH, NOVEMBER), ("month 2026-11".to_owned(), 500));
        assert_eq!(book.used("wwan0", MONTH, DECEMBER), ("month 2026-12".to_owned(), 0));
        // The clock is back at 1970.
        assert_eq!(book.used("wwan0", MONTH, 0), ("month 2026-11".to_owned(), 500));
        // Another kind of period is another account.
        let day = Cap { period: Period::Day, ..MONTH };
        assert_eq!(book.used("wwan0", day, NOVEMBER).1, 0);
        let ever = Cap { period: Period::Ever, ..MONTH };
        assert_eq!(book.used("10.0.0.2", ever, DECEMBER), ("ever".to_owned(), 7));
    }

    #[test]
    fn what_is_no_account_is_refused_and_stays() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("usage.json");
        for bad in [
            "",
            "{",
            "[]",
            "{\"schema\":2,\"radios\":{}}",
            "{\"schema\":1}",
            "{\"schema\":1,\"radios\":{\"wwan0\":{\"period\":\"ever\",\"bytes\":-1}}}",
            "{\"schema\":1,\"radios\":{},\"more\":1}",
        ] {
            fs::write(&file, bad).unwrap();
            let error = UsageFile::open(&file).unwrap_err();
            assert_eq!(error.place.file.as_deref(), Some(&*file), "{bad}");
            assert!(error.expected.contains("take it away"), "{bad}: {error}");
            assert_eq!(fs::read_to_string(&file).unwrap(), bad);
        }
    }

    #[test]
    fn one_at_a_time_has_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("usage.json");
        let book = UsageFile::open(&file).unwrap();
        let error = UsageFile::open(&file).unwrap_err();
        assert!(error.found.contains("another tunnel"), "{error}");
        drop(book);
        UsageFile::open(&file).unwrap();
    }
}
