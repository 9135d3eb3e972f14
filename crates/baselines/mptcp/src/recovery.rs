//! What is sent again, when and on which path.
//!
//! Out-of-tree Linux (v0.9x) gives all that a subflow carries to others when that subflow's own
//! timer of retransmission fires, and uses it again when it goes on. Upstream Linux (MPTCP v1) has
//! only the timer of the stream, which sends the first segment again; a subflow that sees no
//! progress for more than four of these in a row is stale, and others get what it carries.

use std::time::Duration;

use airlane_base::Time;

use crate::sender::{Sender, What};
use crate::{MAX_PATHS, SchedulerKind};

/// Timeouts without progress after which a path is stale if one more passes (`stale_loss_cnt`).
const STALE_TIMEOUTS: u32 = 4;
/// A path is so much faster that it sends the first segment again early (v0.9x).
const MUCH_FASTER: u32 = 4;
/// Or the window of the slower one is this small, packets.
const SMALL_WINDOW: u64 = 4;

impl Sender {
    /// The paths that data is sent on, one bit each.
    pub(crate) fn live(&self) -> u32 {
        let is_live = |path: &usize| self.paths[*path].as_ref().is_some_and(|path| !path.is_silent);
        (0..MAX_PATHS).filter(is_live).map(|path| 1 << path).sum()
    }

    /// Time of the next timeout.
    pub(crate) fn next_timeout(&self) -> Option<Time> {
        let silent = || self.paths.iter().flatten().filter_map(|path| path.silent_at()).min();
        match self.options.scheduler {
            SchedulerKind::Redundant => None,
            kind if kind.is_linux() => self.timeout_at(),
            _ => self.timeout_at().into_iter().chain(silent()).min(),
        }
    }

    /// Time of the stream's own timeout: after the last progress, the longest timeout of its paths.
    /// Out-of-tree Linux waits twice as long.
    fn timeout_at(&self) -> Option<Time> {
        if self.flights.is_empty() {
            return None;
        }
        let longest = self.paths.iter().flatten().filter(|p| !p.is_silent).map(|p| p.state.rto());
        let longest = longest.max().unwrap_or(Duration::from_secs(1));
        let times = if self.options.scheduler.is_linux() { 1 } else { 2 };
        Some(self.last_progress + longest * times)
    }

    pub(crate) fn look_at_timeouts(&mut self, now: Time) {
        if self.next_timeout().is_none_or(|at| now < at) {
            return;
        }
        let is_linux = self.options.scheduler.is_linux();
        // Paths first: the stream does not wait for one that has fallen silent.
        for path in 0..MAX_PATHS {
            let silent_at = self.paths[path].as_ref().and_then(|p| p.silent_at());
            if !is_linux && silent_at.is_some_and(|at| at <= now) {
                self.counts.timeouts += 1;
                self.fall_silent(path);
            }
        }
        if self.timeout_at().is_some_and(|at| at <= now) {
            self.last_progress = now;
            self.counts.timeouts += 1;
            self.send_first_again();
            if is_linux {
                self.look_for_stale_paths(now);
            }
        }
    }

    /// The first segment is to be sent again, if there is a path for that.
    fn send_first_again(&mut self) {
        let number = self.flights.first();
        let Some(first) = self.flights.get(number) else { return };
        if self.live() & !first.carriers != 0 {
            self.flights.send_again(number);
        }
    }

    /// One that has seen no progress for long, while another has.
    fn look_for_stale_paths(&mut self, now: Time) {
        for path in self.paths.iter_mut().flatten() {
            if path.silent_at().is_some_and(|at| at <= now) {
                path.timeouts += 1;
            }
        }
        for number in 0..MAX_PATHS {
            let timeouts = |i: usize| self.paths[i].as_ref().map(|p| (p.is_silent, p.timeouts));
            let is_stale = timeouts(number).is_some_and(|(_, count)| count > STALE_TIMEOUTS);
            let other = |i: usize| {
                let is_alive = |(silent, count): (bool, u32)| !silent && count + 1 < STALE_TIMEOUTS;
                i != number && timeouts(i).is_some_and(is_alive)
            };
            if is_stale && (0..MAX_PATHS).any(other) {
                self.fall_silent(number);
            }
        }
    }

