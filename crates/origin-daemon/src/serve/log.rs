//! The access log: a line of JSON per answer.
//!
//! A thread of its own writes: no request waits for a disk. Lines beyond those that may wait are
//! lost, and counted.

use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use airlane_base::{InputError, is_hidden};
use airlane_origin::{ClientConnection, Responded};
use parking_lot::Mutex;
use serde::Serialize;
use tracing_appender::non_blocking::{NonBlocking, NonBlockingBuilder, WorkerGuard};

use airlane_host::date;

/// Lines that wait to be written at most.
const WAITING: usize = 4096;
/// Bytes of a path that are written: with it, those of the lines that wait are bounded.
const PATH_BYTES: usize = 4096;

/// A file that gets a line per answer. It is opened anew on request, for log rotation.
#[derive(Debug)]
pub(super) struct AccessLog {
    path: PathBuf,
    lines: NonBlocking,
    /// New file of the log, in which the thread that writes continues.
    next: Arc<Mutex<Option<File>>>,
    /// The thread ends when this is dropped, and all is written then.
    writing: Mutex<Option<WorkerGuard>>,
}

/// Writer of the log's thread, with its file.
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
        let Ok(text) = serde_json::to_string(&line) else { return };
        let mut text = without_hidden(text);
        text.push('\n');
        // It cannot fail: what there is no room for is counted.
        let _ = self.lines.clone().write_all(text.as_bytes());
    }
}

/// JSON in which what a terminal would act on is escaped: JSON itself only asks for that of the first
/// 32 characters.
fn without_hidden(json: String) -> String {
    if !json.contains(is_hidden) {
        return json;
    }
    let mut out = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if is_hidden(c) {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                // Writing to a String cannot fail.
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    out
}

/// Opens the log, which has addresses of clients: its owner and group may read it (0640), and nobody
/// else, who may have had the right before.
fn append(path: &Path) -> Result<File, InputError> {
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o640);
    let file = options.open(path).map_err(|e| InputError::io(path, "write the access log", &e))?;
    #[cfg(unix)]
    close_to_others(&file);
    Ok(file)
}

#[cfg(unix)]
fn close_to_others(file: &File) {
    use std::os::unix::fs::PermissionsExt;
    let Ok(about) = file.metadata() else { return };
    let mode = about.permissions().mode() & 0o777;
    // A pipe or a terminal is somebody else's.
    if about.is_file() && mode & !0o640 != 0 {
        // Fails where the file is another user's, who then decides.
        let _ = file.set_permissions(PermissionsExt::from_mode(mode & 0o640));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_nothing_that_a_terminal_would_act_on() {
        let text = "/\u{202e}fm\u{1b}\u{9b}\u{e0041}\u{e9}";
        let json = without_hidden(serde_json::to_string(text).unwrap());
        assert_eq!(json, r#""/\u202efm\u001b\u009b\udb40\udc41é""#);
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
    }

    #[cfg(unix)]
    #[test]
    fn the_log_is_for_its_owner_and_group() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("access.log");
        let mode = || std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        let log = AccessLog::open(&path).unwrap();
        assert_eq!(mode() & !0o640, 0);
        // After rotation, and where one was there for everybody.
        std::fs::rename(&path, folder.path().join("access.log.1")).unwrap();
        log.reopen().unwrap();
        assert_eq!(mode() & !0o640, 0);
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o666)).unwrap();
        log.reopen().unwrap();
        assert_eq!(mode(), 0o640);
        log.close();
    }
}
