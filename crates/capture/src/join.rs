//! Joins the frames of a PPDU, and sorts PPDUs by their ends.

use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;

use airlane_base::Time;
use airlane_wifi::{Frame, FrameKind, Heard, MAX_PPDU_DURATION, Precision, Vector, What, mac};

use crate::clock::{Clock, DISORDER, Reading, point};
use crate::own::{Level, Own};
use crate::packet::Packet;
use crate::radiotap::{Position, Radiotap};
use crate::transmission::Transmission;

/// An aggregate has at most so many frames (1024 in 802.11be).
const MAX_FRAMES: usize = 1_024;
/// Transmissions wait for their order up to this number.
const MAX_WAITING: usize = 8_192;
/// Distance of the machine's times of frames of one PPDU.
const MAX_SPREAD: Duration = Duration::from_millis(2);
/// An aggregate spans at most so many sequence numbers: the largest window of a block acknowledgement.
const MAX_WINDOW: u16 = 1_024;
/// Vector of frames that do not tell theirs: the lowest rate of OFDM.
const ASSUMED: Vector = Vector::ofdm(0);

/// Puts frames together that were sent in one PPDU.
#[derive(Debug, Default)]
pub(crate) struct Joiner {
    open: Option<Open>,
}

/// A PPDU of which more frames may follow.
#[derive(Debug)]
struct Open {
    key: Key,
    interface: u32,
    /// Of the first frame.
    tap: Radiotap,
    /// The last frame.
    last: Last,
    frames: Vec<Frame>,
    /// Bytes of the PSDU, as far as it was captured.
    bytes: u32,
    damaged: u16,
    /// Frames, damaged ones included.
    count: usize,
    is_aggregate: bool,
}

/// The frame that came last of a PPDU, and when the first came.
#[derive(Clone, Copy, Debug)]
struct Last {
    /// The machine's clock at the first frame and at this one.
    first_nanos: Option<u64>,
    nanos: Option<u64>,
    /// The receiver's clock at this one.
    stamp: Option<i128>,
    /// Time that it would have been in the air alone; `None` if it is no undamaged frame.
    alone: Option<Duration>,
}

/// The property that frames of one PPDU have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    /// Airlane wrote it: when it began and ended.
    Own(u64, u64),
    /// The reference of an aggregate, and the interface.
    Reference(u32, u32),
    /// The vector, of a format with aggregates, and the interface: whether they are of one
    /// PPDU, times and numbers tell ([`Open::goes_on`]).
    Format(Vector, u32),
    /// Nothing: it is alone.
    Alone,
}

impl Key {
    fn of(packet: &Packet) -> Self {
        let tap = &packet.tap;
        if let Some(own) = &tap.own {
            return Self::Own(own.begin, own.duration);
        }
        if let Some(ampdu) = &tap.ampdu {
            return Self::Reference(ampdu.reference, packet.interface);
        }
        match tap.vector {
            Some(vector) if vector.format.has_aggregates() && !tap.is_zero_length => {
                Self::Format(vector, packet.interface)
            }
            _ => Self::Alone,
        }
    }
}

/// The receiver's clock at a packet, nanoseconds. A driver that fills the newer of radiotap's two clocks
/// with zero has the other.
fn stamp(tap: &Radiotap) -> Option<(i128, Position)> {
    match (tap.timestamp, tap.tsft_us) {
        (Some((0, _)), Some(us)) | (None, Some(us)) => {
            Some((i128::from(us) * 1_000, Position::Mpdu))
        }
        (Some((stamp, position)), _) => Some((i128::from(stamp), position)),
        (None, None) => None,
    }
}

/// Time that an undamaged frame would be in the air alone.
fn alone(packet: &Packet) -> Option<Duration> {
    let header = packet.header.filter(|_| !packet.tap.is_damaged)?;
    let vector = packet.tap.vector?;
    Some(vector.duration(header.frame.bytes.min(vector.format.max_bytes())))
}

impl Joiner {
    /// Takes a packet; gives what it completes.
    pub(crate) fn push(
        &mut self,
        packet: &Packet,
        clock: &mut Clock,
        mut give: impl FnMut(Transmission),
    ) {
        let key = Key::of(packet);
        let goes_on = self
            .open
            .as_ref()
            .is_some_and(|open| open.key == key && open.count < MAX_FRAMES && open.goes_on(packet));
        if !goes_on {
            self.flush(clock, &mut give);
        }
        let open = self.open.get_or_insert_with(|| Open::new(key, packet));
        open.add(packet);
        let is_complete = match (&packet.tap.own, packet.tap.ampdu) {
            (Some(own), _) => u32::from(own.index) + 1 >= u32::from(own.count),
            (None, Some(ampdu)) => ampdu.is_last,
            (None, None) => key == Key::Alone,
        };
        if is_complete {
            self.flush(clock, give);
        }
    }

