//! CoDel, controlled delay (RFC 8289): the control law, for one queue or for each of many, and the
//! discipline of one queue.

use std::collections::VecDeque;
use std::time::Duration;

use airlane_base::{DropReason, Ecn, Packet, Time};

use crate::node::{Dequeued, Dropped, Queue};
use crate::queue::Capacity;

/// Parameters of CoDel; the defaults are those of RFC 8289.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodelConfig {
    /// TARGET: the queueing delay that may stand.
    pub target: Duration,
    /// INTERVAL: how long it must stand before something is done about it.
    pub interval: Duration,
    /// Marks packets that allow it instead of dropping them.
    pub ecn: bool,
}

impl Default for CodelConfig {
    fn default() -> Self {
        Self { target: Duration::from_millis(5), interval: Duration::from_millis(100), ecn: false }
    }
}

impl CodelConfig {
    /// Parameters that let as much stand as slow radios need, and at least as much as these: 50 ms
    /// for 300 ms, mac80211's for stations of which it expects less than 12 Mbit/s
    /// (Hoiland-Jorgensen et al., USENIX ATC 2017, section 3.1.1).
    #[must_use]
    pub fn slow(self) -> Self {
        Self {
            target: self.target.max(Duration::from_millis(50)),
            interval: self.interval.max(Duration::from_millis(300)),
            ..self
        }
    }
}

/// Below so many IP bytes a queue is never dropped from (MAXPACKET): a packet always may wait.
const MAX_PACKET_BYTES: u64 = 1_514;

/// A FIFO as CoDel sees it: packets, and how many IP bytes wait.
#[derive(Debug, Default)]
pub(super) struct Fifo {
    waiting: VecDeque<Box<Packet>>,
    bytes: u64,
}

impl Fifo {
    pub(super) fn push(&mut self, packet: Box<Packet>) {
        self.bytes += u64::from(packet.ip_bytes());
        self.waiting.push_back(packet);
    }

    pub(super) fn pop(&mut self) -> Option<Box<Packet>> {
        let packet = self.waiting.pop_front()?;
        self.bytes -= u64::from(packet.ip_bytes());
        Some(packet)
    }

    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// The state of the control law (section 5.3).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ControlLaw {
    /// Time at which the delay will have stood above the target for an interval; `None` while it is
    /// below.
    first_above: Option<Time>,
    /// Drops so far in this state of dropping, and in the one before.
    count: u32,
    last_count: u32,
    /// The next drop, in the state of dropping.
    drop_next: Option<Time>,
    /// Time at which that state ended.
    left: Option<Time>,
}

impl ControlLaw {
    /// The next packet of `fifo` to serve (section 5.5); what it drops goes into `drops`.
    pub(super) fn dequeue(
        &mut self,
        now: Time,
        config: &CodelConfig,
        fifo: &mut Fifo,
        drops: &mut Vec<Dropped>,
    ) -> Option<Box<Packet>> {
        let (mut packet, mut above) = self.next(now, config, fifo);
        if let Some(mut at) = self.drop_next {
            if !above {
                self.leave(at);
                return packet;
            }
            while above && now >= at {
                self.count = self.count.saturating_add(1);
                let Some(over) = self.signal(config, packet, drops) else {
                    (packet, above) = self.next(now, config, fifo);
                    if !above {
                        self.leave(at);
                        return packet;
                    }
                    at += self.spacing(config);
                    self.drop_next = Some(at);
                    continue;
                };
                self.drop_next = Some(at + self.spacing(config));
                return Some(over);
            }
            return packet;
        }
        if above {
            // It dropped lately: it goes on with almost the rate that it had (section 5.5).
            let delta = self.count - self.last_count;
            let lately = self.left.is_some_and(|left| now.since(left) < 16 * config.interval);
            self.count = if delta > 1 && lately { delta } else { 1 };
            self.last_count = self.count;
            self.drop_next = Some(now + self.spacing(config));
            return match self.signal(config, packet, drops) {
                Some(over) => Some(over),
                None => self.next(now, config, fifo).0,
            };
        }
        packet
    }

    /// The state of dropping ends.
    fn leave(&mut self, at: Time) {
        self.drop_next = None;
        self.left = Some(at);
    }

    /// From one drop to the next: the interval over the root of the count.
    fn spacing(&self, config: &CodelConfig) -> Duration {
        config.interval.div_f64(f64::from(self.count.max(1)).sqrt())
    }

    /// Takes a packet off, and says whether the delay has stood above the target for an interval.
    fn next(
        &mut self,
        now: Time,
        config: &CodelConfig,
        fifo: &mut Fifo,
    ) -> (Option<Box<Packet>>, bool) {
        let packet = fifo.pop();
        let Some(waited) = packet.as_ref().map(|packet| now.since(packet.enqueued)) else {
            self.first_above = None;
            return (None, false);
        };
        if waited < config.target || fifo.bytes() <= MAX_PACKET_BYTES {
            self.first_above = None;
            return (packet, false);
        }
        let at = *self.first_above.get_or_insert(now + config.interval);
        (packet, now >= at)
    }

    /// Marks a packet, which is then served, or drops it.
    fn signal(
        &self,
        config: &CodelConfig,
        packet: Option<Box<Packet>>,
        drops: &mut Vec<Dropped>,
    ) -> Option<Box<Packet>> {
        let mut packet = packet?;
        if config.ecn && packet.ecn != Ecn::NotEct {
            packet.ecn = Ecn::Ce;
            return Some(packet);
        }
        drops.push(Dropped { packet, reason: DropReason::Aqm });
        None
    }
}

/// One queue under CoDel.
#[derive(Debug)]
pub struct Codel {
    config: CodelConfig,
    is_slow: bool,
    capacity: Capacity,
    fifo: Fifo,
    law: ControlLaw,
}

impl Codel {
    /// An empty queue.
    pub fn new(config: CodelConfig, capacity: Capacity) -> Self {
        let (fifo, law) = (Fifo::default(), ControlLaw::default());
        Self { config, is_slow: false, capacity, fifo, law }
    }
}

impl Queue for Codel {
    fn enqueue(&mut self, _now: Time, packet: Box<Packet>, drops: &mut Vec<Dropped>) {
        let bytes = self.fifo.bytes() + u64::from(packet.ip_bytes());
        if self.capacity.exceeded_by(self.fifo.len() + 1, bytes) {
            drops.push(Dropped { packet, reason: DropReason::Overflow });
        } else {
            self.fifo.push(packet);
        }
    }

    fn dequeue(&mut self, now: Time, drops: &mut Vec<Dropped>) -> Dequeued {
        let config = if self.is_slow { self.config.slow() } else { self.config };
        self.law.dequeue(now, &config, &mut self.fifo, drops).into()
    }

    fn set_slow(&mut self, is_slow: bool) {
        self.is_slow = is_slow;
    }

    fn len(&self) -> usize {
        self.fifo.len()
    }

    fn bytes(&self) -> u64 {
        self.fifo.bytes()
    }

    fn name(&self) -> &'static str {
        "codel"
    }
}
