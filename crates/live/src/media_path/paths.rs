//! The paths of an endpoint: what their ends and the driver share.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use airlane_base::Time;
use airlane_messages::{Event, Session};
use airlane_quic::Connection;
use airlane_quic::panics::{self, Panic};
use airlane_runtime::{Received, RuntimeHandle};
use parking_lot::Mutex;

use super::PathFault;

/// The part of a session's number that is its slot; the rest tells those apart that had it before.
const SLOT_BITS: u32 = 16;

/// Datagrams that are kept for a path that is being opened at most: its peer may send as soon as it has
/// answered, before this end has read the answer.
const MAX_EARLY: usize = 64;

/// All paths of an endpoint.
pub(super) struct Paths {
    runtime: RuntimeHandle,
    most: usize,
    /// Secret of numbers that peers must not guess.
    secret: [u8; 32],
    /// The socket sends what is too large for a path in fragments: how large packets may be cannot be
    /// found out.
    may_fragment: bool,
    state: Mutex<State>,
}

impl std::fmt::Debug for Paths {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Paths").field("len", &self.len()).finish_non_exhaustive()
    }
}

#[derive(Default)]
pub(super) struct State {
    slots: Vec<Slot>,
    /// Paths to look at, each once.
    pub(super) ready: Vec<usize>,
    pub(super) driver: Option<Waker>,
    /// The endpoint is gone.
    pub(super) closed: bool,
}

#[derive(Default)]
struct Slot {
    generation: u16,
    taken: bool,
    pub(super) open: Option<Open>,
    /// Packets that came before it was open.
    early: Vec<Received>,
}

/// A path that is open.
pub(super) struct Open {
    pub(super) session: Session,
    /// It keeps the connection open.
    _connection: Connection,
    /// The local address that its datagrams leave from; `None`: whichever leads to the peer.
    pub(super) source: Option<IpAddr>,
    /// It has panicked: nothing more is done with the session.
    pub(super) failed: bool,
    reader: Option<Waker>,
    pub(super) listed: bool,
}

impl State {
    /// The path of a session's number.
    pub(super) fn slot_of(&self, id: u32) -> Option<usize> {
        let slot = (id & ((1 << SLOT_BITS) - 1)) as usize;
        let known = self.slots.get(slot)?;
        (u32::from(known.generation) == id >> SLOT_BITS && known.open.is_some()).then_some(slot)
    }

    /// Keeps a datagram for a session that is being opened; others are dropped.
    pub(super) fn keep_early(&mut self, id: u32, received: Received) {
        let slot = (id & ((1 << SLOT_BITS) - 1)) as usize;
        let Some(slot) = self.slots.get_mut(slot) else { return };
        let is_opening = slot.taken && slot.open.is_none();
        if is_opening
            && u32::from(slot.generation) == id >> SLOT_BITS
            && slot.early.len() < MAX_EARLY
        {
            slot.early.push(received);
        }
    }

    pub(super) fn open(&mut self, slot: usize) -> Option<&mut Open> {
        self.slots.get_mut(slot)?.open.as_mut()
    }

    /// The driver has to look at a path.
    pub(super) fn list(&mut self, slot: usize) {
        if let Some(open) = self.open(slot)
            && !std::mem::replace(&mut open.listed, true)
        {
            self.ready.push(slot);
        }
    }

    fn wake_driver(&mut self) {
        if let Some(driver) = self.driver.take() {
            driver.wake();
        }
    }

    /// Nothing comes any more.
    pub(super) fn close(&mut self) {
        self.closed = true;
        for open in self.slots.iter_mut().filter_map(|slot| slot.open.as_mut()) {
            open.wake();
        }
    }
}

impl Open {
    /// A datagram of the session.
    pub(super) fn take_in(&mut self, runtime: &RuntimeHandle, now: Time, received: Received) {
        let Received { src, dst_ip, ecn, mut payload, .. } = received;
        let src = comparable(src);
        if self.failed {
            return;
        }
        match self.guarded(|open| open.session.handle(now, src, ecn, &mut payload)) {
            Ok(Ok(())) => {
                if self.source.is_some() && src == self.session.remote() {
                    self.source = (!dst_ip.is_unspecified()).then_some(dst_ip);
                }
            }
            Ok(Err(why)) => tracing::debug!(%src, "a datagram was refused: {why:?}"),
            Err(panic) => panics::report(runtime, panic),
        }
        self.tell();
    }

    /// Wakes who waits for an event, if there is one.
    pub(super) fn tell(&mut self) {
        if self.session.has_event() || self.has_ended() {
            self.wake();
        }
    }

    /// True if the path has ended by itself.
    pub(super) fn has_ended(&self) -> bool {
        self.failed || self.session.has_ended()
    }

    /// Runs what belongs to this path alone: a panic ends it, and no other.
    pub(super) fn guarded<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> Result<T, Panic> {
        let done = panics::caught(|| work(self));
        if done.is_err() {
            self.failed = true;
            self.wake();
        }
        done
    }

    fn wake(&mut self) {
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
    }
}

