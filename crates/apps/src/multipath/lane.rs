//! A lane: a stream of bytes of any length in one direction of a connection, made of QUIC streams
//! that follow each other.
//!
//! One QUIC stream would do but for its window, which bounds what may be in flight
//! ([`airlane_quic::MAX_STREAM_WINDOW_BYTES`]): at 1.4 Gbit/s 2 MiB last for 12 ms.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use airlane_quic::{Connection, QuicError, RecvStream, SendStream};
use bytes::{Buf, Bytes};
use tokio::sync::mpsc;

use super::error::MultipathError;
use super::hello::StreamId;

/// Bytes of a QUIC stream, the name of the lane at its beginning included: below its window, so
/// that this never binds.
const STREAM_BYTES: usize = 1_000_000;
/// Bytes of the name.
const NAME_BYTES: usize = size_of::<StreamId>();
/// Lanes of a connection that nobody has asked for at most: a peer that makes up names gets no
/// further.
const MAX_UNCLAIMED: usize = 64;

/// The sending end.
pub(super) struct LaneSender {
    connection: Connection,
    name: StreamId,
    /// The QUIC stream, and the bytes that it still takes.
    stream: Option<(SendStream, usize)>,
    priority: i32,
}

impl LaneSender {
    pub(super) fn new(connection: Connection, name: StreamId) -> Self {
        Self { connection, name, stream: None, priority: i32::MAX - 1 }
    }

    /// Appends `data`; waits while the connection takes no more.
    pub(super) async fn write(&mut self, mut data: Bytes) -> Result<(), QuicError> {
        while data.has_remaining() {
            let (stream, room) = match &mut self.stream {
                Some(open) => open,
                none => none.insert((self.connection.open_uni().await?, STREAM_BYTES)),
            };
            if *room == STREAM_BYTES {
                // Earlier ones first, so that the lane arrives in order but for what is lost.
                stream.set_priority(self.priority)?;
                self.priority = self.priority.saturating_sub(1);
                stream.write_all(Bytes::copy_from_slice(&self.name)).await?;
                *room -= NAME_BYTES;
            }
            let part = data.split_to(data.len().min(*room));
            *room -= part.len();
            let is_full = *room == 0;
            stream.write_all(part).await?;
            if is_full {
                stream.finish()?;
                self.stream = None;
            }
        }
        Ok(())
    }
}

/// The receiving end.
pub(super) struct LaneReceiver {
    streams: mpsc::UnboundedReceiver<RecvStream>,
    current: Option<RecvStream>,
}

impl LaneReceiver {
    /// The next bytes.
    pub(super) async fn read(&mut self) -> Result<Bytes, MultipathError> {
        loop {
            let stream = match &mut self.current {
                Some(stream) => stream,
                // The connection has ended, and its router with it.
                none => none.insert(self.streams.recv().await.ok_or(MultipathError::Ended)?),
            };
            match stream.read_chunk(usize::MAX).await? {
                Some(piece) => return Ok(piece),
                None => self.current = None,
            }
        }
    }
}

/// The lanes that come in on a connection.
#[derive(Default)]
pub(super) struct Lanes(Mutex<BTreeMap<StreamId, Lane>>);

struct Lane {
    streams: mpsc::UnboundedSender<RecvStream>,
    /// Until somebody asks for it.
    unclaimed: Option<mpsc::UnboundedReceiver<RecvStream>>,
}

impl Lane {
    fn new() -> Self {
        let (streams, receiver) = mpsc::unbounded_channel();
        Self { streams, unclaimed: Some(receiver) }
    }
}

impl Lanes {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<StreamId, Lane>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The lane called `name`; `None` if somebody has it.
    pub(super) fn claim(&self, name: StreamId) -> Option<LaneReceiver> {
        let streams = self.lock().entry(name).or_insert_with(Lane::new).unclaimed.take()?;
        Some(LaneReceiver { streams, current: None })
    }

    /// Sorts the streams of `connection` into lanes, until it ends.
    pub(super) async fn route(&self, connection: &Connection) -> MultipathError {
        loop {
            if let Err(e) = self.route_one(connection).await {
                self.lock().clear();
                return e;
            }
        }
    }

    async fn route_one(&self, connection: &Connection) -> Result<(), MultipathError> {
        let mut stream = connection.accept_uni().await?;
        let mut name = StreamId::default();
        let mut known = 0;
        while known < NAME_BYTES {
            let piece = stream.read_chunk(NAME_BYTES - known).await?;
            let piece = piece.ok_or(MultipathError::Hello("a stream ends before its name"))?;
            name[known..known + piece.len()].copy_from_slice(&piece);
            known += piece.len();
        }
        let mut lanes = self.lock();
        lanes.retain(|_, lane| !lane.streams.is_closed() || lane.unclaimed.is_some());
        let unclaimed = lanes.values().filter(|lane| lane.unclaimed.is_some()).count();
        if unclaimed > MAX_UNCLAIMED {
            return Err(MultipathError::Hello("too many streams of no known name"));
        }
        // A stream whose reader is gone is dropped, which tells the peer to stop.
        drop(lanes.entry(name).or_insert_with(Lane::new).streams.send(stream));
        Ok(())
    }
}
