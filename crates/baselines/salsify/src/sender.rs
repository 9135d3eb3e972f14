//! The sending end without I/O.

use std::collections::VecDeque;
use std::time::Duration;

use airlane_base::Time;
use bytes::Bytes;

use crate::config::{Config, Estimator, Mode};
use crate::references::References;
use crate::states::{TIME_BYTES, after, body};
use crate::wire::{Ack, MAX_FRAGMENTS, Message, Piece, SEEN_BITS, State, Timing};

/// Timeout after which what is in flight is given up, if nothing has come back (RFC 6298, section
/// 2.4).
const SILENCE: Duration = Duration::from_secs(1);
/// A packet is lost when so many later ones have come (RFC 9002, section 6.1.1).
const REORDERING: u32 = 3;
/// With nothing in flight so many packets may be sent, whatever is estimated: without two there is
/// no gap to learn from.
const MIN_PACKETS: f64 = 2.0;
/// If the source has nothing that small, so many packets of padding are sent instead,
const PADDING_PACKETS: usize = 5;
/// and not more often than this.
const PADDING_INTERVAL: Duration = Duration::from_millis(100);
/// Packets of a frame leave at this share of the estimated gap,
const PACE: f64 = 0.2;
/// within these bounds.
const PACE_LEAST: Duration = Duration::from_micros(500);
const PACE_MOST: Duration = Duration::from_millis(2);
/// Packets whose fate is not known, at most.
const MAX_FLIGHT: usize = 8_192;

/// Request for a frame from a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// Time at which the frame was captured.
    pub captured: Time,
    /// Its number: each that is asked for has one, whether it is sent or not.
    pub number: u32,
    /// The bytes that fit. A larger frame is not sent unless it is forced, nor an empty one.
    pub budget: usize,
    /// The frame that it is to build on, which the encoder keeps the state after; `None`: it has to
    /// stand alone. It is among the 64 frames sent last, or the newest that the receiver has.
    pub reference: Option<u32>,
}

/// A frame as an encoder gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Bytes that the receiver gets.
    pub data: Bytes,
    /// True if it is sent though it does not fit.
    pub forced: bool,
}

impl Frame {
    /// Frame that is sent if it fits.
    pub fn new(data: impl Into<Bytes>) -> Self {
        Self { data: data.into(), forced: false }
    }
}

/// Source of frames: a camera with its encoder, or what stands for them.
pub trait FrameSource: Send {
    /// Time at which the next frame is captured; `None` if there will be none. After a frame was
    /// asked for it is later than before.
    fn next_at(&self) -> Option<Time>;
    /// The best version that there is of the frame within the budget; `None` if none is so small.
    fn frame(&mut self, ask: &Ask) -> Option<Frame>;
}

/// Packet that waits to be sent.
#[derive(Debug)]
enum Waiting {
    Piece(Piece, Bytes),
    Padding,
    Heartbeat,
}

#[derive(Debug)]
struct Sent {
    packet: u32,
    at: Time,
    /// Of a full packet.
    part: f64,
    frame: Option<u32>,
    /// It is more than a heartbeat.
    heavy: bool,
}

#[derive(Debug)]
struct Forecast {
    tick: u32,
    since: Time,
    packets: Vec<u16>,
}

impl Forecast {
    /// Packets by so many ticks after it was made.
    fn by(&self, ticks: f64) -> f64 {
        let at = |n: usize| match n.checked_sub(1) {
            None => 0.0,
            Some(n) => self.packets.get(n).or(self.packets.last()).map_or(0.0, |p| f64::from(*p)),
        };
        let (whole, rest) = (ticks.floor(), ticks.fract());
        let whole = whole as usize;
        at(whole) + rest * (at(whole.saturating_add(1)) - at(whole))
    }
}

/// The sending end.
#[derive(Debug)]
pub(crate) struct Sender {
    config: Config,
    references: References,
    /// A frame that was asked for: what it builds on.
    source: State,
    number: u32,
    waiting: VecDeque<Waiting>,
    /// The packet that waits first comes after a pause.
    paused: bool,
    next_packet: u32,
    flight: VecDeque<Sent>,
    /// Packets from this one on are in flight.
    in_flight_from: u32,
    newest_acked: Option<u32>,
    /// Since when nothing has come back.
    since: Time,
    silent: bool,
    last_sent: Option<Time>,
    last_heavy: Option<Time>,
    gap: Option<Duration>,
    forecast: Option<Forecast>,
}

impl Sender {
    pub(crate) fn new(config: Config) -> Self {
        let references = References::new(config.cautious);
        Self {
            config,
            references,
            source: State::default(),
            number: 0,
            waiting: VecDeque::new(),
            paused: false,
            next_packet: 0,
            flight: VecDeque::new(),
            in_flight_from: 0,
            newest_acked: None,
            since: Time::ZERO,
            silent: false,
            last_sent: None,
            last_heavy: None,
            gap: None,
            forecast: None,
        }
    }