impl Paths {
    pub(super) fn new(
        runtime: RuntimeHandle,
        most: usize,
        secret: [u8; 32],
        may_fragment: bool,
    ) -> Self {
        let most = most.min(1 << SLOT_BITS);
        Self { runtime, most, secret, may_fragment, state: Mutex::default() }
    }

    /// Secret of numbers that peers must not guess.
    pub(super) fn secret(&self) -> &[u8; 32] {
        &self.secret
    }

    /// True if packets too large for a path may arrive in fragments.
    pub(super) fn may_fragment(&self) -> bool {
        self.may_fragment
    }

    pub(super) fn runtime(&self) -> &RuntimeHandle {
        &self.runtime
    }

    pub(super) fn state(&self) -> parking_lot::MutexGuard<'_, State> {
        self.state.lock()
    }

    pub(super) fn len(&self) -> usize {
        self.state.lock().slots.iter().filter(|slot| slot.open.is_some()).count()
    }

    /// A place for another path; `None` if there is none.
    pub(super) fn reserve(self: &Arc<Self>) -> Option<Place> {
        let mut state = self.state.lock();
        if state.closed {
            return None;
        }
        let free = state.slots.iter().position(|slot| !slot.taken);
        let slot = free.unwrap_or(state.slots.len());
        if slot >= self.most {
            return None;
        }
        if free.is_none() {
            state.slots.push(Slot::default());
        }
        let known = &mut state.slots[slot];
        known.taken = true;
        let id = u32::from(known.generation) << SLOT_BITS | slot as u32;
        Some(Place { paths: self.clone(), slot, id })
    }
}

/// A path's place, which is free again when this is dropped.
pub(super) struct Place {
    paths: Arc<Paths>,
    slot: usize,
    id: u32,
}

impl Place {
    /// The number by which the session is known here.
    pub(super) fn id(&self) -> u32 {
        self.id
    }

    pub(super) fn runtime(&self) -> &RuntimeHandle {
        &self.paths.runtime
    }

    pub(super) fn fill(&self, session: Session, connection: Connection, source: Option<IpAddr>) {
        let mut open = Open {
            session,
            _connection: connection,
            source,
            failed: false,
            reader: None,
            listed: false,
        };
        let now = self.paths.runtime.now();
        let mut state = self.paths.state.lock();
        let early = std::mem::take(&mut state.slots[self.slot].early);
        let is_early = !early.is_empty();
        for received in early {
            open.take_in(&self.paths.runtime, now, received);
        }
        state.slots[self.slot].open = Some(open);
        if is_early {
            state.list(self.slot);
            state.wake_driver();
        }
    }

    /// Changes the session; the driver looks at it then.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut Session, Time) -> T) -> T {
        let now = self.paths.runtime.now();
        let mut state = self.paths.state.lock();
        let open = state.slots[self.slot].open.as_mut().expect(FILLED);
        let changed = open.guarded(|open| change(&mut open.session, now));
        state.list(self.slot);
        state.wake_driver();
        drop(state);
        changed.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// Reads the session.
    pub(super) fn look<T>(&self, look: impl FnOnce(&Session, Time) -> T) -> T {
        let now = self.paths.runtime.now();
        let state = self.paths.state.lock();
        look(&state.slots[self.slot].open.as_ref().expect(FILLED).session, now)
    }

    /// Fault by which the path has ended by itself, if it has.
    pub(super) fn fault(&self) -> Option<PathFault> {
        let state = self.paths.state.lock();
        let open = state.slots[self.slot].open.as_ref().expect(FILLED);
        match (open.failed, open.session.has_ended()) {
            (true, _) => Some(PathFault::Inside),
            (false, true) => Some(PathFault::UnsentAcknowledged),
            (false, false) => None,
        }
    }

    pub(super) fn poll_event(&self, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        let mut state = self.paths.state.lock();
        let closed = state.closed;
        let open = state.slots[self.slot].open.as_mut().expect(FILLED);
        if let Some(event) = open.session.poll_event() {
            return Poll::Ready(Some(event));
        }
        if closed || open.has_ended() {
            return Poll::Ready(None);
        }
        open.reader = Some(cx.waker().clone());
        Poll::Pending
    }
}

/// An address such that two are equal if they are the same place: the system may fill in a flow label,
/// and a scope where none is needed (RFC 3493, section 3.3).
pub(super) fn comparable(address: SocketAddr) -> SocketAddr {
    let SocketAddr::V6(mut v6) = address else { return address };
    v6.set_flowinfo(0);
    if !v6.ip().is_unicast_link_local() {
        v6.set_scope_id(0);
    }
    v6.into()
}

/// A `MediaPath` has only places that were filled.
const FILLED: &str = "a place of an open path";

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = self.paths.state.lock();
        let slot = &mut state.slots[self.slot];
        let open = slot.open.take();
        slot.early.clear();
        slot.taken = false;
        slot.generation = slot.generation.wrapping_add(1);
        drop(state);
        // The connection may be closed by it, which takes locks of its own.
        drop(open);
    }
}
