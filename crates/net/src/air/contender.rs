//! The backoff of one access category of one radio (802.11-2020, 10.23.2).

use std::collections::VecDeque;
use std::time::Duration;

use airlane_base::{Rng, Time};
use airlane_wifi::Access;
use rand::RngExt;

use super::exchange::Exchange;
use super::ids::{LinkId, RadioId};
use super::power::Control;

/// Contender for the air: an access category of a radio.
#[derive(Debug)]
pub(super) struct Contender {
    pub(super) radio: RadioId,
    pub(super) access: Access,
    cw: u16,
    /// Slots of the backoff that are left, when the channel was last found idle.
    slots: u32,
    /// Time since which it has wanted the air. `None`: nothing waits.
    pub(super) wants_since: Option<Time>,
    /// Failures in a row.
    failures: u8,
    /// Exchange that it carries out while it has the air.
    pub(super) exchange: Option<Exchange>,
    /// Frames without packets that it sends first.
    pub(super) control: VecDeque<Control>,
    /// Its links, by number, in the order of their first packets.
    pub(super) links: Vec<LinkId>,
}

impl Contender {
    pub(super) fn new(radio: RadioId, access: Access) -> Self {
        Self {
            radio,
            access,
            cw: access.cw_min,
            slots: 0,
            wants_since: None,
            failures: 0,
            exchange: None,
            control: VecDeque::new(),
            links: Vec::new(),
        }
    }

    /// Time at which it may send if the channel stays idle, where the count of slots begins at
    /// `from`.
    #[inline]
    pub(super) fn may_send_at(&self, from: Time, slot: Duration) -> Option<Time> {
        let wants = self.wants_since.filter(|_| self.exchange.is_none())?;
        Some((from + slot * self.slots).max(wants))
    }

    /// The channel becomes busy: the slots that have begun since `from` are done. EDCA counts down at the
    /// beginning of a slot, the one behind AIFS included, and so also in the slot in which another
    /// begins to send (10.23.2.4); the DCF of before counted at its end.
    #[inline]
    pub(super) fn freeze(&mut self, now: Time, from: Time, slot: Duration) {
        if now < from {
            return;
        }
        let begun = now.since(from).as_nanos() / slot.as_nanos() + 1;
        self.slots = self.slots.saturating_sub(u32::try_from(begun).unwrap_or(u32::MAX));
    }

    /// It wants the air from now on. Where the channel is not free for it, it does not just wait for
    /// the end of what is being sent: others do that too.
    pub(super) fn want(&mut self, now: Time, is_free: bool, rng: &mut Rng) {
        if self.wants_since.is_none() {
            self.wants_since = Some(now);
            if !is_free && self.slots == 0 && self.exchange.is_none() {
                self.draw(rng);
            }
        }
    }

    /// An attempt came through: the window is the first again.
    pub(super) fn succeed(&mut self, rng: &mut Rng) {
        self.failures = 0;
        self.cw = self.access.cw_min;
        self.draw(rng);
    }

    /// An attempt failed: the window doubles, and begins anew after so many.
    pub(super) fn fail(&mut self, retries: u8, rng: &mut Rng) {
        self.failures += 1;
        if self.failures > retries {
            self.failures = 0;
            self.cw = self.access.cw_min;
        } else {
            self.cw = (2 * (self.cw + 1) - 1).min(self.access.cw_max);
        }
        self.draw(rng);
    }

    fn draw(&mut self, rng: &mut Rng) {
        self.slots = rng.random_range(0..=u32::from(self.cw));
    }
}
