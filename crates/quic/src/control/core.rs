//! The state that the lock guards: a connection's sending side, and its qlog.
//!
//! Methods for events take three steps: they complete the log up to now, pass the event to the
//! [`SendState`], and log it if the log knows events of that kind and the state accepted it.

use std::mem;

use airlane_base::{Rate, Time};
use airlane_congestion::{
    Acked, Controller, Counts, EcnCounts, EcnFeedback, Group, InFlight, LastSignals, PathId, Rtt,
    SendState, Signal,
};

use crate::panics::caught;
use crate::qlog::Qlog;

/// A connection's [`SendState`], its qlog, and the path that noq sends on.
#[derive(Debug)]
pub(super) struct Core {
    send: SendState,
    /// The path that noq sends on.
    path: PathId,
    /// Paths opened so far, which is the number of the next path.
    opened: u32,
    /// The log, if the connection has one.
    log: Option<Qlog>,
    /// Reports of marks, of a controller that asks for each.
    ecn: EcnFeedback,
}

impl Core {
    /// A state without a path.
    pub(super) fn new(now: Time, log: Option<Qlog>) -> Self {
        Self {
            send: SendState::new(now),
            path: PathId::default(),
            opened: 0,
            log,
            ecn: EcnFeedback::default(),
        }
    }

    fn next_path(&mut self) -> PathId {
        self.path = PathId(self.opened);
        self.opened += 1;
        self.path
    }

    /// Opens a path with a new controller; noq sends on it from now on.
    pub(super) fn open(
        &mut self,
        now: Time,
        controller: Box<dyn Controller>,
        payload_bytes: u64,
    ) -> PathId {
        self.settle_before(now);
        let path = self.next_path();
        self.send.open(now, path, controller, payload_bytes);
        path
    }

    /// Opens a path that continues `old` under another address: with a copy of its controller.
    pub(super) fn open_like(&mut self, now: Time, old: PathId) -> PathId {
        self.settle_before(now);
        let path = self.next_path();
        self.send.open_like(now, path, old);
        path
    }

    /// noq has dropped a path. noq then sends on the newest of the other paths. The last path is
    /// not closed, so that its counts stay readable; the log is flushed, and only handles add to
    /// it.
    pub(super) fn close(&mut self, path: PathId) {
        if self.send.paths() > 1 {
            self.send.close(path);
            self.path = self.send.newest().unwrap_or_default();
            return;
        }
        self.settle_log();
        if let Some(log) = &mut self.log {
            log.flush();
        }
    }

    /// The path that noq sends on.
    pub(super) fn path(&self) -> PathId {
        self.path
    }

    /// The sending side, to read.
    pub(super) fn send(&self) -> &SendState {
        &self.send
    }

    /// The sending side, for what the log does not record: turns of the driver, since when data
    /// waits, and noq's sum of bytes in flight.
    pub(super) fn send_mut(&mut self) -> &mut SendState {
        &mut self.send
    }

    /// A controller has panicked: replaces all controllers, and ends the log. None of the old ones
    /// is called again while the connection ends.
    pub(super) fn retire(&mut self) {
        for failed in self.send.retire() {
            // Dropping it may panic as well.
            let _ = caught(|| drop(failed));
        }
        self.log = None;
    }

    /// No data waits to be sent any more.
    pub(super) fn no_data_waits(&mut self, now: Time) {
        self.settle_before(now);
        self.send.no_data_waits(now, self.path);
    }

    /// A packet was sent.
    pub(super) fn on_sent(&mut self, now: Time, path: PathId, pn: u64, bytes: u16) {
        self.settle_before(now);
        if self.send.on_sent(now, path, pn, bytes)
            && let Some(log) = &mut self.log
        {
            log.on_sent(self.send.now(), pn, bytes.into());
        }
    }

    /// A packet was acknowledged. `matches` tells whether the packet in flight under that number is
    /// the one that noq means: other packet number spaces use the same numbers.
    pub(super) fn on_acked(
        &mut self,
        now: Time,
        path: PathId,
        acked: &Acked,
        matches: impl FnOnce(&InFlight) -> bool,
    ) {
        self.settle_before(now);
        if let Some(sent) = self.send.on_acked_if(now, path, acked, matches) {
            self.ecn.acked(1);
            if let Some(log) = &mut self.log {
                log.on_acked(acked.pn, sent.at);
            }
        }
    }

    /// All packets of an acknowledgement frame were reported.
    pub(super) fn on_ack_end(&mut self, now: Time, path: PathId) {
        self.settle_before(now);
        if self.send.on_ack_end(now, path)
            && let Some(log) = &mut self.log
        {
            log.on_ack_end(self.send.now());
        }
    }

    /// True if packets are to leave with ECT(1): the controller asks for each mark, and the peer tells of them.
    pub(super) fn sends_ect1(&self) -> bool {
        self.is_scalable() && !self.ecn.has_failed()
    }

