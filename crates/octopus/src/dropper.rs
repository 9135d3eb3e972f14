//! Algorithm 1 of the paper, for whoever has a queue.

use std::time::Duration;

use airlane_base::{Rate, Seed, Time};

use crate::header::{Header, MAX_PRIORITY, is_older};
use crate::rates::{Service, Shares};
use crate::reason::Reason;
use crate::streams::{NONE, Stream, Streams};

/// Options of a [`Dropper`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Streams at most, of all connections. Of more, those that have been quiet for longest are
    /// forgotten; while all have packets in the queue, those of others pass without a decision.
    pub streams: usize,
    /// A message is dropped only once it is whole in the queue and has waited for its slack, as in
    /// the authors' code.
    pub slack: bool,
    /// Packets of which the first of their message never came are dropped instead of passed.
    pub headless: bool,
    /// Each packet is decided on its own, as if headers did not say which is the first of a message.
    pub per_packet: bool,
    /// Seed of the table of streams: one that strangers do not know.
    pub seed: Seed,
}

impl Default for Options {
    /// As in the paper, for 64 streams.
    fn default() -> Self {
        Self { streams: 64, slack: false, headless: false, per_packet: false, seed: Seed(0) }
    }
}

/// Decision whether a packet that is about to leave is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropDecision {
    /// It leaves.
    Pass,
    /// It is dropped.
    Drop(Reason),
}

/// State of a packet that a queue keeps beside it from [`Dropper::enqueue`] to
/// [`Dropper::dequeue`].
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    enqueued: Time,
    place: u32,
    message: u32,
    ip_bytes: u32,
    bitrate_kbps: u32,
    /// The dropper whose place it took, if it took one's.
    previous: u32,
    slack_ms: u16,
    priority: u8,
    /// [`FIRST`], [`TOOK`], and from [`THRESHOLD`] on the threshold of a dropper, 0 of no dropper.
    flags: u8,
}

const FIRST: u8 = 1;
const TOOK: u8 = 2;
const THRESHOLD: u32 = 2;

// One lies beside every packet.
const _: () = assert!(size_of::<Mark>() <= 32);

impl Mark {
    /// IP bytes of the packet.
    pub fn ip_bytes(&self) -> u32 {
        self.ip_bytes
    }

    /// Of a packet that nothing is known of.
    fn unmarked(enqueued: Time, ip_bytes: u32) -> Self {
        Self {
            enqueued,
            place: NONE,
            message: 0,
            ip_bytes,
            bitrate_kbps: 0,
            previous: 0,
            slack_ms: 0,
            priority: 0,
            flags: 0,
        }
    }

    #[inline]
    fn is_first(&self) -> bool {
        self.flags & FIRST != 0
    }

    /// The stream's place and the message, of a packet that has a header.
    pub(crate) fn message(&self) -> Option<(u32, u32)> {
        (self.place != NONE).then_some((self.place, self.message))
    }
}

/// Policy that decides which messages of a queue are dropped. The queue is first in, first out,
/// and tells of every packet that it takes ([`Self::enqueue`]) and lets go ([`Self::dequeue`],
/// or [`Self::remove`]).
#[derive(Clone, Debug)]
pub struct Dropper {
    options: Options,
    streams: Streams,
    waiting: u64,
    service: Service,
    shares: Shares,
    given: Option<Rate>,
    /// The newest dropper came after the last walk through the queue.
    has_news: bool,
}

impl Dropper {
    /// For an empty queue. Nothing is allocated after this.
    pub fn new(options: Options) -> Self {
        Self {
            options,
            streams: Streams::new(options.streams, options.seed),
            waiting: 0,
            service: Service::default(),
            shares: Shares::new(options.streams),
            given: None,
            has_news: false,
        }
    }

    /// Sets the rate at which the queue is served, IP bytes, where that is known better than from
    /// what leaves; `None` goes back to measuring (section 4.3).
    pub fn set_bandwidth(&mut self, rate: Option<Rate>) {
        self.given = rate;
    }

    /// The rate at which the queue is served; `None` while that is not known, which counts as enough
    /// for everything.
    pub fn bandwidth(&mut self, now: Time) -> Option<Rate> {
        self.given.or_else(|| self.service.bps(now).map(Rate::from_bps_f64))
    }

