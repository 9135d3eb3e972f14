//! A queue that drops as [`Dropper`] says, and whole messages where it is full.

use std::collections::VecDeque;

use airlane_base::{Rate, Time};

use crate::dropper::{DropDecision, Dropper, Mark, Options};
use crate::header::Header;
use crate::reason::Reason;

/// A queue of more packets grows once more wait.
const ALLOCATED: usize = 1 << 16;

/// Capacity of a queue: as many packets and as many IP bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// Packets at most.
    pub packets: usize,
    /// IP bytes at most.
    pub ip_bytes: u64,
}

/// A packet that was dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dropped<T> {
    /// The packet.
    pub packet: T,
    /// Reason of the drop.
    pub reason: Reason,
}

/// A queue of packets, whatever these are: first in, first out, but for what it drops.
///
/// What it drops goes to the function that is given with each call, as soon as it is known.
#[derive(Clone, Debug)]
pub struct Queue<T> {
    capacity: Capacity,
    dropper: Dropper,
    waiting: VecDeque<(Mark, T)>,
    ip_bytes: u64,
}

impl<T> Queue<T> {
    /// An empty queue. Nothing is allocated after this, if it holds at most 65 536 packets.
    pub fn new(capacity: Capacity, options: Options) -> Self {
        Self {
            capacity,
            dropper: Dropper::new(options),
            // And one that does not fit.
            waiting: VecDeque::with_capacity(capacity.packets.min(ALLOCATED) + 1),
            ip_bytes: 0,
        }
    }

    /// Packets that wait.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// True if no packet waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// IP bytes that wait.
    pub fn ip_bytes(&self) -> u64 {
        self.ip_bytes
    }

    /// As [`Dropper::set_bandwidth`].
    pub fn set_bandwidth(&mut self, rate: Option<Rate>) {
        self.dropper.set_bandwidth(rate);
    }

    /// As [`Dropper::bandwidth`].
    pub fn bandwidth(&mut self, now: Time) -> Option<Rate> {
        self.dropper.bandwidth(now)
    }

    /// As [`Dropper::reconsider`].
    pub fn reconsider(&mut self) {
        self.dropper.reconsider();
    }

    /// Takes a packet of a flow, a number that tells connections apart, with its header if it has
    /// one.
    ///
    /// Where there is no room, messages that newer ones drop make way at once; if that is not
    /// enough, the packet is dropped with all of its message that waits or is yet to come.
    #[inline]
    pub fn enqueue(
        &mut self,
        now: Time,
        flow: u64,
        header: Option<&Header>,
        ip_bytes: u32,
        packet: T,
        mut dropped: impl FnMut(Dropped<T>),
    ) {
        let mark = match self.dropper.enqueue(now, flow, header, ip_bytes) {
            Ok(mark) => mark,
            Err(reason) => return dropped(Dropped { packet, reason }),
        };
        self.push(mark, packet);
        if !self.fits() {
            self.overflows(now, &mut dropped);
        }
    }

    /// The next packet to leave; `None` if none waits.
    #[inline]
    pub fn dequeue(&mut self, now: Time, mut dropped: impl FnMut(Dropped<T>)) -> Option<T> {
        while let Some((mark, packet)) = self.waiting.pop_front() {
            self.ip_bytes -= u64::from(mark.ip_bytes());
            match self.dropper.dequeue(now, &mark) {
                DropDecision::Pass => return Some(packet),
                DropDecision::Drop(reason) => dropped(Dropped { packet, reason }),
            }
        }
        None
    }

    #[inline]
    fn push(&mut self, mark: Mark, packet: T) {
        self.ip_bytes += u64::from(mark.ip_bytes());
        self.waiting.push_back((mark, packet));
    }

    /// Drops packets, this one or others, after a packet came that does not fit.
    // That one waits already: passed to here, its mark would have to lie in memory for every packet.
    #[inline(never)]
    fn overflows(&mut self, now: Time, dropped: &mut impl FnMut(Dropped<T>)) {
        let Some((mark, packet)) = self.waiting.pop_back() else { return };
        self.ip_bytes -= u64::from(mark.ip_bytes());
        self.make_room(now, dropped);
        if self.has_room(mark.ip_bytes()) {
            return self.push(mark, packet);
        }
        self.dropper.refuse(&mark);
        dropped(Dropped { packet, reason: Reason::Overflow });
        if let Some(message) = mark.message() {
            let is_of = |_: &mut Dropper, other: &Mark| other.message() == Some(message);
            self.take_out(is_of, Reason::Overflow, dropped);
        }
    }

    /// True if all that waits fits in the capacity.
    #[inline]
    fn fits(&self) -> bool {
        self.waiting.len() <= self.capacity.packets && self.ip_bytes <= self.capacity.ip_bytes
    }

    /// True if another packet would fit.
    fn has_room(&self, ip_bytes: u32) -> bool {
        self.waiting.len() < self.capacity.packets
            && self.ip_bytes + u64::from(ip_bytes) <= self.capacity.ip_bytes
    }

    /// Takes out what newer messages drop, unless there has been no such message since last time.
    #[cold]
    fn make_room(&mut self, now: Time, dropped: &mut impl FnMut(Dropped<T>)) {
        if !self.dropper.take_news() {
            return;
        }
        let is_outdated = |dropper: &mut Dropper, mark: &Mark| dropper.is_outdated(now, mark);
        self.take_out(is_outdated, Reason::Newer, dropped);
    }

    /// Takes out what `is_meant`, first to last.
    #[cold]
    fn take_out(
        &mut self,
        mut is_meant: impl FnMut(&mut Dropper, &Mark) -> bool,
        reason: Reason,
        dropped: &mut impl FnMut(Dropped<T>),
    ) {
        for _ in 0..self.waiting.len() {
            let Some((mark, packet)) = self.waiting.pop_front() else { return };
            if is_meant(&mut self.dropper, &mark) {
                self.ip_bytes -= u64::from(mark.ip_bytes());
                self.dropper.remove(&mark);
                dropped(Dropped { packet, reason });
            } else {
                self.waiting.push_back((mark, packet));
            }
        }
    }
}
