//! The access log: a line of JSON per answer.
//!
//! A thread of its own writes: no request waits for a disk. Lines beyond those that may wait are
//! lost, and counted.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use airlane_apps::vod::{ClientConnection, Responded};
use airlane_base::InputError;
use parking_lot::Mutex;
use serde::Serialize;
use tracing_appender::non_blocking::{NonBlocking, NonBlockingBuilder, WorkerGuard};

use crate::date;

/// Lines that wait to be written at most.
const WAITING: usize = 4096;
/// Bytes of a path that are written: with it, those of the lines that wait are bounded.
const PATH_BYTES: usize = 4096;

/// A file that gets a line per answer. It is opened anew on request, for log rotation.
#[derive(Debug)]
pub(super) struct AccessLog {
    path: PathBuf,
    lines: NonBlocking,
    /// Where to go on, for the thread that writes.
    next: Arc<Mutex<Option<File>>>,
    /// The thread ends when this is dropped, and all is written then.
    writing: Mutex<Option<WorkerGuard>>,
}

/// What the thread writes to.
struct Writer {
    path: PathBuf,
    file: File,
    next: Arc<Mutex<Option<File>>>,
    /// The last line was not written, which was said.
    failing: bool,
}

impl Write for Writer {
    /// Writes a line, at once, so that lines of several writers do not mix. One that cannot be
    /// written is lost.
    fn write(&mut self, line: &[u8]) -> std::io::Result<usize> {
        if let Some(file) = self.next.lock().take() {
            (self.file, self.failing) = (file, false);
        }
        let written = self.file.write_all(line);
        let failed_before = std::mem::replace(&mut self.failing, written.is_err());
        if let (Err(e), false) = (written, failed_before) {
            tracing::warn!("{}: the access log cannot be written: {e}", self.path.display());
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[derive(Serialize)]
struct Line<'a> {
    time_ms: u64,
    peer: String,
    connection: u64,
    carrier: &'static str,
    method: &'a str,
    path: &'a str,
    status: u16,
    bytes: u64,
    whole: bool,
    took_ms: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arm: Option<&'static str>,
}

impl AccessLog {
    /// Appends to the file at `path`.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub(super) fn open(path: &Path) -> Result<Self, InputError> {
        let next = Arc::<Mutex<Option<File>>>::default();
        let writer = Writer {
            path: path.to_owned(),
            file: append(path)?,
            next: next.clone(),
            failing: false,
        };
        let builder = NonBlockingBuilder::default().buffered_lines_limit(WAITING).lossy(true);
        let (lines, guard) = builder.thread_name("access log").finish(writer);
        Ok(Self { path: path.to_owned(), lines, next, writing: Mutex::new(Some(guard)) })
    }

    /// Goes on in whatever file is called that now.
    pub(super) fn reopen(&self) -> Result<(), InputError> {
        *self.next.lock() = Some(append(&self.path)?);
        Ok(())
    }

    /// Lines that were lost because too many waited.
    pub(super) fn lost(&self) -> usize {
        self.lines.error_counter().dropped_lines()
    }

    /// Waits until all is written, for a second at most. What comes then is lost.
    pub(super) fn close(&self) {
        let guard = self.writing.lock().take();
        drop(guard);
    }

    pub(super) fn write(
        &self,
        client: &ClientConnection,
        responded: &Responded<'_>,
        arm: Option<&'static str>,
    ) {
        let line = Line {
            time_ms: date::now_ms(),
            peer: client.peer.to_string(),
            connection: client.id,
            carrier: client.carrier.name(),
            method: responded.method,
            path: &responded.path[..responded.path.floor_char_boundary(PATH_BYTES)],
            status: responded.status.as_u16(),
            bytes: responded.bytes,
            whole: responded.whole,
            took_ms: (responded.took.as_secs_f64() * 1e6).round() / 1e3,
            session: responded.session,
            arm,
        };
        let Ok(mut text) = serde_json::to_string(&line) else { return };
        text.push('\n');
        // It cannot fail: what there is no room for is counted.
        let _ = self.lines.clone().write_all(text.as_bytes());
    }
}

fn append(path: &Path) -> Result<File, InputError> {
    let file = OpenOptions::new().create(true).append(true).open(path);
    file.map_err(|e| InputError::io(path, "write the access log", &e))
}
