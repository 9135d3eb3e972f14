//! Where the bytes of a capture come from: a file, or a pipe that may stall.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use airlane_sim::pool::StopFlag;

/// The name of the standard input.
pub(super) const STDIN: &str = "-";

/// Maximum time of a wait for a pipe before a stop is checked for.
const STOP_INTERVAL: Duration = Duration::from_millis(100);
/// Bytes that are read of a pipe at once, and how many such blocks wait at most.
const BLOCK: usize = 1 << 16;
const MAX_BLOCKS: usize = 16;

/// The bytes of a capture. After a stop there are no more of them, even where a pipe stalls.
pub(super) struct Source {
    from: From,
    /// Bytes read so far.
    bytes: Arc<AtomicU64>,
    stop: StopFlag,
}

enum From {
    File(File),
    /// Pipe that a thread of its own reads, which may wait for ever.
    Pipe {
        blocks: Receiver<io::Result<Vec<u8>>>,
        block: io::Cursor<Vec<u8>>,
    },
}

impl Source {
    /// Opens a file, a pipe, or the standard input ([`STDIN`]); and its length, where it has one.
    pub(super) fn open(path: &Path, stop: StopFlag) -> io::Result<(Self, u64)> {
        let is_stdin = path.as_os_str() == STDIN;
        let known = if is_stdin { None } else { Some(fs::metadata(path)?) };
        let (from, len) = match known.filter(|known| known.is_file() || known.is_dir()) {
            Some(known) => (From::File(File::open(path)?), known.len()),
            None => (pipe((!is_stdin).then(|| path.to_owned()))?, 0),
        };
        Ok((Self { from, bytes: Arc::default(), stop }, len))
    }

    /// Number of bytes read so far.
    pub(super) fn count(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.bytes)
    }
}

/// Reads on a thread: opening and reading a pipe wait for whoever writes.
fn pipe(path: Option<PathBuf>) -> io::Result<From> {
    let (send, blocks) = mpsc::sync_channel(MAX_BLOCKS);
    let read = move || {
        let opened: io::Result<Box<dyn Read>> = match path {
            Some(path) => File::open(path).map(|file| Box::new(file) as Box<dyn Read>),
            None => Ok(Box::new(io::stdin())),
        };
        let mut source = match opened {
            Ok(source) => source,
            Err(error) => {
                // Nobody may be left who wants to know.
                let _ = send.send(Err(error));
                return;
            }
        };
        let mut block = vec![0; BLOCK];
        loop {
            let came = match source.read(&mut block) {
                Ok(0) => return,
                Ok(n) => Ok(block[..n].to_vec()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => Err(error),
            };
            let is_over = came.is_err();
            if send.send(came).is_err() || is_over {
                return;
            }
        }
    };
    std::thread::Builder::new().name("capture".to_owned()).spawn(read)?;
    Ok(From::Pipe { blocks, block: io::Cursor::default() })
}

impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = loop {
            if self.stop.is_stopped() {
                return Ok(0);
            }
            match &mut self.from {
                From::File(file) => break file.read(buffer)?,
                From::Pipe { blocks, block } => {
                    let n = block.read(buffer)?;
                    if n > 0 || buffer.is_empty() {
                        break n;
                    }
                    match blocks.recv_timeout(STOP_INTERVAL) {
                        Ok(came) => *block = io::Cursor::new(came?),
                        Err(RecvTimeoutError::Timeout) => {}
                        Err(RecvTimeoutError::Disconnected) => return Ok(0),
                    }
                }
            }
        };
        self.bytes.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}