    /// Gives what is open.
    pub(crate) fn flush(&mut self, clock: &mut Clock, mut give: impl FnMut(Transmission)) {
        if let Some(open) = self.open.take() {
            give(open.close(clock));
        }
    }
}

impl Open {
    fn new(key: Key, packet: &Packet) -> Self {
        Self {
            key,
            interface: packet.interface,
            tap: packet.tap,
            last: Last { first_nanos: packet.nanos, nanos: None, stamp: None, alone: None },
            frames: Vec::with_capacity(1),
            bytes: 0,
            damaged: 0,
            count: 0,
            is_aggregate: packet.tap.ampdu.is_some(),
        }
    }

    /// True if a packet with the same key is of the same PPDU.
    fn goes_on(&self, packet: &Packet) -> bool {
        let nanos = |from: Option<u64>| {
            let passed = packet.nanos?.checked_sub(from?)?;
            Some(Duration::from_nanos(passed))
        };
        let (at, last) = (stamp(&packet.tap).map(|(stamp, _)| stamp), self.last.stamp);
        let stamps = at.zip(last);
        let passed = stamps.map(|(at, last)| at - last);
        let is_apart = nanos(self.last.nanos).is_some_and(|passed| passed > MAX_SPREAD);
        match self.key {
            // Frames of an aggregate that Airlane wrote are numbered: two may look alike otherwise.
            Key::Own(..) => packet.tap.own.is_none_or(|own| usize::from(own.index) >= self.count),
            // A driver may give all aggregates the same reference.
            Key::Reference(..) => match at.zip(stamp(&self.tap)) {
                Some((at, (first, _))) => {
                    (at - first).unsigned_abs() <= MAX_PPDU_DURATION.as_nanos()
                }
                None => {
                    nanos(self.last.first_nanos).is_none_or(|p| p <= MAX_PPDU_DURATION + MAX_SPREAD)
                }
            },
            Key::Format(..) if passed == Some(0) => !is_apart,
            Key::Format(vector, _) => {
                self.follows(packet, vector).is_some_and(|alone| match passed {
                    // As a PPDU of its own it would have begun behind the one before.
                    Some(passed) => (0..alone.as_nanos() as i128).contains(&passed),
                    None => nanos(self.last.nanos).is_some_and(|passed| passed < alone),
                })
            }
            Key::Alone => false,
        }
    }

    /// Time that the frame before this one would have been in the air alone, if this one may be the next of
    /// an aggregate, by addresses and numbers; `None` if it may not be.
    fn follows(&self, packet: &Packet, vector: Vector) -> Option<Duration> {
        let (before, now) = (self.frames.last()?, packet.header?.frame);
        let is_same = before.kind == FrameKind::QosData
            && now.kind == FrameKind::QosData
            && (before.transmitter, before.receiver) == (now.transmitter, now.receiver)
            && before.tid == now.tid
            && !now.receiver.is_group();
        let ahead = now.sequence.wrapping_sub(before.sequence) & 0x0fff;
        let bytes = self.bytes.saturating_add(mac::in_aggregate(now.bytes));
        let fits =
            bytes <= vector.format.max_bytes() && vector.duration(bytes) <= MAX_PPDU_DURATION;
        let is_next = !packet.tap.is_damaged && is_same && (1..MAX_WINDOW).contains(&ahead) && fits;
        self.last.alone.filter(|_| is_next)
    }

    fn add(&mut self, packet: &Packet) {
        self.last.nanos = packet.nanos.or(self.last.nanos);
        self.last.stamp = stamp(&packet.tap).map(|(stamp, _)| stamp);
        self.last.alone = alone(packet);
        self.count += 1;
        self.bytes = self.bytes.saturating_add(mac::in_aggregate(packet.mpdu.min(1 << 20)));
        match &packet.header {
            Some(_) if packet.tap.is_damaged => self.damaged = self.damaged.saturating_add(1),
            Some(header) => {
                let mut frame = header.frame;
                if let Some(own) = &packet.tap.own {
                    frame.is_down = own.is_down;
                    frame.remaining = Duration::from_nanos(own.remaining);
                }
                self.frames.push(frame);
            }
            None => self.damaged = self.damaged.saturating_add(u16::from(packet.tap.is_damaged)),
        }
    }

