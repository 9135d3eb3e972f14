//! What can go wrong.

use std::io;
use std::path::{Path, PathBuf};

use airlane_base::InputError;
use airlane_vpx::VpxError;

/// Error of a run that made nothing, or not all.
#[derive(Debug, thiserror::Error)]
pub enum PackError {
    /// The request, the video or the manifest cannot be used.
    #[error(transparent)]
    Input(#[from] InputError),
    /// There is no ffmpeg.
    #[error(
        "cannot run {program}: {error}; install ffmpeg 5.1 or later (apt-get install ffmpeg, or \
         pip install imageio-ffmpeg for a static one) or name it with --ffmpeg PATH",
        program = program.display()
    )]
    NoFfmpeg {
        /// Program that was tried.
        program: PathBuf,
        /// Error of the system.
        error: io::Error,
    },
    /// The ffmpeg that was found lacks something.
    #[error(
        "{program} cannot do this: {lacks}; name another with --ffmpeg PATH (pip install \
         imageio-ffmpeg brings one)",
        program = program.display()
    )]
    PoorFfmpeg {
        /// Program that was found.
        program: PathBuf,
        /// Feature that it lacks.
        lacks: String,
    },
    /// ffmpeg gave up.
    #[error("ffmpeg failed {doing}: {reason}")]
    Ffmpeg {
        /// Work that it was to do, such as `encoding 360p`.
        doing: String,
        /// Its own last words.
        reason: String,
    },
    /// Output of ffmpeg that is not what it was asked for.
    #[error("{what} is not as it was asked for: {found}; {expected}")]
    Unexpected {
        /// Rung and chunk.
        what: String,
        /// Fault of the output.
        found: String,
        /// Output that was asked for.
        expected: String,
    },
    /// libvpx is not there, or failed.
    #[error(transparent)]
    Vpx(#[from] VpxError),
    /// A file or folder cannot be read or written.
    #[error("cannot {doing} {path}: {error}", path = path.display())]
    Io {
        /// Action that failed.
        doing: &'static str,
        /// File or folder.
        path: PathBuf,
        /// Error of the system.
        error: io::Error,
    },
    /// Another run works in the folder.
    #[error("{dir} is being worked on by another run", dir = dir.display())]
    Busy {
        /// The folder.
        dir: PathBuf,
    },
    /// The folder holds something else.
    #[error("{dir} holds {holds}; {advice}", dir = dir.display())]
    Occupied {
        /// The folder.
        dir: PathBuf,
        /// Contents of the folder.
        holds: String,
        /// Advice for the user.
        advice: &'static str,
    },
    /// The stop flag was raised. What was whole by then is kept; the same request goes on there.
    #[error("stopped")]
    Stopped,
}

impl PackError {
    /// For `map_err`: an error of the file system.
    pub(crate) fn io(
        doing: &'static str,
        path: impl AsRef<Path>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.as_ref().to_owned();
        move |error| Self::Io { doing, path, error }
    }
}