    /// A packet comes into the queue: of a flow, a number that tells connections apart, with its
    /// header if it has one.
    ///
    /// # Errors
    /// Why its message is lost already, if it is: the packet should not be taken then.
    #[inline]
    pub fn enqueue(
        &mut self,
        now: Time,
        flow: u64,
        header: Option<&Header>,
        ip_bytes: u32,
    ) -> Result<Mark, Reason> {
        let stream = header.and_then(|header| self.streams.of(now, flow, header.stream));
        let (Some(header), Some((place, stream))) = (header, stream) else {
            self.waiting += 1;
            return Ok(Mark::unmarked(now, ip_bytes));
        };
        stream.arrivals.arrives(now, ip_bytes);
        if let Some((message, reason)) = stream.lost
            && message == header.message
        {
            return Err(reason);
        }
        stream.queued += 1;
        self.waiting += 1;
        let mut flags = if header.first { FIRST } else { 0 };
        let mut previous = 0;
        if header.last {
            stream.whole = Some(header.message);
            if let Some(threshold) = header.marking.drops {
                let threshold = threshold.clamp(1, MAX_PRIORITY);
                // As in the paper the latest that came counts, not the highest number: a sender
                // that starts anew is not held up by what it numbered before.
                let before = &mut stream.droppers[usize::from(threshold)];
                previous = std::mem::replace(before, header.message);
                flags |= threshold << THRESHOLD;
                if stream.has & 1 << threshold != 0 {
                    flags |= TOOK;
                }
                stream.has |= 1 << threshold;
                self.has_news = true;
            }
        }
        Ok(Mark {
            enqueued: now,
            place,
            message: header.message,
            ip_bytes,
            bitrate_kbps: header.marking.bitrate_kbps,
            previous,
            slack_ms: header.marking.slack_ms,
            priority: header.marking.priority,
            flags,
        })
    }

    /// A packet is about to leave: the one that has waited for longest.
    #[inline]
    pub fn dequeue(&mut self, now: Time, mark: &Mark) -> DropDecision {
        if mark.place != NONE {
            let stream = self.streams.get(mark.place);
            if !self.options.per_packet && stream.lets_follow(mark) {
                stream.goes();
            } else if let drop @ DropDecision::Drop(_) = self.decide(now, *mark) {
                self.remove(mark);
                return drop;
            } else {
                self.streams.get(mark.place).goes();
            }
        }
        self.waiting -= 1;
        match self.waiting {
            0 => self.service.last_leaves(now, mark.ip_bytes),
            _ => self.service.leaves(now, mark.ip_bytes),
        }
        DropDecision::Pass
    }

    /// A packet has left the queue in another way.
    #[inline]
    pub fn remove(&mut self, mark: &Mark) {
        self.waiting -= 1;
        if self.waiting == 0 {
            self.service.idle();
        }
        if mark.place != NONE {
            self.streams.get(mark.place).goes();
        }
    }

    /// A packet finds no room, right after [`Self::enqueue`]: it has not to be removed. Its message can
    /// no longer be whole: what comes of it is refused from now on, and what waits of it should be
    /// taken out.
    pub fn refuse(&mut self, mark: &Mark) {
        if let Some((place, message)) = mark.message() {
            let stream = self.streams.get(place);
            stream.lost = Some((message, Reason::Overflow));
            // It drops nothing either.
            let threshold = mark.flags >> THRESHOLD;
            stream.droppers[usize::from(threshold)] = mark.previous;
            if threshold != 0 && mark.flags & TOOK == 0 {
                stream.has &= !(1 << threshold);
            }
        }
        self.remove(mark);
    }

    /// Messages that have begun to leave may be dropped after all where newer ones drop them, once: what
    /// is left of them has waited for so long that their first packets are of no use any more. For
    /// whoever sends; an element in the network does not know.
    pub fn reconsider(&mut self) {
        self.streams.for_each(|stream| stream.reconsider = true);
    }

    /// True if droppers have come since this was asked last: if not, a walk through the queue finds
    /// nothing new to drop.
    pub(crate) fn take_news(&mut self) -> bool {
        std::mem::take(&mut self.has_news)
    }

    /// True if a packet that waits belongs to a message that will be dropped for a newer one, in a
    /// walk through the queue from its beginning. Such a message is lost from then on: all of its
    /// packets have to be taken out.
    pub(crate) fn is_outdated(&mut self, now: Time, mark: &Mark) -> bool {
        let Options { slack, per_packet, .. } = self.options;
        let Some((place, message)) = mark.message() else { return false };
        let stream = self.streams.get(place);
        if stream.lost.is_some_and(|(lost, _)| lost == message) {
            return true;
        }
        let is_begun = stream.decided.is_some_and(|(decided, _)| decided == message);
        let is_outdated = (mark.is_first() && !is_begun || per_packet)
            && stream.is_outdated(mark)
            && (!slack || stream.may_drop(now, mark));
        if is_outdated {
            stream.lost = Some((message, Reason::Newer));
        }
        is_outdated
    }

