//! Captures of the air of a run: 802.11 with radiotap, as a monitor on the channel would have written it.
//!
//! One of each channel, `LABEL.air-ACCESS.pcap`, by a monitor that misses nothing; and one of each host whose
//! agent of Cupid listens, `LABEL.air-heard-by-HOST.pcap`, of what its own radio made out. Times are virtual
//! time. `airlane airtime` reads them, and so does Wireshark.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use airlane_base::InputError;
use airlane_capture::{CaptureError, Writer};
use airlane_net::NodeId;
use airlane_net::air::Air;
use airlane_wifi::Heard;
use parking_lot::{Mutex, MutexGuard};

use super::network::MeasuredDirection;
use crate::error::LabError;
use crate::pcap::file_name;

/// The captures of the air of one run.
#[derive(Debug)]
pub(super) struct AirCaptures {
    /// Directory of the files; their names begin with `label`.
    dir: PathBuf,
    label: String,
    all: Vec<AirCapture>,
}

impl AirCaptures {
    /// Captures the air of each channel among these ways into files of `dir` named after `label`.
    ///
    /// # Errors
    /// If a file cannot be made.
    pub(super) fn attach(
        ways: &[MeasuredDirection],
        dir: &Path,
        label: &str,
    ) -> Result<Self, InputError> {
        let mut captures = Self { dir: dir.to_owned(), label: file_name(label), all: Vec::new() };
        // Several access points may be on a channel.
        let mut channels: Vec<(NodeId, Air, Vec<&str>)> = Vec::new();
        for way in ways {
            let Some(on_air) = &way.on_air else { continue };
            let node = way.carrier.node;
            match channels.iter_mut().find(|channel| channel.0 == node) {
                None => channels.push((node, on_air.air.clone(), vec![&on_air.access])),
                Some((_, _, names)) if !names.contains(&on_air.access.as_str()) => {
                    names.push(&on_air.access);
                }
                Some(_) => {}
            }
        }
        for (_, air, names) in channels {
            let capture = captures.named(&format!("air-{}", names.join("+")));
            capture.sink().begin(&capture.file);
            if let Sink::Broken(error) = &*capture.sink() {
                return Err(InputError::new(error.clone(), "").at_file(&capture.file));
            }
            air.monitor(move |heard| capture.write(heard));
        }
        Ok(captures)
    }

    /// A capture of what a host hears; its file is made when there is something.
    pub(super) fn heard_by(&mut self, host: &str) -> AirCapture {
        self.named(&format!("air-heard-by-{host}"))
    }

    fn named(&mut self, what: &str) -> AirCapture {
        // As other names of files, but that names of access points that share a channel are told apart.
        let what: Vec<String> = what.split('+').map(file_name).collect();
        let file = self.dir.join(format!("{}.{}.pcap", self.label, what.join("+")));
        let capture = AirCapture { file, sink: Arc::new(Mutex::new(Sink::Waiting)) };
        self.all.push(capture.clone());
        capture
    }

    /// Closes the files: what is in the air from now on is in none.
    pub(super) fn finish(self) -> Result<(), LabError> {
        self.all.into_iter().try_for_each(AirCapture::finish)
    }
}

/// A capture that runs.
#[derive(Clone, Debug)]
pub struct AirCapture {
    file: PathBuf,
    sink: Arc<Mutex<Sink>>,
}

/// Destination of records.
enum Sink {
    /// Nothing was heard yet.
    Waiting,
    Open(Writer<BufWriter<File>>),
    /// The disk has refused, or a record could not be written.
    Broken(String),
    /// It is closed.
    Ended,
}

impl Sink {
    /// Makes the file.
    fn begin(&mut self, file: &Path) {
        *self = match File::create(file) {
            Ok(made) => match Writer::new(BufWriter::new(made)) {
                Ok(writer) => Self::Open(writer),
                Err(error) => Self::Broken(error.to_string()),
            },
            Err(error) => Self::Broken(CaptureError::Io { doing: "write", error }.to_string()),
        };
    }
}

impl AirCapture {
    fn sink(&self) -> MutexGuard<'_, Sink> {
        self.sink.lock()
    }

    /// Writes a record.
    pub(super) fn write(&self, heard: &Heard) {
        let mut sink = self.sink();
        if matches!(*sink, Sink::Waiting) {
            sink.begin(&self.file);
        }
        if let Sink::Open(writer) = &mut *sink
            && let Err(error) = writer.write(heard)
        {
            *sink = Sink::Broken(error.to_string());
        }
    }

    fn finish(self) -> Result<(), LabError> {
        let error = match std::mem::replace(&mut *self.sink(), Sink::Ended) {
            Sink::Waiting | Sink::Ended => return Ok(()),
            Sink::Open(writer) => match writer.finish() {
                Ok(_) => return Ok(()),
                Err(error) => error.to_string(),
            },
            Sink::Broken(error) => error,
        };
        let about = format!("the capture of the air is cut short: {error}");
        Err(InputError::new(about, "free space").at_file(&self.file).into())
    }
}

impl std::fmt::Debug for Sink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Waiting => "Waiting",
            Self::Open(_) => "Open",
            Self::Broken(_) => "Broken",
            Self::Ended => "Ended",
        })
    }
}