    fn close(self, clock: &mut Clock) -> Transmission {
        if let Some(own) = self.tap.own {
            return self.close_own(&own);
        }
        // Two frames at one time were in one PPDU, whether or not its reference is told.
        let is_aggregate = self.is_aggregate || self.count > 1;
        let psdu = match (is_aggregate, self.frames.first()) {
            (false, Some(frame)) => frame.bytes,
            // The delimiter is not there, and the padding was not known.
            (false, None) => self.bytes.saturating_sub(mac::DELIMITER),
            (true, _) => self.bytes,
        };
        let vector = self.tap.vector.unwrap_or(ASSUMED);
        let duration = match self.tap.legacy_us {
            Some(us) => Duration::from_micros(u64::from(us)),
            None if self.tap.is_zero_length => vector.preamble(),
            None => vector.duration(psdu.min(vector.format.max_bytes())),
        };
        let (begin, timing) = self.begin(clock, vector, duration);
        let what = match (self.frames.is_empty(), self.tap.vector) {
            (true, None) => What::Energy,
            (true, Some(vector)) => What::Header(vector),
            (false, _) => What::Frames { vector, is_aggregate, frames: self.frames },
        };
        Transmission {
            heard: Heard { at: point(begin), duration, what },
            timing,
            interface: self.interface,
            is_rate_assumed: self.tap.vector.is_none(),
            damaged: self.damaged,
            signal_dbm: self.tap.signal_dbm,
        }
    }

    /// Time at which it began, by the best clock that there is.
    fn begin(&self, clock: &mut Clock, vector: Vector, duration: Duration) -> (i128, Precision) {
        let device = stamp(&self.tap).map(|(stamp, position)| {
            let elapsed = match position {
                Position::Mpdu => vector.preamble(),
                Position::Preamble => Duration::ZERO,
                Position::End => duration,
            };
            (stamp, elapsed)
        });
        let (interface, machine) = (self.interface, self.last.nanos);
        clock.time(&Reading { interface, device, machine, duration })
    }

    fn close_own(self, own: &Own) -> Transmission {
        let what = match (own.level, self.tap.vector) {
            (Level::Frames, Some(vector)) if !self.frames.is_empty() => {
                What::Frames { vector, is_aggregate: own.is_aggregate, frames: self.frames }
            }
            (Level::Frames | Level::Header, Some(vector)) => What::Header(vector),
            _ => What::Energy,
        };
        Transmission {
            heard: Heard {
                at: Time::from_nanos(own.begin),
                duration: Duration::from_nanos(own.duration),
                what,
            },
            timing: Precision::Exact,
            interface: self.interface,
            is_rate_assumed: false,
            damaged: self.damaged,
            signal_dbm: self.tap.signal_dbm,
        }
    }
}

/// Sorts transmissions by their ends: those of which a later one may still end earlier wait. What
/// Airlane wrote is in order.
#[derive(Debug, Default)]
pub(crate) struct Sorter {
    waiting: BinaryHeap<Waiting>,
    ready: VecDeque<Transmission>,
    newest: Time,
    pushed: u64,
}

#[derive(Debug)]
struct Waiting {
    /// Reversed, so that the earliest is the greatest.
    order: std::cmp::Reverse<(Time, u64)>,
    transmission: Transmission,
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        self.order == other.order
    }
}

impl Eq for Waiting {}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.order.cmp(&other.order)
    }
}

impl Sorter {
    pub(crate) fn push(&mut self, transmission: Transmission) {
        if transmission.timing == Precision::Exact {
            self.finish();
            self.ready.push_back(transmission);
            return;
        }
        let end = transmission.end();
        self.newest = self.newest.max(end);
        let order = std::cmp::Reverse((end, self.pushed));
        self.pushed += 1;
        self.waiting.push(Waiting { order, transmission });
        while let Some(first) = self.waiting.peek() {
            let age = self.newest.since(first.transmission.end());
            if age.as_nanos() < DISORDER as u128 && self.waiting.len() <= MAX_WAITING {
                break;
            }
            self.ready.extend(self.waiting.pop().map(|w| w.transmission));
        }
    }

    /// Nothing earlier follows.
    pub(crate) fn finish(&mut self) {
        while let Some(first) = self.waiting.pop() {
            self.ready.push_back(first.transmission);
        }
    }

    pub(crate) fn pop(&mut self) -> Option<Transmission> {
        self.ready.pop_front()
    }
}
