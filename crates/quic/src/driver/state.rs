//! What a connection's driver and its users change by turns.

use std::collections::{BTreeMap, VecDeque};
use std::mem;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Instant;

use bytes::{Buf, Bytes};
use noq_proto::{Event, StreamEvent, StreamId};

use super::inbox::{Inbox, Stop};
use super::unvalidated::Unvalidated;
use super::wakers::Wakers;
use crate::error::QuicError;
use crate::fair::{FairQueue, QUANTUM_BYTES, Rank};
use crate::reports::ReportReader;

/// The state of one connection, which its lock guards.
pub(super) struct State {
    pub(super) proto: noq_proto::Connection,
    /// Reason for which the connection ended, once it has.
    pub(super) ended: Option<QuicError>,
    /// Something of it has panicked.
    pub(super) failed: bool,
    /// The handshake is done, so far as this side can tell; and in the peer's eyes too.
    pub(super) connected: bool,
    pub(super) confirmed: bool,
    /// The peer opened it, and nobody here knows of it yet.
    pub(super) unannounced: bool,
    /// Limit of what may be sent, until the address of a client that opened the connection is
    /// validated.
    pub(super) unvalidated: Option<Unvalidated>,
    /// The driver is to look at it, and knows.
    pub(super) listed: bool,
    /// Time at which the state machine wanted to be looked at, as of the end of the last turn.
    pub(super) deadline: Option<Instant>,
    /// Time at which the driver last heard that nothing more can be sent.
    pub(super) emptied: Instant,
    pub(super) readers: BTreeMap<StreamId, Reader>,
    /// Inboxes to put what has come into, at the end of the turn.
    awaited: Vec<(StreamId, Arc<Inbox>)>,
    pub(super) writers: BTreeMap<StreamId, Writer>,
    /// Outboxes to empty, at the end of the turn.
    leaving: Vec<(StreamId, Outbox)>,
    /// Order of the streams that have data to write.
    pub(super) fair: FairQueue,
    /// Tasks that wait until a stream is delivered or refused.
    pub(super) closers: BTreeMap<StreamId, Waker>,
    /// Tasks that wait for the peer to open streams, and for leave to open some; by
    /// [`Dir`](noq_proto::Dir).
    pub(super) incoming: [Wakers; 2],
    pub(super) leave: [Wakers; 2],
    /// Tasks that wait for the handshake or the end.
    pub(super) changes: Wakers,
    /// Reads what the peer reports to the controller.
    pub(super) report_reader: Option<ReportReader>,
}

/// Task that waits for what comes of a stream.
pub(super) enum Reader {
    /// A task that asks the connection for it.
    Task(Waker),
    /// One that finds it there.
    Inbox(Arc<Inbox>),
}

/// Task that waits for room in a stream.
pub(super) enum Writer {
    /// A task that then writes.
    Task(Waker),
    /// One that has left what it writes here.
    Outbox(Outbox),
}

impl Writer {
    fn wake(&self) {
        match self {
            Self::Task(waker) | Self::Outbox(Outbox { waker, .. }) => waker.wake_by_ref(),
        }
    }
}

/// Remainder of what a task writes. The driver goes on with it as soon as there is room, and the
/// task need not be there in time. If the task took all of it back, it is woken when there is room.
pub(super) struct Outbox {
    pub(super) waker: Waker,
    pub(super) pieces: [Bytes; 2],
}

impl Outbox {
    /// Number of bytes that the outbox holds.
    pub(super) fn len(&self) -> usize {
        len(&self.pieces)
    }
}

impl State {
    /// Of a connection that the driver is about to look at.
    pub(super) fn new(
        proto: noq_proto::Connection,
        now: Instant,
        report_reader: Option<ReportReader>,
    ) -> Self {
        Self {
            report_reader,
            unannounced: proto.side().is_server(),
            proto,
            ended: None,
            failed: false,
            connected: false,
            confirmed: false,
            unvalidated: None,
            listed: true,
            deadline: None,
            emptied: now,
            readers: BTreeMap::new(),
            awaited: Vec::new(),
            writers: BTreeMap::new(),
            leaving: Vec::new(),
            fair: FairQueue::default(),
            closers: BTreeMap::new(),
            incoming: Default::default(),
            leave: Default::default(),
            changes: Wakers::default(),
        }
    }

    /// Notes that the driver is to look at it; whether that is news.
    pub(super) fn enlist(&mut self) -> bool {
        !mem::replace(&mut self.listed, true)
    }