    fn in_flight(&self) -> impl Iterator<Item = &Sent> {
        let from = self.in_flight_from;
        self.flight.iter().rev().take_while(move |sent| sent.packet >= from)
    }

    /// Nothing is on its way that would tell how the path is.
    fn is_idle(&self) -> bool {
        self.waiting.is_empty() && !self.in_flight().any(|sent| sent.heavy)
    }

    /// Nothing is left to do.
    pub(crate) fn is_done(&self) -> bool {
        self.waiting.is_empty() && self.in_flight().next().is_none()
    }

    fn tick(&self) -> Duration {
        match &self.config.estimator {
            Estimator::Own => Duration::from_millis(20),
            Estimator::Sprout(config) => config.tick.max(Duration::from_millis(1)),
        }
    }

    /// Packets that may be sent now.
    fn allowed(&self, now: Time) -> f64 {
        let waiting = self.waiting.len() as f64;
        let (carried, time, in_flight) = match (&self.config.estimator, &self.forecast) {
            (Estimator::Sprout(config), Some(forecast)) => {
                let age = now.since(forecast.since).as_secs_f64() / self.tick().as_secs_f64();
                let ahead = config.ahead as f64;
                let carried = forecast.by(age + ahead) - forecast.by(age);
                let in_flight = self.in_flight().map(|sent| sent.part).sum();
                (carried, self.tick().mul_f64(ahead), in_flight)
            }
            _ => {
                let gap = self.gap.unwrap_or(self.config.start_gap).max(Duration::from_micros(1));
                let carried = self.config.delay.as_secs_f64() / gap.as_secs_f64();
                (carried, self.config.delay, self.in_flight().count() as f64)
            }
        };
        // The pace lets no more leave in that time.
        let carried = carried.min(time.as_secs_f64() / PACE_LEAST.as_secs_f64());
        let allowed = if self.silent { 0.0 } else { carried - in_flight - waiting };
        allowed.max(if self.is_idle() { MIN_PACKETS } else { 0.0 })
    }

    /// Request for the source.
    pub(crate) fn ask(&mut self, now: Time, captured: Time) -> Ask {
        let most = MAX_FRAGMENTS as f64;
        let packets = match self.config.mode {
            Mode::FrameRate if self.is_idle() => most,
            _ => self.allowed(now).min(most),
        };
        let bytes = packets * self.config.fragment_bytes() as f64;
        let budget = (bytes as usize).saturating_sub(TIME_BYTES);
        let reference = self.references.choose(now);
        self.source = reference.map_or_else(State::default, |(_, state)| state);
        let number = self.number;
        self.number = self.number.wrapping_add(1);
        self.config.stats.change(|s| s.budgets.push((now, budget)));
        Ask { captured, number, budget, reference: reference.map(|(number, _)| number) }
    }

    /// Takes what the source gave.
    pub(crate) fn answer(&mut self, now: Time, ask: &Ask, frame: Option<Frame>) {
        let room = MAX_FRAGMENTS.saturating_sub(self.waiting.len()) * self.config.fragment_bytes();
        // Where nothing fits, not even an empty frame does.
        let fits = |frame: &Frame| {
            let max = if frame.forced { room.saturating_sub(TIME_BYTES) } else { ask.budget };
            (1..=max).contains(&frame.data.len())
        };
        let Some(frame) = frame.filter(fits) else {
            self.config.stats.change(|s| s.skipped += 1);
            return self.fill(now);
        };
        let cautious = self.references.is_cautious(now);
        self.config.stats.change(|s| {
            s.frames += 1;
            s.key_frames += u64::from(ask.reference.is_none());
            s.cautious_frames += u64::from(cautious);
        });
        let mut body = body(ask.captured, &frame.data);
        let (source, target) = (self.source, after(self.source, &body));
        self.references.sent(ask.number, source, target);
        self.paused |= self.waiting.is_empty();
        let size = self.config.fragment_bytes();
        let fragments = body.len().div_ceil(size) as u16;
        for fragment in 0..fragments {
            let data = body.split_to(size.min(body.len()));
            let frame = ask.number;
            let piece = Piece { frame, source, target, fragment, fragments };
            self.waiting.push_back(Waiting::Piece(piece, data));
        }
    }

    /// Queues packets that are sent in place of a frame.
    fn fill(&mut self, now: Time) {
        if !self.waiting.is_empty() {
            return;
        }
        let rested = self.last_heavy.is_none_or(|last| now.since(last) >= PADDING_INTERVAL);
        if self.config.padding && self.is_idle() && rested {
            self.waiting.extend((0..PADDING_PACKETS).map(|_| Waiting::Padding));
        } else if matches!(self.config.estimator, Estimator::Sprout(_)) {
            self.waiting.push_back(Waiting::Heartbeat);
        }
        self.paused = true;
    }

    /// The time between two packets of a frame.
    fn pace(&self) -> Duration {
        let gap = match (&self.config.estimator, &self.forecast) {
            (Estimator::Sprout(config), Some(forecast)) => {
                let ahead = config.ahead.max(1) as f64;
                let packets = forecast.by(ahead).max(1.0);
                self.tick().mul_f64(ahead / packets)
            }
            _ => self.gap.unwrap_or(self.config.start_gap),
        };
        gap.mul_f64(PACE).clamp(PACE_LEAST, PACE_MOST)
    }

