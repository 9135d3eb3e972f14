//! The journal of a command that runs many worlds: what has finished, a line per world, so that the
//! next start goes on where this one ended.

mod identity;

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use airlane_base::{Fnv64, InputError};
use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::leave::RunCounts;
use crate::reporting::words;
pub use identity::{Identities, set_program, world_of};

/// The command that keeps a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JournalKind {
    /// `airlane sweep`, a [`RunResult`](airlane_sim::workload::RunResult) per world.
    Sweep,
    /// `airlane reproduce`, a [`ClaimRecord`](airlane_sim::workload::ClaimRecord) per world.
    Reproduce,
}

impl JournalKind {
    fn name(self) -> &'static str {
        match self {
            Self::Sweep => "sweep",
            Self::Reproduce => "reproduce",
        }
    }

    /// The file in the folder of results.
    pub fn file(self) -> String {
        format!("{}.journal.jsonl", self.name())
    }

    /// Sentences for people: what was there from before, what could not be used, how to go on.
    pub fn remarks(self, course: RunCounts, damaged: usize) -> Vec<String> {
        let RunCounts { planned, reused, stopped, .. } = course;
        let mut remarks = Vec::new();
        if reused > 0 {
            remarks.push(format!("{reused} of {planned} runs were there from before."));
        }
        if damaged > 0 {
            let lines = words::plural(damaged, "damaged line");
            remarks.push(format!("{lines} of {} left out.", self.file()));
        }
        if stopped {
            remarks.push("The same command goes on from here.".to_owned());
        }
        remarks
    }

    /// The first line.
    fn head(self) -> String {
        let version = match self {
            Self::Sweep => 2,
            Self::Reproduce => 1,
        };
        format!("{{\"format\":\"airlane-{}-journal\",\"version\":{version}}}", self.name())
    }
}

/// Interval after which a write syncs the journal to the disk.
const SYNC_EVERY: Duration = Duration::from_secs(1);

/// A line: an entry, and a hash that tells a damaged one.
#[derive(Serialize, Deserialize)]
struct Line<K, R> {
    check: String,
    entry: Entry<K, R>,
}

/// A world that has finished.
#[derive(Serialize, Deserialize)]
struct Entry<K, R> {
    /// [`Identities::key`] of the world.
    key: K,
    /// Description of the world when it ran, for people.
    what: K,
    record: R,
}

/// A journal open for appending, and locked against other processes.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    file: File,
    synced: Duration,
}

/// Content of a journal that was opened.
#[derive(Debug)]
pub struct JournalContent<R> {
    /// The worlds, by key.
    pub records: BTreeMap<String, R>,
    /// Lines that could not be used: torn or changed.
    pub damaged: usize,
}