    pub(super) fn on_event(&mut self, event: Event) {
        match event {
            Event::Connected => {
                self.connected = true;
                self.changes.wake();
            }
            Event::HandshakeConfirmed => self.confirmed = true,
            Event::ConnectionLost { reason } => self.end(reason.into()),
            Event::Stream(event) => self.on_stream(event),
            // Datagrams are taken at the end of the turn. Nothing here uses several paths or reads
            // handshake data early.
            _ => {}
        }
    }

    fn on_stream(&mut self, event: StreamEvent) {
        let wake = |wakers: &mut BTreeMap<StreamId, Waker>, id| {
            if let Some(waker) = wakers.remove(&id) {
                waker.wake();
            }
        };
        match event {
            StreamEvent::Opened { dir } => self.incoming[dir as usize].wake(),
            StreamEvent::Available { dir } => self.leave[dir as usize].wake(),
            StreamEvent::Readable { id } => match self.readers.remove(&id) {
                Some(Reader::Task(waker)) => waker.wake(),
                Some(Reader::Inbox(inbox)) => self.awaited.push((id, inbox)),
                None => {}
            },
            StreamEvent::Writable { id } => match self.writers.remove(&id) {
                Some(Writer::Task(waker)) => waker.wake(),
                Some(Writer::Outbox(outbox)) => self.leaving.push((id, outbox)),
                None => {}
            },
            StreamEvent::Finished { id } => wake(&mut self.closers, id),
            StreamEvent::Stopped { id, .. } => {
                wake(&mut self.closers, id);
                // Its next write returns the reason.
                if let Some(writer) = self.writers.get(&id) {
                    writer.wake();
                }
            }
        }
    }

    /// True if a task that took back what it left for a stream must wait on, and is then woken: no
    /// room has come since, and the peer still wants the stream.
    pub(super) fn waits_for_room(&mut self, id: StreamId, waker: &Waker) -> bool {
        let Some(Writer::Outbox(outbox)) = self.writers.get_mut(&id) else { return false };
        if outbox.len() > 0 || !matches!(self.proto.send_stream(id).stopped(), Ok(None)) {
            return false;
        }
        outbox.waker.clone_from(waker);
        true
    }

    /// Takes what has come of a stream in order: at most `pieces` pieces of at most `max` bytes, to
    /// the end of `into`. Where it stops, and whether the peer is to be told that it may send more.
    pub(super) fn take(
        &mut self,
        id: StreamId,
        (pieces, max): (usize, usize),
        into: &mut VecDeque<Bytes>,
    ) -> (Stop, bool) {
        let mut stream = self.proto.recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else {
            return (Stop::End(Err(QuicError::StreamClosed)), false);
        };
        let most = into.len() + pieces;
        let stop = loop {
            if into.len() == most {
                break Stop::Full;
            }
            match chunks.next(max) {
                Ok(Some(chunk)) => into.push_back(chunk.bytes),
                Ok(None) => break Stop::End(Ok(())),
                Err(noq_proto::ReadError::Blocked) => break Stop::Blocked,
                Err(noq_proto::ReadError::Reset(code)) => {
                    let code = code.into_inner();
                    break Stop::End(Err(QuicError::StreamEnded { code }));
                }
            }
        };
        (stop, chunks.finalize().should_transmit())
    }

    /// Puts what has come into the inboxes of those who wait for it. Whether the peer is to be told
    /// that it may send more.
    pub(super) fn fill_inboxes(&mut self) -> bool {
        let mut tell_peer = false;
        let mut awaited = mem::take(&mut self.awaited);
        for (id, inbox) in awaited.drain(..) {
            let goes_on = inbox.fill(|pieces, into| {
                let (stop, tell) = self.take(id, (pieces, usize::MAX), into);
                tell_peer |= tell;
                stop
            });
            if goes_on {
                self.readers.insert(id, Reader::Inbox(inbox));
            }
        }
        self.awaited = awaited;
        tell_peer
    }

