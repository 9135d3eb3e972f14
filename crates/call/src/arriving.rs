//! Frames that arrive: each on a stream of its own, read whole and within a bound of memory.

use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};

use airlane_quic::{Connection, RecvStream};
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use bytes::{Bytes, BytesMut};
use tokio::sync::mpsc;

use crate::error::CallError;
use crate::wire::HEADER_BYTES;

/// Hands each stream that the peer opens to a task of its own, until the connection or one of the tasks fails.
pub(crate) async fn each_stream<F>(
    connection: &Connection,
    clock: &RuntimeHandle,
    receive: impl Fn(RecvStream) -> F,
) -> CallError
where
    F: Future<Output = Result<(), CallError>> + Send + 'static,
{
    let (failed, mut failure) = mpsc::unbounded_channel();
    loop {
        let stream = tokio::select! {
            biased;
            Some(error) = failure.recv() => return error,
            stream = connection.accept_uni() => stream,
        };
        let received = match stream {
            Ok(stream) => receive(stream),
            Err(e) => return e.into(),
        };
        let failed = failed.clone();
        clock.spawn("call frame", async move {
            match received.await {
                // A frame that its sender gave up.
                Ok(()) | Err(CallError::Quic(_)) => {}
                Err(e) => drop(failed.send(e)),
            }
        });
    }
}

/// Reads the header of a frame, and what came with it of the payload.
pub(crate) async fn read_header(
    stream: &mut RecvStream,
) -> Result<([u8; HEADER_BYTES], Bytes), CallError> {
    let mut header = [0; HEADER_BYTES];
    let mut filled = 0;
    loop {
        let Some(mut piece) = stream.read_chunk(usize::MAX).await? else {
            return Err(CallError::Protocol("a frame without a whole header"));
        };
        let taken = piece.len().min(HEADER_BYTES - filled);
        header[filled..filled + taken].copy_from_slice(&piece.split_to(taken));
        filled += taken;
        if filled == HEADER_BYTES {
            return Ok((header, piece));
        }
    }
}

/// Bound of the payloads of one peer that have begun to arrive. They lie in memory until they are whole.
#[derive(Debug)]
pub(crate) struct ArrivingBytes {
    max: u64,
    bytes: AtomicU64,
}

/// Bytes of a payload that count until this is dropped.
struct Reserved<'a>(&'a ArrivingBytes, u64);

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        self.0.bytes.fetch_sub(self.1, Ordering::Relaxed);
    }
}

impl ArrivingBytes {
    pub(crate) fn new(max: u64) -> Self {
        Self { max, bytes: AtomicU64::new(0) }
    }

    fn reserve(&self, bytes: u64) -> Result<Reserved<'_>, CallError> {
        let reserved = Reserved(self, bytes);
        match self.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes <= self.max {
            true => Ok(reserved),
            false => Err(CallError::Protocol("more frames at once than are taken")),
        }
    }

    /// Reads the payload of a frame to its end. It is copied: a piece of a stream keeps the whole packet that it
    /// came in, however short the piece is.
    pub(crate) async fn read_payload(
        &self,
        stream: &mut RecvStream,
        first: Bytes,
        payload_bytes: u32,
    ) -> Result<Bytes, CallError> {
        let _reserved = self.reserve(payload_bytes.into())?;
        let length = payload_bytes as usize;
        let mut payload = BytesMut::with_capacity(length);
        let mut piece = first;
        loop {
            if payload.len() + piece.len() > length {
                return Err(CallError::Protocol("a frame longer than its header says"));
            }
            payload.extend_from_slice(&piece);
            piece = match stream.read_chunk(usize::MAX).await? {
                Some(piece) => piece,
                None if payload.len() == length => return Ok(payload.freeze()),
                None => return Err(CallError::Protocol("a frame shorter than its header says")),
            };
        }
    }
}
