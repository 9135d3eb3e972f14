//! A link that lets packets go at the delivery opportunities of a recorded trace.

use std::sync::Arc;
use std::time::Duration;

use airlane_base::{Packet, Time};

use super::backlog::{Backlog, PortQueue};
use super::opportunities::{OPPORTUNITY_BYTES, Opportunities, OpportunityCursor};
use crate::meter::LinkStats;
use crate::node::{Counters, Dropped, Node, Port, Queue};

/// A queue served as Mahimahi serves it: each opportunity carries 1500 IP bytes at one instant.
/// Small packets share one, a larger packet takes the rest from the following; what is left when
/// the queue runs empty is lost. A packet leaves with its last byte.
pub struct TraceLink<B = PortQueue> {
    trace: Arc<Opportunities>,
    cursor: OpportunityCursor,
    backlog: B,
    /// The packet that part of has left, and its bytes to go.
    partial: Option<(Box<Packet>, u32)>,
    /// Bytes left of the opportunity in use, and when it is.
    open: (Time, u32),
}

impl TraceLink {
    /// An idle link; the world starts at `offset` of the trace.
    pub fn new(trace: Arc<Opportunities>, offset: Duration, queue: Box<dyn Queue>) -> Self {
        Self::of(trace, offset, PortQueue::new(queue))
    }
}

impl<B: Backlog> TraceLink<B> {
    /// An idle link that serves such a backlog.
    pub(super) fn of(trace: Arc<Opportunities>, offset: Duration, backlog: B) -> Self {
        Self {
            cursor: OpportunityCursor::new(&trace, offset),
            trace,
            backlog,
            partial: None,
            open: (Time::ZERO, 0),
        }
    }

    /// True if nothing is there that the next opportunity could carry.
    fn is_idle(&self) -> bool {
        self.partial.is_none() && self.backlog.is_idle()
    }

    fn take_next(&mut self, now: Time, drops: &mut Vec<Dropped>) -> Option<(Box<Packet>, u32)> {
        let until_now = || self.cursor.bytes_until(&self.trace, now);
        let packet = self.backlog.next(now, until_now, drops)?;
        let bytes = packet.ip_bytes();
        Some((packet, bytes))
    }

    /// A queue may have something to serve again at `now`. Opportunities that passed while there
    /// was nothing are lost.
    fn resume(&mut self, now: Time) {
        if self.is_idle() {
            self.cursor.skip_before(&self.trace, now);
            self.open.1 = 0;
        }
    }
}

impl<B: Backlog> Node for TraceLink<B> {
    fn ports(&self) -> u16 {
        self.backlog.ports()
    }

    fn push(&mut self, now: Time, port: Port, packet: Box<Packet>, drops: &mut Vec<Dropped>) {
        self.resume(now);
        self.backlog.push(now, port, packet, drops);
    }

    fn poll(&mut self, now: Time, drops: &mut Vec<Dropped>) -> Option<Box<Packet>> {
        loop {
            if self.open.1 > 0 {
                // Of two queues one may have become able to serve since the other was asked.
                self.backlog.wake(self.open.0);
            }
            if self.is_idle() {
                let until = self.backlog.waits_until().filter(|at| *at <= now);
                let Some(at) = until else {
                    self.open.1 = 0;
                    return None;
                };
                self.resume(at);
                self.backlog.wake(at);
                continue;
            }
            if self.open.1 == 0 {
                let at = self.cursor.time(&self.trace);
                if at > now {
                    return None;
                }
                self.open = (at, OPPORTUNITY_BYTES);
                self.cursor.advance(&self.trace);
            }
            let (at, budget) = self.open;
            let Some((packet, to_go)) = self.partial.take().or_else(|| self.take_next(at, drops))
            else {
                continue;
            };
            let used = to_go.min(budget);
            self.open.1 = budget - used;
            if used < to_go {
                self.partial = Some((packet, to_go - used));
                continue;
            }
            self.backlog.left(&packet);
            return Some(packet);
        }
    }

    fn next_event(&self) -> Option<Time> {
        if self.is_idle() {
            return self.backlog.waits_until().filter(|at| *at < Time::FAR_FUTURE);
        }
        Some(if self.open.1 > 0 { self.open.0 } else { self.cursor.time(&self.trace) })
    }

    fn counters(&self, port: Port) -> Counters {
        self.backlog.counters(port, self.partial.as_ref().map(|(packet, _)| &**packet))
    }

    fn link_stats(&self, port: Port, now: Time) -> Option<LinkStats> {
        Some(self.backlog.stats(port, now, self.cursor.bytes_until(&self.trace, now)))
    }
}
