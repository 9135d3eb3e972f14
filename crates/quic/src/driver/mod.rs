//! What moves an endpoint: one task per socket that receives, keeps the timers of all connections,
//! and sends what they have to send.
//!
//! The QUIC state machines are noq-proto's and do no I/O. A [`Driver`] owns the socket; a [`Link`]
//! is one connection, shared by the driver and the tasks that use it. A task that changes a
//! connection (writes, reads, closes, sets a rate) puts it on the [`RunQueue`](crate::run_queue::RunQueue), and the driver
//! handles it before it sleeps again. Locks are taken in one order: [`Links`], a link's state, the
//! run queue.

mod admit;
mod endpoint_state;
mod handshakes;
mod inbox;
mod link;
mod links;
mod moves;
mod reports;
mod send_buffer;
mod send_window;
mod state;
mod streams;
mod token;
mod transmit_pass;
mod transmitter;
mod unvalidated;
mod wakers;

use std::cell::Cell;
use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::mem;
use std::num::NonZeroUsize;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use airlane_base::{Ecn, Schedule, Time};
use airlane_runtime::{Received, Timer};
use bytes::BytesMut;
use noq_proto::{ConnectionEvent, ConnectionHandle, DatagramEvent, EcnCodepoint, FourTuple};

pub(crate) use self::endpoint_state::{EndpointState, Released};
pub(crate) use self::inbox::{Found, Inbox};
pub(crate) use self::link::{Link, Owner, WeakLink};
pub(crate) use self::links::Links;
pub(crate) use self::reports::send_reports;
use self::transmitter::Transmitter;
use crate::error::QuicError;
use crate::non_quic::is_non_quic;
use crate::panics::{self, Panic};
use crate::shards::Shard;

/// Datagrams that a connection may hand over at once: it then looks for work once per batch, not
/// once per datagram.
const BATCH: NonZeroUsize = NonZeroUsize::new(10).unwrap();
/// The same, where the system takes as many in one call: of 1500 bytes they fill what a call may
/// hold. The fewer calls, the less often both sides wake up for the same bytes; how many leave at a
/// time, window and pacer say.
const JOINED_BATCH: NonZeroUsize = NonZeroUsize::new(40).unwrap();
/// Batches after which the next connection has its turn.
const TURN_BATCHES: usize = 2;
/// Datagrams received before what they caused is sent.
const RECEIVE_BURST: usize = 64;

/// The task of one endpoint. It ends when the endpoint has been closed or dropped and the last
/// connection is drained, or when the socket fails.
pub(crate) struct Driver {
    /// Holds the socket, which goes before the rest of the endpoint.
    work: Work,
    inner: Arc<EndpointState>,
}

/// State that only the driver uses.
struct Work {
    transmitter: Transmitter,
    /// Times at which connections want to be looked at, by handle.
    deadlines: Schedule,
    timer: Box<dyn Timer>,
    /// Time to which the timer is set, and the waker that it wakes.
    armed: Option<Time>,
    waker: Option<Waker>,
    /// Connections to look at, in turn.
    ready: VecDeque<ConnectionHandle>,
    /// Datagrams that arrived in a row for one connection, their bytes, and that connection.
    arrived: Vec<ConnectionEvent>,
    arrived_bytes: u64,
    arrived_for: ConnectionHandle,
    /// The thread's [`SCRATCH`], while the driver is at work.
    buffer: Vec<u8>,
}

impl Future for Driver {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        this.work.buffer = SCRATCH.take();
        let polled = this.work.run(cx, &this.inner);
        SCRATCH.set(mem::take(&mut this.work.buffer));
        polled
    }
}

