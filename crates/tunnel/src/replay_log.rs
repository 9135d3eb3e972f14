//! Tokens that were taken, in files, so that a server that is started again takes none twice.
//!
//! An authorisation token is good for twice [`MAX_SKEW_MS`] after it was taken at most. Each file holds those that
//! were taken in such a time, so that the latest two hold all that are good; older ones are removed.
//! Several serving ends with one key may append to them at once.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use airlane_base::InputError;

use super::auth_token::{ClientId, MAX_SKEW_MS, NONCE_BYTES, Nonce};
use airlane_host::secret_file;

/// Time that a file is for, milliseconds.
const EPOCH_MS: u64 = 2 * MAX_SKEW_MS;
/// Bytes of a record: client, time, nonce, channel.
const RECORD_BYTES: usize = 8 + 8 + NONCE_BYTES + 1;
/// Bytes that are read of a file at most.
const MAX_BYTES: u64 = 64 << 20;

/// An authorisation token that was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AcceptedToken {
    pub(crate) client: ClientId,
    /// Time at which it was made, milliseconds since 1970.
    pub(crate) time_ms: u64,
    pub(crate) nonce: Nonce,
    pub(crate) channel: u8,
}

impl AcceptedToken {
    fn encode(&self) -> [u8; RECORD_BYTES] {
        let mut out = [0; RECORD_BYTES];
        out[..8].copy_from_slice(&self.client);
        out[8..16].copy_from_slice(&self.time_ms.to_be_bytes());
        out[16..RECORD_BYTES - 1].copy_from_slice(&self.nonce);
        out[RECORD_BYTES - 1] = self.channel;
        out
    }

    fn decode(from: &[u8]) -> Option<Self> {
        let (client, rest) = from.split_first_chunk::<8>()?;
        let (time, rest) = rest.split_first_chunk::<8>()?;
        let (nonce, rest) = rest.split_first_chunk::<NONCE_BYTES>()?;
        let time_ms = u64::from_be_bytes(*time);
        Some(Self { client: *client, time_ms, nonce: *nonce, channel: *rest.first()? })
    }
}

/// The files of the authorisation tokens that a serving end has taken.
pub(crate) struct ReplayLog {
    folder: PathBuf,
    /// Beginning of the names of its files.
    name: String,
    /// The files that are read: the time's before and the time's own.
    files: Vec<EpochFile>,
    /// True if it was said that they cannot be written.
    is_broken: bool,
}

struct EpochFile {
    epoch: u64,
    file: File,
    /// Bytes of it that were read.
    read: u64,
}

impl ReplayLog {
    /// Those of the key that `name` stands for, in a folder of their owner's alone.
    ///
    /// # Errors
    /// If files cannot be made there.
    pub(crate) fn open(folder: &Path, name: String, now_ms: u64) -> Result<Self, InputError> {
        secret_file::make_folder(folder)?;
        let mut log = Self { folder: folder.to_owned(), name, files: Vec::new(), is_broken: false };
        log.turn(now_ms).map_err(|e| InputError::io(folder, "write to", &e))?;
        Ok(log)
    }

    fn path(&self, epoch: u64) -> PathBuf {
        self.folder.join(format!("{}.{epoch}", self.name))
    }

    /// Opens the files of the time, and removes those that are of no more use.
    fn turn(&mut self, now_ms: u64) -> io::Result<()> {
        let now = now_ms / EPOCH_MS;
        if self.files.last().is_some_and(|last| last.epoch == now) {
            return Ok(());
        }
        self.files.retain(|of| (now.saturating_sub(1)..=now).contains(&of.epoch));
        for epoch in [now.saturating_sub(1), now] {
            if self.files.iter().all(|of| of.epoch != epoch) {
                let mut options = OpenOptions::new();
                options.read(true).append(true).create(true);
                #[cfg(unix)]
                std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
                let mut file = options.open(self.path(epoch))?;
                align(&mut file)?;
                self.files.push(EpochFile { epoch, file, read: 0 });
            }
        }
        self.files.sort_by_key(|of| of.epoch);
        for entry in fs::read_dir(&self.folder)?.flatten() {
            let name = entry.file_name();
            let epoch = name.to_str().and_then(|n| n.strip_prefix(&self.name)?.strip_prefix('.'));
            let is_old = epoch.and_then(|e| e.parse::<u64>().ok()).is_some_and(|e| e + 1 < now);
            if is_old {
                let _ = fs::remove_file(entry.path());
            }
        }
        Ok(())
    }

    /// Tokens that were appended since this was asked last.
    pub(crate) fn news(&mut self, now_ms: u64) -> Vec<AcceptedToken> {
        let turned = self.turn(now_ms);
        let mut news = Vec::new();
        let read = self.files.iter_mut().try_for_each(|of| of.news(&mut news));
        self.check(turned.and(read));
        news
    }

    /// Appends an authorisation token. It is in the file when this returns, though not yet on the disk.
    pub(crate) fn append(&mut self, auth_token: &AcceptedToken, now_ms: u64) {
        let appended = self.turn(now_ms).and_then(|()| match self.files.last_mut() {
            Some(of) => of.append(auth_token),
            None => Ok(()),
        });
        self.check(appended);
    }

    /// Says once that something failed: what was taken is then forgotten at the next start.
    fn check(&mut self, done: io::Result<()>) {
        match done {
            Ok(()) => self.is_broken = false,
            Err(e) if !self.is_broken => {
                self.is_broken = true;
                let folder = self.folder.display();
                tracing::warn!("{folder}: first packets of clients are not noted down: {e}");
            }
            Err(_) => {}
        }
    }
}

impl EpochFile {
    fn news(&mut self, into: &mut Vec<AcceptedToken>) -> io::Result<()> {
        let length = self.file.metadata()?.len().min(MAX_BYTES);
        let whole = length - length % RECORD_BYTES as u64;
        if whole <= self.read {
            return Ok(());
        }
        self.file.seek(SeekFrom::Start(self.read))?;
        let mut bytes = Vec::new();
        (&self.file).take(whole - self.read).read_to_end(&mut bytes)?;
        self.read = whole;
        into.extend(bytes.chunks_exact(RECORD_BYTES).filter_map(AcceptedToken::decode));
        Ok(())
    }

    fn append(&mut self, auth_token: &AcceptedToken) -> io::Result<()> {
        self.file.write_all(&auth_token.encode()).inspect_err(|_| {
            // SubflowConnection a record would shift those that follow.
            let _ = align(&mut self.file);
        })
    }
}

/// Fills up a record that was cut off.
fn align(file: &mut File) -> io::Result<()> {
    let over = file.metadata()?.len() % RECORD_BYTES as u64;
    match usize::try_from(over) {
        Ok(over) if over > 0 => file.write_all(&vec![0; RECORD_BYTES - over]),
        _ => Ok(()),
    }
}