    /// Writes pieces to a stream, one behind the other and without copying them, as far as there is
    /// room: they then hold what is left. Whether some was written.
    pub(super) fn write(
        &mut self,
        id: StreamId,
        pieces: &mut [Bytes],
    ) -> (Poll<Result<(), QuicError>>, bool) {
        let mut rest = pieces;
        let mut written = 0;
        let result = loop {
            if rest.iter().all(Bytes::is_empty) {
                break Poll::Ready(Ok(()));
            }
            match self.proto.send_stream(id).write_chunks(&mut rest) {
                Ok(bytes) => written += bytes as u64,
                Err(noq_proto::WriteError::Blocked) => break Poll::Pending,
                Err(noq_proto::WriteError::Stopped(code)) => {
                    let code = code.into_inner();
                    break Poll::Ready(Err(QuicError::StreamEnded { code }));
                }
                Err(noq_proto::WriteError::ClosedStream) => {
                    break Poll::Ready(Err(QuicError::StreamClosed));
                }
            }
        };
        self.fair.on_written(id, written);
        (result, written > 0)
    }

    /// Writes what was left in outboxes that there is room for now, in fair order. Whether some was.
    pub(super) fn empty_outboxes(&mut self) -> bool {
        let mut leaving = mem::take(&mut self.leaving);
        let some = if leaving.len() > 1 {
            self.empty_in_turn(leaving.drain(..))
        } else {
            leaving.pop().is_some_and(|(id, mut outbox)| {
                let (result, some) = self.write(id, &mut outbox.pieces);
                self.settle_outbox(id, outbox, result);
                some
            })
        };
        self.leaving = leaving;
        some
    }

    /// The same for several: a quantum of one, then of whichever is next.
    fn empty_in_turn(&mut self, leaving: impl Iterator<Item = (StreamId, Outbox)>) -> bool {
        let mut some = false;
        let mut waiting: BTreeMap<Rank, (StreamId, Outbox)> =
            leaving.map(|(id, outbox)| (self.fair.rank(id), (id, outbox))).collect();
        while let Some((rank, (id, mut outbox))) = waiting.pop_first() {
            // Another of its group may have been written since.
            let present = self.fair.rank(id);
            if present > rank {
                waiting.insert(present, (id, outbox));
                continue;
            }
            self.fair.on_next(rank);
            let mut quantum = front(&outbox.pieces, QUANTUM_BYTES);
            let bytes = len(&quantum);
            let (result, wrote) = self.write(id, &mut quantum);
            some |= wrote;
            advance(&mut outbox.pieces, bytes - len(&quantum));
            if matches!(result, Poll::Ready(Ok(()))) && outbox.len() > 0 {
                waiting.insert(self.fair.rank(id), (id, outbox));
            } else {
                self.settle_outbox(id, outbox, result);
            }
        }
        some
    }

    /// Tells whoever left it that an outbox is empty or refused, else keeps it until there is room.
    fn settle_outbox(&mut self, id: StreamId, outbox: Outbox, result: Poll<Result<(), QuicError>>) {
        if result.is_ready() {
            outbox.waker.wake_by_ref();
        }
        // Whoever left it finds the reason when it comes for the rest.
        if !matches!(result, Poll::Ready(Ok(()))) {
            self.writers.insert(id, Writer::Outbox(outbox));
        }
    }

    pub(super) fn end(&mut self, why: QuicError) {
        self.ended.get_or_insert(why);
        let awaited = mem::take(&mut self.awaited).into_iter();
        let awaited = awaited.map(|(_, inbox)| Reader::Inbox(inbox));
        for reader in awaited.chain(mem::take(&mut self.readers).into_values()) {
            match reader {
                Reader::Task(waker) => waker.wake(),
                Reader::Inbox(inbox) => inbox.close(),
            }
        }
        let leaving = mem::take(&mut self.leaving).into_iter();
        let leaving = leaving.map(|(_, outbox)| Writer::Outbox(outbox));
        for writer in leaving.chain(mem::take(&mut self.writers).into_values()) {
            writer.wake();
        }
        for waker in mem::take(&mut self.closers).into_values() {
            waker.wake();
        }
        for wakers in self.incoming.iter_mut().chain(&mut self.leave) {
            wakers.wake();
        }
        self.changes.wake();
    }
}

/// The first `most` bytes of pieces, without copying them.
fn front(pieces: &[Bytes; 2], most: usize) -> [Bytes; 2] {
    let [head, piece] = pieces;
    let head = head.slice(..head.len().min(most));
    let piece = piece.slice(..piece.len().min(most - head.len()));
    [head, piece]
}

/// Number of bytes in the pieces.
fn len(pieces: &[Bytes; 2]) -> usize {
    pieces[0].len() + pieces[1].len()
}

/// Takes the first `bytes` off.
fn advance(pieces: &mut [Bytes; 2], bytes: usize) {
    let of_head = bytes.min(pieces[0].len());
    pieces[0].advance(of_head);
    pieces[1].advance(bytes - of_head);
}