impl Journal {
    /// Opens the journal of a folder or makes it, and reads what it holds; `fresh` throws that
    /// away. A last line that was cut off while it was written is taken off.
    ///
    /// # Errors
    /// If the disk refuses, another command holds the journal, or the file is something else.
    pub fn open<R: Serialize + DeserializeOwned>(
        folder: &Path,
        keeper: JournalKind,
        fresh: bool,
    ) -> Result<(Self, JournalContent<R>), InputError> {
        let path = folder.join(keeper.file());
        let io = |e: std::io::Error| InputError::io(&path, "use the journal", &e);
        let options =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).clone();
        let mut file = options.open(&path).map_err(io)?;
        // Where a file system has no locks, two commands in one folder are the user's affair.
        if let Err(TryLockError::WouldBlock) = file.try_lock() {
            let name = keeper.name();
            let expected = format!(
                "expected a folder that no other `airlane {name}` is writing to: see --out"
            );
            return Err(InputError::new("in use", expected).at_file(&path));
        }
        let mut bytes = Vec::new();
        if !fresh {
            file.read_to_end(&mut bytes).map_err(io)?;
        }
        let whole = bytes.iter().rposition(|b| *b == b'\n').map_or(0, |last| last + 1);
        let torn = usize::from(whole < bytes.len());
        bytes.truncate(whole);
        let mut found = parse(&bytes, keeper).map_err(|e| e.at_file(&path))?;
        found.damaged += torn;
        file.set_len(whole as u64).and_then(|()| file.seek(SeekFrom::End(0))).map_err(io)?;
        if whole == 0 {
            file.write_all(format!("{}\n", keeper.head()).as_bytes()).map_err(io)?;
        }
        let state = Mutex::new(State { file, synced: Duration::ZERO });
        Ok((Self { path, state }, found))
    }

    /// Adds a world; `elapsed` is the time since the command started. Once it is back, the end of
    /// this process does no harm to the line, and after a second at most nor does the end of the
    /// machine.
    ///
    /// # Errors
    /// If the disk refuses.
    pub fn add<R: Serialize>(
        &self,
        key: &str,
        what: &str,
        record: &R,
        elapsed: Duration,
    ) -> Result<(), InputError> {
        let entry = Entry { key, what, record };
        let mut line = json(&Line { check: check(&entry), entry });
        line.push('\n');
        let mut state = self.state.lock();
        let due = elapsed.saturating_sub(state.synced) >= SYNC_EVERY;
        let written = state.file.write_all(line.as_bytes());
        let written = written.and_then(|()| if due { state.file.sync_data() } else { Ok(()) });
        if due {
            state.synced = elapsed;
        }
        written.map_err(|e| InputError::io(&self.path, "write", &e))
    }

    /// Brings everything to the disk.
    ///
    /// # Errors
    /// If the disk refuses.
    pub fn sync(&self) -> Result<(), InputError> {
        let state = self.state.lock();
        state.file.sync_all().map_err(|e| InputError::io(&self.path, "write", &e))
    }
}

/// Reads a journal wherever it lies, and leaves it alone.
///
/// # Errors
/// If the file cannot be read, or is something else.
pub fn read<R: Serialize + DeserializeOwned>(
    file: &Path,
    keeper: JournalKind,
) -> Result<JournalContent<R>, InputError> {
    let bytes = std::fs::read(file).map_err(|e| InputError::io(file, "read the journal", &e))?;
    parse(&bytes, keeper).map_err(|e| e.at_file(file))
}

fn parse<R: Serialize + DeserializeOwned>(
    bytes: &[u8],
    keeper: JournalKind,
) -> Result<JournalContent<R>, InputError> {
    let mut found = JournalContent { records: BTreeMap::new(), damaged: 0 };
    let mut lines = bytes.split_inclusive(|b| *b == b'\n').map(<[u8]>::trim_ascii_end);
    match lines.next() {
        None => return Ok(found),
        Some(head) if head == keeper.head().as_bytes() => {}
        Some(_) => {
            let found = format!("no journal of `airlane {}`", keeper.name());
            let expected = "expected one that this airlane began; --fresh starts over";
            return Err(InputError::new(found, expected).at_line(1));
        }
    }
    for line in lines {
        match serde_json::from_slice::<Line<String, R>>(line) {
            Ok(Line { check: told, entry }) if told == check(&entry) => {
                found.records.insert(entry.key, entry.record);
            }
            _ => found.damaged += 1,
        }
    }
    Ok(found)
}

/// Numbers are written as the shortest text that reads back as the same number, so what was read
/// is written again as the same bytes.
fn check<K: Serialize, R: Serialize>(entry: &Entry<K, R>) -> String {
    let mut hash = Fnv64::new();
    hash.write(json(entry).as_bytes());
    format!("{:016x}", hash.finish())
}

fn json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("texts and finite numbers")
}

#[cfg(test)]
mod tests {
    use super::*;
    use airlane_sim::workload::{ActorResult, RunResult};

    const KEEPER: JournalKind = JournalKind::Sweep;

