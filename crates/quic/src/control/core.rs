//! The state of a connection's sending side, and its log.

use std::mem;

use airlane_base::{Rate, Time};
use airlane_congestion::{
    Acked, Asked, Controller, Counts, InFlight, PathId, Rtt, SendState, Signal,
};

use crate::driver::caught;
use crate::qlog::Qlog;

/// The part of the state that the lock guards: a [`SendState`] that a log is kept of, and which of
/// its paths noq is on.
#[derive(Debug)]
pub(super) struct Core {
    send: SendState,
    path: PathId,
    /// Paths so far: each gets a number of its own.
    opened: u32,
    /// The log, where one is asked for.
    log: Option<Qlog>,
}

impl Core {
    /// Without a path yet.
    pub(super) fn new(now: Time, log: Option<Qlog>) -> Self {
        Self { send: SendState::new(now), path: PathId::default(), opened: 0, log }
    }

    fn next_path(&mut self) -> PathId {
        self.path = PathId(self.opened);
        self.opened += 1;
        self.path
    }

    /// A path begins, with a controller of its own.
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

    /// A path begins that is `old` under another address.
    pub(super) fn open_like(&mut self, now: Time, old: PathId) -> PathId {
        self.settle_before(now);
        let path = self.next_path();
        self.send.open_like(now, path, old);
        path
    }

    /// noq is done with a path. If it was on it, it goes back to the one before. With the last one
    /// the log is complete, but for what handles still do; what is known of that one stays.
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

    /// The path that noq is on.
    pub(super) fn path(&self) -> PathId {
        self.path
    }

    /// What there is to ask.
    pub(super) fn send(&self) -> &SendState {
        &self.send
    }

    /// What the log does not have to hear of.
    pub(super) fn send_mut(&mut self) -> &mut SendState {
        &mut self.send
    }

    /// A controller has panicked: none is asked any more, while the connection ends.
    pub(super) fn retire(&mut self) {
        for failed in self.send.retire() {
            // Of what it does when it goes nothing is known either.
            let _ = caught(|| drop(failed));
        }
        self.log = None;
    }

    /// The data that waited is gone.
    pub(super) fn data_left(&mut self, now: Time) {
        self.settle_before(now);
        self.send.data_left(now, self.path);
    }

    /// A packet left.
    pub(super) fn on_sent(&mut self, now: Time, path: PathId, pn: u64, bytes: u16) {
        self.settle_before(now);
        if self.send.on_sent(now, path, pn, bytes)
            && let Some(log) = &mut self.log
        {
            log.on_sent(self.send.now(), pn, bytes.into());
        }
    }

    /// A packet was acknowledged, if what is in flight under its number `is` it.
    pub(super) fn on_acked(
        &mut self,
        now: Time,
        path: PathId,
        acked: &Acked,
        is: impl FnOnce(&InFlight) -> bool,
    ) {
        self.settle_before(now);
        if let Some(sent) = self.send.on_acked_if(now, path, acked, is)
            && let Some(log) = &mut self.log
        {
            log.on_acked(acked.pn, sent.at);
        }
    }

    pub(super) fn on_ack_end(&mut self, now: Time, path: PathId) {
        self.settle_before(now);
        if self.send.on_ack_end(now, path)
            && let Some(log) = &mut self.log
        {
            log.on_ack_end(self.send.now());
        }
    }

    /// A packet was lost, if what is in flight under its number `is` it.
    pub(super) fn on_lost(
        &mut self,
        now: Time,
        path: PathId,
        pn: u64,
        is: impl FnOnce(&InFlight) -> bool,
    ) {
        self.settle_before(now);
        if let Some(sent) = self.send.on_lost_if(now, path, pn, is)
            && let Some(log) = &mut self.log
        {
            log.on_lost(self.send.now(), pn, sent.at);
        }
    }

    /// The batch of losses is complete.
    pub(super) fn on_losses_end(&mut self, now: Time, path: PathId, persistent: bool) {
        self.settle_before(now);
        if self.send.on_losses_end(now, path, persistent)
            && let Some(log) = &mut self.log
        {
            log.on_persistent_congestion();
        }
    }

    /// More packets were marked as having met congestion.
    pub(super) fn on_marked(&mut self, now: Time, path: PathId) {
        self.settle_before(now);
        self.send.on_marked(now, path);
        if let Some(log) = &mut self.log {
            log.on_marked(self.send.now());
        }
    }

    pub(super) fn on_spurious(&mut self, now: Time, path: PathId) {
        self.settle_before(now);
        self.send.on_spurious(now, path);
        if let Some(log) = &mut self.log {
            log.on_spurious(self.send.now());
        }
    }

    pub(super) fn on_mtu(&mut self, now: Time, path: PathId, bytes: u64) {
        self.settle_before(now);
        self.send.on_mtu(now, path, bytes);
    }

    /// Somebody outside asks for something. Whether the controller listens.
    pub(super) fn signal(&mut self, now: Time, signal: Signal) -> bool {
        self.settle_before(now);
        let old = self.log.as_ref().map(|_| self.send.asked());
        let heard = self.send.signal(now, signal);
        if let (Some(log), Some(old)) = (&mut self.log, old) {
            let new = self.send.asked();
            if new != old {
                let Asked { weight, rate } = new;
                let weight = weight.filter(|_| weight != old.weight);
                log.on_asked(self.send.now(), weight, rate.filter(|_| rate != old.rate));
            }
        }
        heard
    }

    /// Brings the log up to date before time moves on.
    #[inline]
    fn settle_before(&mut self, now: Time) {
        if self.log.is_some() && self.send.now() < now {
            self.settle_log();
        }
    }

    fn settle_log(&mut self) {
        let Some(mut log) = mem::take(&mut self.log) else { return };
        if let Some(controller) = self.send.controller(self.path) {
            let in_flight = self.send.in_flight(self.path);
            log.settle(self.send.now(), controller, in_flight, self.rtt());
        }
        self.log = Some(log);
    }

    // Of the path that noq is on.

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

    /// The counts of the connection.
    pub(super) fn counts(&self, now: Time) -> Counts {
        self.send.total(now)
    }
}
