//! Where what was received goes: pictures and times, written beside the receiving.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, SyncSender, TrySendError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use airlane_base::InputError;
use airlane_live::ReceivedLayer;

/// Pieces that may wait to be written: some seconds of a stream.
const MAX_WAITING: usize = 256;

/// A file, or the standard output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WriteTo {
    /// A file, which is replaced.
    File(PathBuf),
    /// The standard output.
    Stdout,
}

impl WriteTo {
    pub(super) fn open(&self) -> Result<Box<dyn Write + Send>, InputError> {
        Ok(match self {
            Self::File(path) => Box::new(create(path)?),
            Self::Stdout => Box::new(io::stdout()),
        })
    }
}

fn create(path: &PathBuf) -> Result<File, InputError> {
    File::create(path).map_err(|e| InputError::io(path, "write", &e))
}

/// Writes on a thread of its own: whoever reads a pipe slowly must not stop the receiving.
#[derive(Debug)]
pub(super) struct Writing {
    to: SyncSender<Vec<u8>>,
    thread: JoinHandle<io::Result<()>>,
}

/// Result of handing over a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// It is written in its turn.
    Yes,
    /// Too much waits: it is not written.
    No,
    /// Nobody reads any more, or writing failed.
    Ended,
}

impl Writing {
    pub(super) fn start(mut to: Box<dyn Write + Send>) -> Result<Self, InputError> {
        let (sender, pieces): (_, Receiver<Vec<u8>>) = mpsc::sync_channel(MAX_WAITING);
        let write = move || {
            for piece in pieces {
                to.write_all(&piece)?;
                to.flush()?;
            }
            Ok(())
        };
        let thread = thread::Builder::new().name("live output".to_owned()).spawn(write);
        let thread =
            thread.map_err(|e| InputError::new(format!("no thread to write on: {e}"), ""))?;
        Ok(Self { to: sender, thread })
    }

    pub(super) fn take(&self, piece: Vec<u8>) -> Taken {
        match self.to.try_send(piece) {
            Ok(()) => Taken::Yes,
            Err(TrySendError::Full(_)) => Taken::No,
            Err(TrySendError::Disconnected(_)) => Taken::Ended,
        }
    }

    /// Waits until all is written. That nobody reads any more is no error.
    pub(super) fn finish(self) -> Result<(), InputError> {
        drop(self.to);
        match self.thread.join() {
            Ok(Err(e)) if e.kind() != io::ErrorKind::BrokenPipe => {
                Err(InputError::new(format!("cannot write: {e}"), "check the path and the disk"))
            }
            Ok(_) => Ok(()),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

/// Writes when which frame could be decoded up to which layer, a line each.
pub(super) struct Times {
    to: BufWriter<File>,
    path: PathBuf,
    /// Time that our clock shows when the runtime's shows 0.
    clock: Duration,
}

impl Times {
    pub(super) fn create(path: PathBuf, clock: Duration) -> Result<Self, InputError> {
        let mut times = Self { to: BufWriter::new(create(&path)?), path, clock };
        times.line("frame,layer,encoding,handed_s,came_s\n")?;
        Ok(times)
    }

    pub(super) fn add(&mut self, layer: &ReceivedLayer) -> Result<(), InputError> {
        let handed = layer.header.handed.since_start().as_secs_f64();
        let came = (self.clock + layer.at.since_start()).as_secs_f64();
        for decoded in &layer.decoded {
            let (frame, encoding) = (decoded.frame, layer.header.encoding);
            let up_to = decoded.layers.count().saturating_sub(1);
            self.line(&format!("{frame},{up_to},{encoding},{handed:.6},{came:.6}\n"))?;
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<(), InputError> {
        self.to.flush().map_err(|e| InputError::io(&self.path, "write", &e))
    }

    fn line(&mut self, line: &str) -> Result<(), InputError> {
        self.to.write_all(line.as_bytes()).map_err(|e| InputError::io(&self.path, "write", &e))
    }
}
