//! Raw video that comes from somewhere: a pipe, a file, a reader.

use std::fs::File;
use std::io::{self, BufReader, IsTerminal, Read};
use std::path::PathBuf;
use std::thread;

use airlane_base::InputError;
use airlane_media::y4m::{Header, Reader};
use tokio::sync::{mpsc, oneshot};

/// Bytes of a pipe that are read at once.
const BUFFER: usize = 64 << 10;

/// Source of raw video.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadFrom {
    /// The standard input.
    Stdin,
    /// A file, or a named pipe.
    File(PathBuf),
}

/// A stream of raw video whose header was read. It is read on a thread of its own, one picture ahead.
#[derive(Debug)]
pub struct VideoInput {
    pub(super) name: String,
    pub(super) header: Header,
    /// It was recorded: it is there at once, and played at its own frame rate.
    pub(super) is_recorded: bool,
    /// Pictures, and the error that ends them, if one does.
    pub(super) pictures: mpsc::Receiver<Result<Vec<u8>, InputError>>,
}

impl VideoInput {
    /// Opens it and waits for its header.
    ///
    /// # Errors
    /// If it cannot be opened, is a terminal, or is no raw video that can be encoded.
    pub async fn open(from: &ReadFrom) -> Result<Self, InputError> {
        match from {
            ReadFrom::Stdin => {
                let name = "standard input".to_owned();
                Self::start(name, || {
                    let stdin = io::stdin();
                    if stdin.is_terminal() {
                        let expected = "pipe raw video into it: `ffmpeg ... -pix_fmt yuv420p -f yuv4mpegpipe -`";
                        return Err(InputError::new("it is a terminal", expected));
                    }
                    let is_recorded = is_file(&stdin);
                    Ok((stdin, is_recorded))
                })
                .await
            }
            ReadFrom::File(path) => {
                let (name, path) = (path.display().to_string(), path.clone());
                // Of a named pipe it waits for somebody who writes.
                Self::start(name, move || {
                    let file = File::open(&path);
                    let file = file.map_err(|e| InputError::io(&path, "read the video", &e))?;
                    let is_recorded = is_file(&file);
                    Ok((file, is_recorded))
                })
                .await
            }
        }
    }

    /// Video from a reader, as from a pipe, or as from a file if it `is_recorded`. `name` is for
    /// messages.
    ///
    /// # Errors
    /// If it is no raw video that can be encoded.
    pub async fn of(
        name: &str,
        from: impl Read + Send + 'static,
        is_recorded: bool,
    ) -> Result<Self, InputError> {
        Self::start(name.to_owned(), move || Ok((from, is_recorded))).await
    }

    /// Pictures like `header` as they come out of a queue, from wherever on the runtime; an error ends
    /// them. `name` is for messages.
    pub fn queued(
        name: &str,
        header: Header,
        is_recorded: bool,
        pictures: mpsc::Receiver<Result<Vec<u8>, InputError>>,
    ) -> Self {
        Self { name: name.to_owned(), header, is_recorded, pictures }
    }

    async fn start<R: Read>(
        name: String,
        open: impl FnOnce() -> Result<(R, bool), InputError> + Send + 'static,
    ) -> Result<Self, InputError> {
        let (opened, is_open) = oneshot::channel();
        let (to, pictures) = mpsc::channel(1);
        let begin = || {
            let (from, is_recorded) = open()?;
            Ok((Reader::new(BufReader::with_capacity(BUFFER, from))?, is_recorded))
        };
        let file = name.clone();
        let read = move || {
            let reader = match begin() {
                Ok((reader, is_recorded)) => {
                    let header = *reader.header();
                    opened.send(Ok((header, is_recorded))).ok().map(|()| reader)
                }
                Err(e) => {
                    // Nobody waits for it any more if all has ended.
                    let _ = opened.send(Err(e));
                    None
                }
            };
            if let Some(reader) = reader {
                pass_on(reader, &file, &to);
            }
        };
        let spawned = thread::Builder::new().name("live input".to_owned()).spawn(read);
        spawned.map_err(|e| InputError::new(format!("no thread to read on: {e}"), ""))?;
        let ended = || Err(InputError::new("reading it has ended", ""));
        let opened = is_open.await.unwrap_or_else(|_| ended());
        let (header, is_recorded) = opened.map_err(|e| e.at_file(&name))?;
        Ok(Self { name, header, is_recorded, pictures })
    }

    /// Header of the video: the format of its pictures.
    pub fn header(&self) -> &Header {
        &self.header
    }
}

/// Hands pictures over until there are no more, or nobody wants them.
fn pass_on(
    mut reader: Reader<impl Read>,
    file: &str,
    to: &mpsc::Sender<Result<Vec<u8>, InputError>>,
) {
    loop {
        let mut picture = Vec::new();
        let next = match reader.read(&mut picture) {
            Ok(true) => Ok(picture),
            Ok(false) => return,
            Err(e) => Err(e.at_file(file)),
        };
        let is_last = next.is_err();
        if to.blocking_send(next).is_err() || is_last {
            return;
        }
    }
}

/// True for a file that is there at once.
#[cfg(unix)]
fn is_file(of: &impl std::os::fd::AsFd) -> bool {
    let own = of.as_fd().try_clone_to_owned();
    own.and_then(|own| File::from(own).metadata()).is_ok_and(|data| data.is_file())
}

/// True for a file that is there at once: on this system never.
#[cfg(not(unix))]
fn is_file<T>(_: &T) -> bool {
    false
}
