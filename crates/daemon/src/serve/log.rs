//! The access log: a line of JSON per answer.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use airlane_apps::vod::{ClientConnection, Responded};
use airlane_base::InputError;
use parking_lot::Mutex;
use serde::Serialize;

use crate::date;

/// A file that gets a line per answer. It is opened anew on request, for log rotation.
#[derive(Debug)]
pub(super) struct AccessLog {
    path: PathBuf,
    open: Mutex<Open>,
}

#[derive(Debug)]
struct Open {
    file: File,
    /// The last line was not written, which was said.
    failing: bool,
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
        Ok(Self { path: path.to_owned(), open: Mutex::new(append(path)?) })
    }

    /// Goes on in whatever file is called that now.
    pub(super) fn reopen(&self) -> Result<(), InputError> {
        *self.open.lock() = append(&self.path)?;
        Ok(())
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
            path: responded.path,
            status: responded.status.as_u16(),
            bytes: responded.bytes,
            whole: responded.whole,
            took_ms: (responded.took.as_secs_f64() * 1e6).round() / 1e3,
            session: responded.session,
            arm,
        };
        let Ok(mut text) = serde_json::to_string(&line) else { return };
        text.push('\n');
        // One write per line, so that lines of several writers do not mix.
        let mut open = self.open.lock();
        let written = open.file.write_all(text.as_bytes());
        let failed_before = std::mem::replace(&mut open.failing, written.is_err());
        if let (Err(e), false) = (written, failed_before) {
            tracing::warn!("{}: the access log cannot be written: {e}", self.path.display());
        }
    }
}

fn append(path: &Path) -> Result<Open, InputError> {
    let file = OpenOptions::new().create(true).append(true).open(path);
    let file = file.map_err(|e| InputError::io(path, "write the access log", &e))?;
    Ok(Open { file, failing: false })
}
