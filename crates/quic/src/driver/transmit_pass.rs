//! One pass of the driver over a connection: timers, events, and datagrams to send.

use std::mem;
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use airlane_base::Time;
use bytes::Bytes;
use noq_proto::{EcnCodepoint, PathId, Transmit, VarInt};
use parking_lot::MutexGuard;

use super::link::Link;
use super::state::State;
use super::unvalidated::Unvalidated;
use crate::error::QuicError;

/// Maximum time that a probe of the path's MTU waits while there is always something to send.
const PROBE_PAUSE: Duration = Duration::from_millis(50);

/// Pass of the driver over a connection, which it has locked.
pub(super) struct TransmitPass<'a> {
    link: &'a Link,
    state: MutexGuard<'a, State>,
}

impl Link {
    /// Begins a pass of the driver.
    pub(super) fn transmit_pass(&self) -> TransmitPass<'_> {
        let mut state = self.state.lock();
        state.listed = false;
        self.control().shared().begin();
        TransmitPass { link: self, state }
    }
}

/// Datagrams to send.
pub(super) struct Batch {
    pub(super) to: Transmit,
    pub(super) datagrams: usize,
    /// Nothing more can be sent now: asking again would be in vain.
    pub(super) is_last: bool,
}

/// Result of a turn's events.
pub(super) struct Settled {
    /// The connection is gone for good.
    pub(super) drained: bool,
    /// It may have something to send: replies of the endpoint, or word of room for more.
    pub(super) goes_on: bool,
}

impl TransmitPass<'_> {
    /// Runs what timers are due. One that an event of this turn has set comes at the end of it.
    pub(super) fn time_out(&mut self, now: Instant) {
        if self.state.deadline.is_some_and(|at| at <= now) {
            self.state.proto.handle_timeout(now);
        }
        let deadline = self.handshake_deadline().map(|at| self.link.clock.instant(at));
        if deadline.is_some_and(|at| at <= now) {
            self.state.proto.close(now, VarInt::from_u32(0), Bytes::new());
            self.state.end(QuicError::TimedOut);
        }
    }

    /// Time by which the handshake must be done, while it is not.
    fn handshake_deadline(&self) -> Option<Time> {
        let waits = self.state.unannounced && self.state.ended.is_none();
        self.link.handshake_deadline.filter(|_| waits)
    }

    /// Limit of what may be sent, until the client's address is validated.
    fn unvalidated(&mut self) -> Option<&mut Unvalidated> {
        if self.state.unvalidated.is_some()
            && self.link.control().shared().seal.has_opened_handshake()
        {
            self.state.unvalidated = None;
        }
        self.state.unvalidated.as_mut()
    }

    /// Writes at most `max` datagrams into `buffer`, which is empty.
    pub(super) fn transmit(
        &mut self,
        now: Instant,
        max: NonZeroUsize,
        buffer: &mut Vec<u8>,
    ) -> Option<Batch> {
        let is_ack_overdue = self.link.control().shared().has_overdue_ack();
        let max = match self.unvalidated() {
            Some(unvalidated) if unvalidated.has_room() => NonZeroUsize::MIN,
            Some(_) => return None,
            // One datagram is enough for an acknowledgement that is overdue.
            None if is_ack_overdue => NonZeroUsize::MIN,
            None => max,
        };
        let transmit = self.state.proto.poll_transmit(now, max, buffer);
        if transmit.is_some() || is_ack_overdue {
            self.link.control().shared().ack_is_sent();
        }
        let Some(mut to) = transmit else {
            self.state.emptied = now;
            return None;
        };
        if self.link.control().shared().sends_ect1() {
            to.ecn = Some(EcnCodepoint::Ect1);
        }
        if let Some(unvalidated) = &mut self.state.unvalidated
            && !unvalidated.take(to.size as u64)
        {
            // As good as lost.
            return None;
        }
        let segment = to.segment_size.unwrap_or(to.size).max(1);
        let datagrams = to.size.div_ceil(segment);
        // A batch ends early when the connection runs out of data or of window, and then asking
        // again finds nothing. It also ends early when the last datagram has another size than the
        // others, in a handshake, and when it probes an address that the peer has moved to or from.
        // Probes of the path's MTU leave when nothing else is found: there is time for those.
        let probes = self.link.probes_mtu && now >= self.state.emptied + PROBE_PAUSE;
        let is_last = self.state.confirmed
            && !probes
            && datagrams < max.get()
            && to.size.is_multiple_of(segment)
            && self
                .state
                .proto
                .network_path(PathId::ZERO)
                .is_ok_and(|path| path.remote() == to.destination);
        Some(Batch { to, datagrams, is_last })
    }

    /// Passes on what happened.
    pub(super) fn settle(&mut self, endpoint: &mut noq_proto::Endpoint) -> Settled {
        let state = &mut *self.state;
        let mut settled = Settled { drained: false, goes_on: false };
        while let Some(event) = state.proto.poll_endpoint_events() {
            settled.drained |= event.is_drained();
            if let Some(reply) = endpoint.handle_event(self.link.handle, event) {
                state.proto.handle_event(reply);
                settled.goes_on = true;
            }
        }
        while let Some(event) = state.proto.poll() {
            state.on_event(event);
        }
        if let Some(read) = &mut state.report_reader {
            while let Some(report) = state.proto.datagrams().recv() {
                let now = self.link.runtime().now();
                if let Some(signal) = read(now, &report) {
                    self.link.control().signal_in_turn(now, signal);
                    settled.goes_on = true;
                }
            }
        }
        settled.goes_on |= state.fill_inboxes();
        settled.goes_on |= state.empty_outboxes();
        settled
    }

    /// Notes that the driver is to look at the connection; true if it must now be put on the
    /// driver's list.
    pub(super) fn enlist(&mut self) -> bool {
        self.state.enlist()
    }

    /// True if the pacer, which goes by the time at which the turn began, holds what by now is a full
    /// batch: its timer may be a millisecond late, which at high rates is a long time. In virtual
    /// time turns take none.
    pub(super) fn has_earned(&self, batch: NonZeroUsize) -> bool {
        self.link.control().shared().has_earned(|| self.link.runtime().now(), batch.get())
    }

    /// The turn ends because it has lasted long enough.
    pub(super) fn cut(&mut self) {
        self.link.control().shared().mark_late();
    }

    /// Time at which the connection wants to be looked at next.
    pub(super) fn deadline(&mut self) -> Option<Time> {
        self.state.deadline = self.state.proto.poll_timeout();
        let timer = self.state.deadline.map(|at| self.link.clock.time(at));
        let shared = self.link.control().shared();
        let (pacer, ack) = (shared.wake(), shared.ack_deadline());
        timer.into_iter().chain(pacer).chain(ack).chain(self.handshake_deadline()).min()
    }

    /// Ends the turn. Whoever waits for the connection, with more to send perhaps, has it next: the
    /// driver would be back before they wake, again and again until it has nothing left to send.
    pub(super) fn end(self) {
        MutexGuard::unlock_fair(self.state);
    }

    /// True if the peer opened the connection and the handshake has just been done.
    pub(super) fn has_arrived(&mut self) -> bool {
        let state = &mut *self.state;
        state.connected && state.ended.is_none() && mem::take(&mut state.unannounced)
    }
}