    fn next_send(&self) -> Option<Time> {
        let last = self.last_sent.map(|last| last + self.pace());
        (!self.waiting.is_empty()).then_some(last.unwrap_or(Time::ZERO))
    }

    /// The packet that leaves now, if one does. The next frame is captured at `next`.
    pub(crate) fn poll(&mut self, now: Time, next: Option<Time>) -> Option<Vec<u8>> {
        if self.next_send()? > now {
            return None;
        }
        let waiting = self.waiting.pop_front()?;
        let pace = self.pace();
        let paused = std::mem::take(&mut self.paused);
        let pause = self.last_sent.filter(|_| paused).map_or(Duration::ZERO, |at| now.since(at));
        let next = next.filter(|_| self.waiting.is_empty()).map_or(Duration::ZERO, |at| at - now);
        // What pacing makes is no pause.
        let pauses = |time: Duration| if time > pace { time } else { Duration::ZERO };
        let packet = self.next_packet;
        self.next_packet = self.next_packet.wrapping_add(1);
        let timing = Timing { packet, pause: pauses(pause), next: pauses(next) };
        let full = self.config.payload_bytes();
        let (bytes, frame, heavy) = match &waiting {
            Waiting::Piece(piece, data) => {
                (Message::Data(timing, *piece, data).encode(0), Some(piece.frame), true)
            }
            Waiting::Padding => (Message::Filler(timing).encode(full), None, true),
            Waiting::Heartbeat => (Message::Filler(timing).encode(0), None, false),
        };
        if self.in_flight().next().is_none() {
            self.since = now;
        }
        let part = bytes.len() as f64 / full as f64;
        self.flight.push_back(Sent { packet, at: now, part, frame, heavy });
        if self.flight.len() > MAX_FLIGHT {
            self.flight.pop_front();
        }
        self.last_sent = Some(now);
        if heavy {
            self.last_heavy = Some(now);
        }
        self.config.stats.change(|s| {
            let count = if frame.is_some() { &mut s.media } else { &mut s.other };
            count.packets += 1;
            count.bytes += bytes.len() as u64;
        });
        Some(bytes)
    }

    /// Time at which something is to be done next.
    pub(crate) fn due(&self) -> Time {
        let silence = self.in_flight().next().map(|_| self.since + SILENCE);
        [self.next_send(), silence].into_iter().flatten().min().unwrap_or(Time::FAR_FUTURE)
    }

    /// Gives up what is in flight if nothing has come back for long.
    pub(crate) fn check(&mut self, now: Time) {
        if self.in_flight().next().is_some() && now >= self.since + SILENCE {
            self.in_flight_from = self.next_packet;
            self.silent = true;
            self.references.doubt(now);
            self.config.stats.change(|s| s.silences += 1);
        }
    }

    /// A datagram came.
    pub(crate) fn receive(&mut self, now: Time, datagram: &[u8]) {
        let Some(Message::Ack(ack)) = Message::decode(datagram) else { return };
        // One of packets that were never sent, or one that was overtaken.
        if ack.newest >= self.next_packet || self.newest_acked.is_some_and(|n| ack.newest < n) {
            return;
        }
        if self.newest_acked != Some(ack.newest) {
            self.newest_acked = Some(ack.newest);
            self.since = now;
            self.silent = false;
        }
        self.in_flight_from = self.in_flight_from.max(ack.newest + 1);
        self.gap = ack.gap.or(self.gap);
        self.references.acked(ack.frame, ack.state);
        self.account(now, &ack);
        let newer = self.forecast.as_ref().is_none_or(|known| known.tick != ack.tick);
        if newer && !ack.forecast.is_empty() {
            self.forecast = Some(Forecast { tick: ack.tick, since: now, packets: ack.forecast });
        }
    }

    /// Finds out what became of packets.
    fn account(&mut self, now: Time, ack: &Ack) {
        let (mut rtt, mut lost) = (None, 0);
        let references = &mut self.references;
        let known = self.flight.partition_point(|sent| sent.packet <= ack.newest);
        let mut open = Vec::new();
        for sent in self.flight.drain(..known) {
            let behind = ack.newest - sent.packet;
            if behind == 0 {
                rtt = Some(now.since(sent.at));
            } else if behind > SEEN_BITS || ack.seen >> (behind - 1) & 1 == 0 {
                if behind < REORDERING {
                    open.push(sent);
                    continue;
                }
                lost += 1;
                if let Some(frame) = sent.frame {
                    references.lost(now, frame);
                }
            }
        }
        open.into_iter().rev().for_each(|sent| self.flight.push_front(sent));
        self.config.stats.change(|s| {
            s.rtt = rtt.or(s.rtt);
            s.lost_packets += lost;
        });
    }
}

#[cfg(test)]
mod tests;
