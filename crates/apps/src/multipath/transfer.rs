//! A body that is sent over several paths as fast as they take it, and checked where it arrives.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use airlane_base::Time;
use airlane_runtime::RuntimeHandle;

use super::error::MultipathError;
use super::stream::MultipathStream;
use crate::content::Pattern;
use crate::error::RoleError;

/// Bytes that are written at once.
const PIECE_BYTES: u64 = 64 << 10;
/// Positions are noted no closer than this.
const NOTE_BYTES: u64 = 64 << 10;
/// Where the pattern of bodies starts.
const BODY: &str = "multipath";

/// When which byte passed: how far it had come at which time, both ascending.
#[derive(Debug, Default)]
pub struct Passed {
    bytes: AtomicU64,
    notes: Mutex<Vec<(u64, Time)>>,
}

impl Passed {
    /// Bytes so far.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// The notes so far: the byte that the next follows, and when it passed.
    pub fn notes(&self) -> Vec<(u64, Time)> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note(&self, bytes: u64, at: Time) {
        self.bytes.store(bytes, Ordering::Relaxed);
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        if notes.last().is_none_or(|(last, _)| bytes >= last + NOTE_BYTES) {
            notes.push((bytes, at));
        }
    }
}

/// Sends a body of `bytes`, and notes when each part was written: when there was room for it.
///
/// # Errors
/// If the stream fails.
pub async fn send(
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
pub async fn receive(
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
