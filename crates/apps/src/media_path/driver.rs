//! What moves the paths of an endpoint: one task that receives, keeps their timers, and sends.

use std::future::Future;
use std::io;
use std::mem;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use airlane_base::{Schedule, Time};
use airlane_messages::wire::Clear;
use airlane_quic::Companion;
use airlane_runtime::{Received, Timer};

use super::paths::{Paths, State};

/// Datagrams received before what they caused is sent.
const RECEIVE_BURST: usize = 64;
/// Datagrams that a path sends before the next has its turn.
const SEND_BURST: usize = 32;
/// How long the driver waits for a socket that is full.
const FULL_SOCKET: Duration = Duration::from_micros(500);

/// The task. It ends with the endpoint.
pub(super) struct Driver {
    companion: Companion,
    paths: Arc<Paths>,
    deadlines: Schedule,
    timer: Box<dyn Timer>,
    /// Paths to look at, in turn.
    turn: Vec<usize>,
    /// A datagram that the socket could not take.
    held: Option<(SocketAddr, Vec<u8>)>,
    /// When it is tried again.
    retry: Option<Time>,
    buffer: Vec<u8>,
}

impl Driver {
    pub(super) fn new(companion: Companion, paths: Arc<Paths>) -> Self {
        let timer = paths.runtime().timer(Time::FAR_FUTURE);
        Self {
            companion,
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
    fn take_in(&mut self, now: Time, mut received: Received, state: &mut State) {
        let Some(clear) = Clear::decode(&received.payload) else { return };
        let Some(slot) = state.slot_of(clear.session) else {
            state.keep_early(clear.session, received);
            return;
        };
        let Some(open) = state.open(slot) else { return };
        match open.session.handle(now, &mut received.payload) {
            Ok(()) => {
                if received.src != open.remote {
                    // It may have moved. Whether it has, QUIC finds out.
                    open.follow();
                }
                open.tell();
                state.list(slot);
            }
            Err(why) => tracing::debug!(src = %received.src, "a datagram was refused: {why:?}"),
        }
    }

    /// Lets a path send what may leave. False if the socket takes no more.
    fn drive(&mut self, now: Time, slot: usize, state: &mut State) -> bool {
        let Some(open) = state.open(slot) else {
            self.deadlines.clear(slot);
            return true;
        };
        open.listed = false;
        open.session.time_out(now);
        let mut sent = 0;
        while sent < SEND_BURST && open.session.poll_transmit(now, &mut self.buffer) {
            sent += 1;
            match self.companion.try_send(open.remote, &self.buffer) {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    self.held = Some((open.remote, mem::take(&mut self.buffer)));
                    self.retry = Some(now + FULL_SOCKET);
                    break;
                }
                // It is a lost one: the session recovers.
                Err(e) => tracing::debug!(dst = %open.remote, "a datagram was not sent: {e}"),
                Ok(()) => {}
            }
        }
        // What the buffer dropped is an event too.
        open.tell();
        match open.session.deadline() {
            Some(at) => self.deadlines.set(slot, at, 0),
            None => self.deadlines.clear(slot),
        }
        if sent == SEND_BURST || self.held.is_some() {
            state.list(slot);
        }
        self.held.is_none()
    }

    /// Sends what the socket could not take before. False if it still cannot.
    fn flush(&mut self, now: Time) -> bool {
        let Some((to, bytes)) = &self.held else { return true };
        match self.companion.try_send(*to, bytes) {
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
            match this.companion.poll_recv(cx) {
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
