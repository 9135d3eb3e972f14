//! What moves the paths of an endpoint: one task that receives, keeps their timers, and sends.

use std::future::Future;
use std::io;
use std::mem;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use airlane_base::{Ecn, Schedule, Time};
use airlane_messages::wire::Clear;
use airlane_quic::{NonQuicSocket, panics};
use airlane_runtime::{Received, Timer};

use super::paths::{Open, Paths, State};

/// Datagrams received before what they caused is sent.
const RECEIVE_BURST: usize = 64;
/// Datagrams that a path sends before the next has its turn.
const SEND_BURST: usize = 32;
/// Time for which the driver waits for a socket that is full.
const FULL_SOCKET: Duration = Duration::from_micros(500);

/// Linux's number of "message too long": the interface takes no datagram of this size.
const EMSGSIZE: i32 = 90;

/// The task. It ends with the endpoint.
pub(super) struct Driver {
    socket: NonQuicSocket,
    paths: Arc<Paths>,
    deadlines: Schedule,
    timer: Box<dyn Timer>,
    /// Paths to look at, in turn.
    turn: Vec<usize>,
    /// A datagram that the socket could not take.
    held: Option<PendingDatagram>,
    /// Time at which it is tried again.
    retry: Option<Time>,
    buffer: Vec<u8>,
}

/// A datagram that waits for room in the socket.
struct PendingDatagram {
    to: SocketAddr,
    source: Option<IpAddr>,
    ecn: Ecn,
    bytes: Vec<u8>,
}

impl Driver {
    pub(super) fn new(socket: NonQuicSocket, paths: Arc<Paths>) -> Self {
        let timer = paths.runtime().timer(Time::FAR_FUTURE);
        Self {
            socket,
            paths,
            deadlines: Schedule::default(),
            timer,
            turn: Vec::new(),
            held: None,
            retry: None,
            buffer: Vec::new(),
        }
    }

    /// Hands a datagram to its session.
    fn take_in(&mut self, now: Time, received: Received, state: &mut State) {
        let Some(clear) = Clear::decode(&received.payload) else { return };
        let Some(slot) = state.slot_of(clear.session) else {
            state.keep_early(clear.session, received);
            return;
        };
        let Some(open) = state.open(slot) else { return };
        open.take_in(self.paths.runtime(), now, received);
        state.list(slot);
    }

    /// Lets a path send what may leave. False if the socket takes no more.
    fn drive(&mut self, now: Time, slot: usize, state: &mut State) -> bool {
        let Some(open) = state.open(slot).filter(|open| !open.failed) else {
            self.deadlines.clear(slot);
            return true;
        };
        open.listed = false;
        let driven = open.guarded(|open| self.transmit(now, open));
        // What the buffer dropped is an event too.
        open.tell();
        let more = match driven {
            Ok((deadline, more)) => {
                match deadline {
                    Some(at) => self.deadlines.set(slot, at, 0),
                    None => self.deadlines.clear(slot),
                }
                more
            }
            Err(panic) => {
                panics::report(self.paths.runtime(), panic);
                self.deadlines.clear(slot);
                false
            }
        };
        if more {
            state.list(slot);
        }
        self.held.is_none()
    }

    /// Sends what may leave of a path: when it wants to be looked at next, and whether it has more.
    fn transmit(&mut self, now: Time, open: &mut Open) -> (Option<Time>, bool) {
        open.session.time_out(now);
        let mut sent = 0;
        while sent < SEND_BURST
            && let Some(to) = open.session.poll_transmit(now, &mut self.buffer)
        {
            sent += 1;
            let ecn = open.session.ecn();
            match self.socket.try_send(to, open.source, ecn, &self.buffer) {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    let bytes = mem::take(&mut self.buffer);
                    self.held = Some(PendingDatagram { to, source: open.source, ecn, bytes });
                    self.retry = Some(now + FULL_SOCKET);
                    break;
                }
                Err(e) if e.raw_os_error() == Some(EMSGSIZE) => {
                    open.session.too_large(now, self.buffer.len());
                }
                // It is a lost one: the session recovers.
                Err(e) => tracing::debug!(dst = %to, "a datagram was not sent: {e}"),
                Ok(()) => {}
            }
        }
        (open.session.deadline(), sent == SEND_BURST || self.held.is_some())
    }

    /// Sends what the socket could not take before. False if it still cannot.
    fn flush(&mut self, now: Time) -> bool {
        let Some(PendingDatagram { to, source, ecn, bytes }) = &self.held else { return true };
        match self.socket.try_send(*to, *source, *ecn, bytes) {
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                self.retry = Some(now + FULL_SOCKET);
                return false;
            }
            Err(e) => tracing::debug!(dst = %to, "a datagram was not sent: {e}"),
            Ok(()) => {}
        }
        self.held = None;
        self.retry = None;
        true
    }
}

impl Future for Driver {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        let paths = this.paths.clone();
        let now = paths.runtime().now();
        let mut state = paths.state();
        let mut more = true;
        for _ in 0..RECEIVE_BURST {
            match this.socket.poll_recv(cx) {
                Poll::Ready(Some(received)) => this.take_in(now, received, &mut state),
                Poll::Ready(None) => {
                    state.close();
                    return Poll::Ready(());
                }
                Poll::Pending => {
                    more = false;
                    break;
                }
            }
        }
        while let Some((_, slot)) = this.deadlines.next().filter(|(at, _)| *at <= now) {
            this.deadlines.clear(slot);
            state.list(slot);
        }
        if this.flush(now) {
            let mut turn = mem::take(&mut this.turn);
            mem::swap(&mut turn, &mut state.ready);
            let mut open = turn.drain(..);
            for slot in open.by_ref() {
                if !this.drive(now, slot, &mut state) {
                    break;
                }
            }
            // Those that the socket left no room for stay on the list.
            for slot in open {
                state.ready.push(slot);
            }
            this.turn = turn;
            more |= this.held.is_none() && !state.ready.is_empty();
        }
        if more {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        match &mut state.driver {
            Some(waker) => waker.clone_from(cx.waker()),
            none => *none = Some(cx.waker().clone()),
        }
        drop(state);
        let next = this.deadlines.next().map(|(at, _)| at).into_iter().chain(this.retry).min();
        if let Some(at) = next
            && this.timer.poll_at(at, cx).is_ready()
        {
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    }
}