    fn is_scalable(&self) -> bool {
        self.controller().is_some_and(Controller::is_scalable)
    }

    /// The ECN counts of the acknowledgement of which all packets were reported; `None` if it has none.
    pub(super) fn on_ecn_counts(&mut self, now: Time, path: PathId, counts: Option<EcnCounts>) {
        if self.is_scalable() {
            let packets = self.ecn.reported(counts);
            if packets > 0 {
                self.mark(now, path, packets);
            }
        }
    }

    /// A packet was declared lost; `matches` as in [`Self::on_acked`].
    pub(super) fn on_lost(
        &mut self,
        now: Time,
        path: PathId,
        pn: u64,
        matches: impl FnOnce(&InFlight) -> bool,
    ) {
        self.settle_before(now);
        if let Some(sent) = self.send.on_lost_if(now, path, pn, matches)
            && let Some(log) = &mut self.log
        {
            log.on_lost(self.send.now(), pn, sent.at);
        }
    }

    /// All packets of a batch of losses were reported.
    pub(super) fn on_losses_end(&mut self, now: Time, path: PathId, persistent: bool) {
        self.settle_before(now);
        if self.send.on_losses_end(now, path, persistent)
            && let Some(log) = &mut self.log
        {
            log.on_persistent_congestion();
        }
    }

    /// An acknowledgement reported more packets marked as having met congestion (ECN-CE).
    pub(super) fn on_marked(&mut self, now: Time, path: PathId) {
        // noq tells that there are more, and not how many: a Scalable controller hears of marks by the ECN counts.
        if !self.is_scalable() {
            self.mark(now, path, 1);
        }
    }

    fn mark(&mut self, now: Time, path: PathId, packets: u64) {
        self.settle_before(now);
        self.send.on_marked(now, path, packets);
        if let Some(log) = &mut self.log {
            log.on_marked(self.send.now());
        }
    }

    /// All packets declared lost turned out to have arrived.
    pub(super) fn on_spurious(&mut self, now: Time, path: PathId) {
        self.settle_before(now);
        self.send.on_spurious(now, path);
        if let Some(log) = &mut self.log {
            log.on_spurious(self.send.now());
        }
    }

    /// The UDP payload of a full packet changed.
    pub(super) fn on_mtu(&mut self, now: Time, path: PathId, bytes: u64) {
        self.settle_before(now);
        self.send.on_mtu(now, path, bytes);
    }

    /// Couples the controllers of all paths with a group. Returns whether any can be.
    pub(super) fn couple(&mut self, group: &Group) -> bool {
        self.send.couple(group)
    }

    /// Passes a signal to the controllers of all paths. Returns whether the controller takes
    /// signals of that kind. The log records weight and rate if they changed.
    pub(super) fn signal(&mut self, now: Time, signal: Signal) -> bool {
        self.settle_before(now);
        let old = self.log.as_ref().map(|_| self.send.last_signals());
        let accepted = self.send.signal(now, signal);
        if let (Some(log), Some(old)) = (&mut self.log, old) {
            let new = self.send.last_signals();
            if new != old {
                let LastSignals { weight, rate, grant, .. } = new;
                let weight = weight.filter(|_| weight != old.weight);
                // A granted rate is logged as one that is set.
                let rate = rate.or(grant.map(|grant| grant.rate));
                let before = old.rate.or(old.grant.map(|grant| grant.rate));
                let rate = rate.filter(|_| rate != before);
                if weight.is_some() || rate.is_some() {
                    log.on_signal_change(self.send.now(), weight, rate);
                }
            }
        }
        accepted
    }

    /// If `now` is later than the last event, logs the metrics as they were after that event. So
    /// the log has one set of metrics per instant, whatever number of events the instant has.
    #[inline]
    fn settle_before(&mut self, now: Time) {
        if self.log.is_some() && self.send.now() < now {
            self.settle_log();
        }
    }

    /// Logs window, rate, bytes in flight and round-trip times as they are now.
    fn settle_log(&mut self) {
        let Some(mut log) = mem::take(&mut self.log) else { return };
        if let Some(controller) = self.send.controller(self.path) {
            let in_flight = self.send.in_flight(self.path);
            log.settle(self.send.now(), controller, in_flight, self.rtt());
        }
        self.log = Some(log);
    }

    // The following read the path that noq sends on.

    pub(super) fn controller(&self) -> Option<&dyn Controller> {
        self.send.controller(self.path)
    }

    pub(super) fn in_flight(&self) -> u64 {
        self.send.in_flight(self.path)
    }

    /// Round-trip times, once there is a sample.
    pub(super) fn rtt(&self) -> Option<Rtt> {
        self.send.rtt(self.path)
    }

    pub(super) fn pacing_rate(&self) -> Option<Rate> {
        self.controller()?.pacing_rate()
    }

    /// The counts of the connection, over all its paths.
    pub(super) fn counts(&self, now: Time) -> Counts {
        self.send.total(now)
    }
}