    /// Others send what a path carries, and it gets nothing until it goes on.
    fn fall_silent(&mut self, number: usize) {
        let Some(path) = self.paths[number].as_mut() else { return };
        path.is_silent = true;
        path.timeouts = 0;
        path.queued = 0;
        let queue = std::mem::take(&mut path.queue);
        let live = self.live();
        for (queued, _) in queue {
            let Some(flight) = self.flights.get_mut(queued) else { continue };
            flight.carriers &= !(1 << number);
            if flight.carriers & live == 0 {
                self.flights.send_again(queued);
            }
        }
        self.flights.give_back(number, live, false);
    }

    /// The first segment that is to be sent again, for the fastest path with room that has not sent
    /// it.
    pub(crate) fn reinjection(&self) -> Option<(usize, What)> {
        let number = self.flights.first_again()?;
        let path = self.fastest_free(self.flights.get(number)?.carriers)?;
        Some((path, What::Again(number)))
    }

    /// The fastest path with room, but those of `but`.
    fn fastest_free(&self, but: u32) -> Option<usize> {
        let is_free = |path: &usize| {
            let Some(of) = self.paths[*path].as_ref() else { return false };
            let has_room = of.state.has_room && of.state.in_flight < of.cwnd();
            has_room && !of.is_silent && but & (1 << path) == 0
        };
        (0..MAX_PATHS)
            .filter(is_free)
            .min_by_key(|path| self.paths[*path].as_ref().map(|of| of.state.srtt))
    }

    /// A fast path has room, but the window is used up, or two thirds of the memory of a stream that
    /// goes on: the first segment, on a slower path, holds all others up. The fast one sends it as
    /// well, and the slower one is held to half of its window, once per round trip of the fast one at
    /// most.
    pub(crate) fn early(&mut self, now: Time) -> Option<(usize, What)> {
        if !self.options.retransmits_early || self.flights.is_empty() {
            return None;
        }
        let is_full = self.held() >= self.send_memory;
        let is_nearly_full = !self.is_finished() && 3 * self.held() > 2 * self.send_memory;
        if self.buffer.is_empty() && !is_nearly_full {
            return None;
        }
        let number = self.flights.first();
        let carriers = self.flights.get(number)?.carriers;
        let fast = self.fastest_free(0)?;
        let state = self.paths[fast].as_ref()?.state;
        let punished_at = self.paths[fast].as_ref()?.punished_at;
        let is_carrier = |path: usize| path != fast && carriers & (1 << path) != 0;
        let blocks = !self.buffer.is_empty() || is_full;
        if self.options.penalises && blocks && punished_at.is_none_or(|at| now >= at + state.srtt) {
            for path in (0..MAX_PATHS).filter(|path| is_carrier(*path)) {
                let Some(slow) = self.paths[path].as_mut() else { continue };
                if state.srtt < slow.state.srtt && !slow.is_silent {
                    slow.halve();
                    self.counts.penalties += 1;
                    if let Some(fast) = self.paths[fast].as_mut() {
                        fast.punished_at = Some(now);
                    }
                }
            }
        }
        let is_slow = |path: usize| {
            let Some(slow) = self.paths[path].as_ref() else { return false };
            MUCH_FASTER * state.srtt < slow.state.srtt
                || slow.cwnd() <= SMALL_WINDOW * slow.state.mss
        };
        let is_new = carriers & (1 << fast) == 0;
        let helps = is_new && (0..MAX_PATHS).filter(|p| is_carrier(*p)).all(is_slow);
        helps.then_some((fast, What::Early(number)))
    }
}