thread_local! {
    /// Buffer in which datagrams are built. One per thread is enough, and there may be thousands of
    /// drivers.
    static SCRATCH: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

impl Driver {
    pub(crate) fn new(
        inner: Arc<EndpointState>,
        socket: Arc<dyn airlane_runtime::UdpSocket>,
    ) -> Self {
        let timer = inner.runtime.timer(Time::FAR_FUTURE);
        let config = inner.config();
        let work = Work {
            transmitter: Transmitter::new(
                socket,
                config.packets.ecn,
                config.packets.dscp,
                inner.accepts(),
            ),
            deadlines: Schedule::default(),
            timer,
            armed: None,
            waker: None,
            ready: VecDeque::new(),
            arrived: Vec::new(),
            arrived_bytes: 0,
            arrived_for: ConnectionHandle(0),
            buffer: Vec::new(),
        };
        Self { work, inner }
    }
}

impl Work {
    /// Does all that is due now.
    fn run(&mut self, cx: &mut Context<'_>, inner: &EndpointState) -> Poll<()> {
        let time = inner.runtime.now();
        let now = inner.clock.tell(time);
        let mut links = inner.links.lock();
        let received = self.receive(cx, inner, now, &mut links);
        self.hand_over(inner, &mut links);
        if let Err(e) = received {
            tracing::warn!(addr = %inner.local_addr, "the socket failed: {e}");
            links.give_up(&e.into());
            return Poll::Ready(());
        }
        self.expire(time, &links);
        inner.run_queue.take(&mut self.ready, cx.waker());
        if self.transmitter.poll_flush(cx).is_ready() {
            self.give_turns(cx, inner, now, &mut links);
        }
        if links.are_over() {
            return Poll::Ready(());
        }
        self.arm(cx, time);
        Poll::Pending
    }

    /// Gives each connection on the list one pass. Those that want another wait until what has
    /// arrived meanwhile was received.
    fn give_turns(
        &mut self,
        cx: &mut Context<'_>,
        inner: &EndpointState,
        now: Instant,
        links: &mut Links,
    ) {
        for _ in 0..self.ready.len() {
            let Some(handle) = self.ready.pop_front() else { return };
            match panics::caught(|| self.drive(handle, cx, now, links)) {
                Ok(Poll::Ready(())) => {}
                Ok(Poll::Pending) => return,
                Err(panic) => self.fail(handle, inner, links, panic),
            }
        }
        if !self.ready.is_empty() {
            cx.waker().wake_by_ref();
        }
    }

    /// Hands datagrams to the connections that they are for.
    fn receive(
        &mut self,
        cx: &mut Context<'_>,
        inner: &EndpointState,
        now: Instant,
        links: &mut Links,
    ) -> io::Result<()> {
        let shard = inner.shard.as_ref();
        for _ in 0..RECEIVE_BURST {
            // What others received for it. One that comes after the last wakes the driver.
            let Some(received) = shard.and_then(Shard::take) else { break };
            self.take_in_guarded(cx, inner, now, received, links);
        }
        for _ in 0..RECEIVE_BURST {
            match self.transmitter.poll_recv(cx) {
                Poll::Pending => return Ok(()),
                Poll::Ready(Ok(received)) => {
                    let own = match shard {
                        Some(shard) => shard.sort(received),
                        None => Some(received),
                    };
                    if let Some(received) = own {
                        self.take_in_guarded(cx, inner, now, received, links);
                    }
                }
                // Anybody can provoke these with a forged ICMP message.
                Poll::Ready(Err(e)) if is_harmless(&e) => {}
                Poll::Ready(Err(e)) => return Err(e),
            }
        }
        cx.waker().wake_by_ref();
        Ok(())
    }

    /// Takes a datagram in. Should that panic it is as good as lost: whose it was is not known, and
    /// others must not suffer for it.
    fn take_in_guarded(
        &mut self,
        cx: &mut Context<'_>,
        inner: &EndpointState,
        now: Instant,
        received: Received,
        links: &mut Links,
    ) {
        if let Err(panic) = panics::caught(|| self.take_in(cx, inner, now, received, links)) {
            panics::report(&inner.runtime, panic);
        }
    }

    fn take_in(
        &mut self,
        cx: &mut Context<'_>,
        inner: &EndpointState,
        now: Instant,
        received: Received,
        links: &mut Links,
    ) {
        if is_non_quic(&received.payload) {
            return inner.deliver_non_quic(received);
        }
        let Received { src, dst_ip, ecn, payload, joined, .. } = received;
        let path = FourTuple::new(src, (!dst_ip.is_unspecified()).then_some(dst_ip));
        // A byte that is kept would hold on to all that came with it: strangers could fill the
        // memory.
        let apart = joined && links.accepts();
        let payload = if apart { BytesMut::from(&payload[..]) } else { payload };
        let bytes = payload.len() as u64;
        self.buffer.clear();
        let authorization =
            inner.config().first_packet_authorization.as_ref().filter(|_| links.accepts());
        let token = authorization.and_then(|_| token::of_initial(&payload));
        match links.proto().handle(now, path, codepoint(ecn), payload, &mut self.buffer) {
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                if !links.admit(now, handle, path.remote(), bytes) {
                    return;
                }
                if ecn == Ecn::Ce
                    && let Some(link) = links.get(handle)
                {
                    link.control().shared().count_mark();
                }
                if self.arrived_for != handle {
                    self.hand_over(inner, links);
                    self.arrived_for = handle;
                }
                self.arrived.push(event);
                self.arrived_bytes += bytes;
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                let admitted = authorization.is_none_or(|authorization| {
                    let asked = || authorization.admits(&token.unwrap_or_default(), src);
                    panics::caught(asked).unwrap_or_else(|panic| {
                        panics::report(&inner.runtime, panic);
                        false
                    })
                });
                if !admitted {
                    links.proto().ignore(incoming);
                    return;
                }
                self.admit(cx, inner, now, (incoming, bytes), links);
            }
            // What no connection is asked for: unauthenticated peers hear nothing of a server that authorises first packets.
            Some(DatagramEvent::Response(_)) if authorization.is_some() => {}
            Some(DatagramEvent::Response(t)) => self.transmitter.respond(cx, &t, &self.buffer),
            None => {}
        }
    }

    /// Hands what has come for a connection to it: all at once, because whoever reads or writes
    /// waits for its lock meanwhile.
    fn hand_over(&mut self, inner: &EndpointState, links: &mut Links) {
        let handle = self.arrived_for;
        let bytes = mem::take(&mut self.arrived_bytes);
        let events = self.arrived.drain(..);
        let Some(link) = links.get(handle).filter(|_| events.len() > 0) else { return };
        match panics::caught(|| link.handle_events(events, bytes)) {
            Ok(true) => self.ready.push_back(handle),
            Ok(false) => {}
            Err(panic) => self.fail(handle, inner, links, panic),
        }
    }

    /// Ends a connection after a panic in what belongs to it, and reports the panic to the runtime.
    fn fail(
        &mut self,
        handle: ConnectionHandle,
        inner: &EndpointState,
        links: &mut Links,
        panic: Panic,
    ) {
        if links.fail(handle, &panics::message(&panic)) {
            self.ready.push_back(handle);
        }
        if links.get(handle).is_none() {
            self.deadlines.clear(handle.0);
        }
        panics::report(&inner.runtime, panic);
    }

    /// Puts connections whose timers have run out on the list.
    fn expire(&mut self, now: Time, links: &Links) {
        while let Some((_, handle)) = self.deadlines.next().filter(|(at, _)| *at <= now) {
            self.deadlines.clear(handle);
            let handle = ConnectionHandle(handle);
            if links.get(handle).is_some_and(|link| link.enlist()) {
                self.ready.push_back(handle);
            }
        }
    }

    /// Lets one connection do what is due: timers, sending, events. Pending if the socket takes no
    /// more; the connection then stays on the list.
    fn drive(
        &mut self,
        handle: ConnectionHandle,
        cx: &mut Context<'_>,
        now: Instant,
        links: &mut Links,
    ) -> Poll<()> {
        let Some((link, proto)) = links.get_with_proto(handle) else { return Poll::Ready(()) };
        let mut pass = link.transmit_pass();
        pass.time_out(now);
        let batch = if self.transmitter.joins(JOINED_BATCH) { JOINED_BATCH } else { BATCH };
        let most = TURN_BATCHES * batch.get();
        let mut sent = 0;
        let mut full = false;
        while sent < most {
            self.buffer.clear();
            let Some(transmit) = pass.transmit(now, batch, &mut self.buffer) else { break };
            sent += transmit.datagrams;
            full = self.transmitter.send(cx, &transmit.to, &mut self.buffer).is_pending();
            if full || transmit.is_last {
                break;
            }
        }
        if full && pass.enlist() {
            self.ready.push_front(handle);
        }
        let settled = pass.settle(proto);
        if sent >= most {
            pass.cut();
        }
        let goes_on = sent >= most || settled.goes_on || pass.has_earned(batch);
        if goes_on && pass.enlist() {
            self.ready.push_back(handle);
        }
        let arrived = pass.has_arrived();
        match pass.deadline() {
            Some(at) => self.deadlines.set(handle.0, at, 0),
            None => self.deadlines.clear(handle.0),
        }
        pass.end();
        let arrived = arrived.then(|| Owner::new(link.clone()));
        if settled.drained {
            links.remove(handle);
        }
        if arrived.is_some() {
            links.end_handshake();
        }
        if let Some(connection) = arrived {
            links.announce(connection);
        }
        if full { Poll::Pending } else { Poll::Ready(()) }
    }

    /// Sets the timer to the next deadline, unless it is.
    fn arm(&mut self, cx: &mut Context<'_>, now: Time) {
        let next = self.deadlines.next().map(|(at, _)| at);
        let is_set =
            self.armed == next && self.waker.as_ref().is_some_and(|w| w.will_wake(cx.waker()));
        let Some(at) = next.filter(|at| !is_set || *at <= now) else { return };
        self.armed = next;
        self.waker.get_or_insert_with(|| cx.waker().clone()).clone_from(cx.waker());
        if self.timer.poll_at(at, cx).is_ready() {
            // It ran out while the driver was at work: once more.
            self.armed = None;
            cx.waker().wake_by_ref();
        }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.inner.links.lock().give_up(&QuicError::ClosedHere);
        self.inner.close_non_quic();
    }
}

fn is_harmless(e: &io::Error) -> bool {
    /// Linux's number of "message too long": a datagram of ours met a narrower path.
    const EMSGSIZE: i32 = 90;
    matches!(e.kind(), io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionRefused)
        || e.raw_os_error() == Some(EMSGSIZE)
}

fn codepoint(ecn: Ecn) -> Option<EcnCodepoint> {
    match ecn {
        Ecn::NotEct => None,
        Ecn::Ect0 => Some(EcnCodepoint::Ect0),
        Ecn::Ect1 => Some(EcnCodepoint::Ect1),
        Ecn::Ce => Some(EcnCodepoint::Ce),
    }
}