    /// A folder of its own for each test, gone when the test is.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let name = format!("airlane-journal-{name}-{}", std::process::id());
            let dir = std::env::temp_dir().join(name);
            std::fs::create_dir_all(&dir).unwrap();
            Self(dir)
        }

        fn open(&self) -> (Journal, JournalContent<RunResult>) {
            Journal::open(&self.0, KEEPER, false).unwrap()
        }

        fn file(&self) -> PathBuf {
            self.0.join(KEEPER.file())
        }

        fn bytes(&self) -> Vec<u8> {
            std::fs::read(self.file()).unwrap()
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn record(value: f64) -> RunResult {
        let mut actor = ActorResult { name: "v1".to_owned(), ..ActorResult::default() };
        actor.figures.add("qoe", airlane_sim::workload::Unit::POINTS, Some(value));
        let packet_hash = Some("0a".to_owned());
        RunResult { packet_hash, virtual_s: 8.0, actors: vec![actor], ..RunResult::default() }
    }

    #[test]
    fn a_journal_cut_anywhere_gives_back_every_line_that_is_whole() {
        let scratch = Scratch::new("cut");
        let (journal, found) = scratch.open();
        assert_eq!((found.records.len(), found.damaged), (0, 0));
        for i in 0..3 {
            let value = 0.1 + f64::from(i);
            journal.add(&format!("k{i}"), "x, y", &record(value), Duration::ZERO).unwrap();
        }
        drop(journal);
        let whole = scratch.bytes();
        let ends: Vec<usize> =
            (0..whole.len()).filter(|i| whole[*i] == b'\n').map(|i| i + 1).collect();
        for cut in 0..=whole.len() {
            std::fs::write(scratch.file(), &whole[..cut]).unwrap();
            let (journal, found) = scratch.open();
            let lines = ends.iter().filter(|e| **e <= cut).count();
            assert_eq!(found.records.len(), lines.saturating_sub(1), "cut at {cut}");
            assert_eq!(found.damaged, usize::from(cut > 0 && !ends.contains(&cut)), "cut at {cut}");
            // What is added now stands on a line of its own.
            journal.add("new", "", &record(7.5), Duration::ZERO).unwrap();
            drop(journal);
            let (_, found) = scratch.open();
            assert_eq!((found.records.len(), found.damaged), (lines.max(1), 0), "cut at {cut}");
            assert_eq!(found.records["new"], record(7.5));
        }
    }

    #[test]
    fn a_line_that_was_changed_is_left_out() {
        let scratch = Scratch::new("changed");
        let (journal, _) = scratch.open();
        for key in ["a", "b"] {
            journal.add(key, "", &record(12.5), Duration::ZERO).unwrap();
        }
        drop(journal);
        let text = String::from_utf8(scratch.bytes()).unwrap();
        std::fs::write(scratch.file(), text.replacen("12.5", "13.5", 1)).unwrap();
        let (_, found) = scratch.open();
        let keys: Vec<&str> = found.records.keys().map(String::as_str).collect();
        assert_eq!((keys, found.damaged), (vec!["b"], 1));
    }

    #[test]
    fn a_file_that_is_none_and_one_in_use_are_refused() {
        let scratch = Scratch::new("refused");
        std::fs::write(scratch.file(), "something\n").unwrap();
        let open = |fresh| Journal::open::<RunResult>(&scratch.0, KEEPER, fresh);
        let error = open(false).unwrap_err().to_string();
        let wrong = format!("{}:1: no journal of `airlane sweep`; ", KEEPER.file());
        assert!(error.contains(&wrong), "{error}");
        assert_eq!(scratch.bytes(), b"something\n", "and are left alone");
        let (_held, found) = open(true).unwrap();
        let head = format!("{}\n", KEEPER.head());
        assert_eq!((found.records.len(), scratch.bytes()), (0, head.into_bytes()));
        let error = open(false).unwrap_err().to_string();
        assert!(error.contains("in use"), "{error}");
    }
}
