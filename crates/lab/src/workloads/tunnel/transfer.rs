//! A body that is sent over several paths as fast as they take it, and checked where it arrives.

use airlane_base::Pattern;
use airlane_base::Time;
use airlane_multipath::{MultipathError, MultipathStream};
use airlane_origin::RoleError;
use airlane_runtime::RuntimeHandle;
use parking_lot::{Mutex, MutexGuard};

/// Bytes that are written at once.
const PIECE_BYTES: u64 = 64 << 10;
/// Positions are noted no closer than this.
const NOTE_BYTES: u64 = 64 << 10;
/// Name from which the pattern of bodies is generated.
const BODY: &str = "multipath";

/// Bytes that had passed at each time noted, both ascending.
#[derive(Debug, Default)]
pub(super) struct Passed(Mutex<Vec<(u64, Time)>>);

impl Passed {
    /// The notes so far: how many bytes had passed when. The last is of the last byte.
    pub(super) fn notes(&self) -> Vec<(u64, Time)> {
        self.lock().clone()
    }

    fn note(&self, bytes: u64, at: Time) {
        let mut notes = self.lock();
        // The last note moves on until it is far enough from the one before.
        let before = notes.len().checked_sub(2).map_or(0, |i| notes[i].0);
        if notes.last().is_some_and(|(last, _)| *last < before + NOTE_BYTES) {
            notes.pop();
        }
        notes.push((bytes, at));
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(u64, Time)>> {
        self.0.lock()
    }
}

/// Sends a body of `bytes`, and notes when each part was written: when there was room for it.
///
/// # Errors
/// If the stream fails.
pub(super) async fn send(
    stream: &MultipathStream,
    clock: &RuntimeHandle,
    bytes: u64,
    written: &Passed,
) -> Result<(), MultipathError> {
    let mut at = 0;
    for piece in Pattern::new(BODY, bytes).pieces(0..bytes, PIECE_BYTES) {
        at += piece.len() as u64;
        stream.write(piece).await?;
        written.note(at, clock.now());
    }
    stream.finish();
    stream.over().await
}

/// Receives a body of `bytes`, checks it, and notes when each part came in order.
///
/// # Errors
/// If the stream fails or a byte is not what it should be.
pub(super) async fn receive(
    stream: &MultipathStream,
    clock: &RuntimeHandle,
    bytes: u64,
    read: &Passed,
) -> Result<(), RoleError> {
    let fault = |problem: String| RoleError::Answer { path: BODY.to_owned(), problem };
    let body = Pattern::new(BODY, bytes);
    stream.finish();
    let mut got = 0;
    loop {
        let pieces = stream.read().await.map_err(|e| fault(e.to_string()))?;
        if pieces.is_empty() {
            return Ok(());
        }
        for piece in pieces {
            if !body.matches(got, &piece) {
                return Err(fault(format!("wrong bytes after {got}")));
            }
            got += piece.len() as u64;
        }
        read.note(got, clock.now());
    }
}