    /// Decides whether a packet leaves, at the first packet of its message or where the earlier
    /// decision may have changed.
    // Inlined it would take registers from what every packet needs, and by reference its mark would
    // have to lie in memory for every packet.
    #[inline(never)]
    fn decide(&mut self, now: Time, mark: Mark) -> DropDecision {
        let (mark, per_packet) = (&mark, self.options.per_packet);
        let stream = self.streams.get(mark.place);
        let decided = stream.decided.filter(|(message, _)| *message == mark.message && !per_packet);
        let lost = stream.lost.filter(|(message, _)| *message == mark.message);
        let reason = if let Some((_, reason)) = lost {
            Some(reason)
        } else if let Some((message, reason)) = decided {
            if reason.is_some() || !std::mem::take(&mut stream.reconsider) {
                return reason.map_or(DropDecision::Pass, DropDecision::Drop);
            }
            let reason = stream.is_outdated(mark).then_some(Reason::Newer);
            stream.decided = Some((message, reason));
            return reason.map_or(DropDecision::Pass, DropDecision::Drop);
        } else if !mark.is_first() && !per_packet {
            return match self.options.headless {
                true => DropDecision::Drop(Reason::Headless),
                false => DropDecision::Pass,
            };
        } else if self.options.slack && !stream.may_drop(now, mark) {
            None
        } else if stream.is_outdated(mark) {
            Some(Reason::Newer)
        } else if mark.bitrate_kbps > 0 && self.is_too_slow(now, mark) {
            Some(Reason::Bitrate)
        } else {
            None
        };
        let stream = self.streams.get(mark.place);
        stream.decided = Some((mark.message, reason));
        stream.reconsider = false;
        reason.map_or(DropDecision::Pass, DropDecision::Drop)
    }

    /// True if the stream is served more slowly than the message asks for (section 4.3).
    fn is_too_slow(&mut self, now: Time, mark: &Mark) -> bool {
        let Some(rate) = self.given.map(Rate::as_f64).or_else(|| self.service.bps(now)) else {
            return false;
        };
        let asked = f64::from(mark.bitrate_kbps) * 1e3;
        if asked > rate {
            return true;
        }
        if self.shares.is_due(now) {
            let shares = &mut self.shares;
            shares.begin(now);
            self.streams.for_each_recent(now, |stream| {
                stream.demand = (shares.times(), shares.add(now, &mut stream.arrivals));
            });
            shares.done();
        }
        let (times, demand) = self.streams.get(mark.place).demand;
        let own = (times == self.shares.times()).then_some(demand);
        asked > self.shares.of(own, rate)
    }
}

impl Stream {
    /// A packet of it is no longer in the queue.
    #[inline]
    fn goes(&mut self) {
        self.queued -= 1;
        if self.queued == 0 {
            // Nothing of it waits that a dropper could concern.
            self.has = 0;
        }
    }

    /// True if a packet leaves as the first of its message did, of which nothing was lost since.
    #[inline]
    fn lets_follow(&self, mark: &Mark) -> bool {
        self.decided == Some((mark.message, None))
            && !self.reconsider
            && self.lost.is_none_or(|(lost, _)| lost != mark.message)
    }

    /// True if a newer message that is whole in the queue drops this one.
    #[inline]
    fn is_outdated(&self, mark: &Mark) -> bool {
        // Thresholds 1 up to its priority.
        let mut may = self.has & ((2_u16 << mark.priority) - 2) as u8;
        while may != 0 {
            let threshold = may.trailing_zeros() as usize;
            if is_older(mark.message, self.droppers[threshold]) {
                return true;
            }
            may &= may - 1;
        }
        false
    }

    /// The authors' condition: the message is whole in the queue, and has waited for its slack.
    fn may_drop(&self, now: Time, mark: &Mark) -> bool {
        let is_whole = self.whole.is_some_and(|whole| !is_older(whole, mark.message));
        is_whole && now.since(mark.enqueued) >= Duration::from_millis(mark.slack_ms.into())
    }
}
