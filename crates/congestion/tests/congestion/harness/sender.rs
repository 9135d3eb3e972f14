//! A window sender with QUIC's loss detection (RFC 9002, section 6), a pacer and a receiver's
//! acknowledgement policy.

use std::collections::VecDeque;
use std::time::Duration;

use airlane_base::{Rate, Time};
use airlane_congestion::{
    Ack, Controller, Limit, Loss, LossCause, Marked, Pacer, RateSampler, Rtt, Sent,
};

/// UDP payload of every packet.
pub const PACKET_BYTES: u64 = 1350;
/// Longest time a receiver sits on an acknowledgement (RFC 9000, section 18.2).
const MAX_ACK_DELAY: Duration = Duration::from_millis(25);

/// When the receiver acknowledges.
#[derive(Clone, Copy, Debug)]
pub struct AckPolicy {
    /// After so many packets, at once after a gap, and
    pub every: u32,
    /// after this time at the latest.
    pub delay: Duration,
}

impl AckPolicy {
    /// Every packet, at once.
    pub const EACH: Self = Self { every: 1, delay: MAX_ACK_DELAY };
    /// RFC 9000, section 13.2.2.
    pub const EVERY_SECOND: Self = Self { every: 2, delay: MAX_ACK_DELAY };
    /// Like Chromium's decimation: every tenth packet or after a quarter of the round trip.
    pub fn decimated(rtt: Duration) -> Self {
        Self { every: 10, delay: (rtt / 4).min(MAX_ACK_DELAY) }
    }
}

/// A packet in flight.
#[derive(Clone, Copy, Debug)]
pub struct InFlight {
    pub sent_at: Time,
    /// When the receiver got it; never, if it was dropped.
    pub received_at: Option<Time>,
    /// It met congestion.
    pub marked: bool,
    open: bool,
}

/// Time with data, then time without, in turns.
#[derive(Clone, Copy, Debug)]
pub struct OnOff {
    /// Time with data to send.
    pub on: Duration,
    /// Time without.
    pub off: Duration,
    /// Where in the cycle the flow starts.
    pub phase: Duration,
}

impl OnOff {
    /// Whether there are data at `now`, and when that changes.
    pub fn at(&self, now: Time) -> (bool, Time) {
        let cycle = (self.on + self.off).as_nanos() as u64;
        let t = now.as_nanos() + self.phase.as_nanos() as u64;
        let (start, within) = (t - t % cycle, t % cycle);
        let on = self.on.as_nanos() as u64;
        let phase = self.phase.as_nanos() as u64;
        if within < on {
            (true, Time::from_nanos(start + on - phase))
        } else {
            (false, Time::from_nanos(start + cycle - phase))
        }
    }
}

/// A medium of one frame per interval, at the rate of media that the controller gives.
pub struct Media {
    interval: Duration,
    next_frame: Time,
    /// Bytes of frames that wait.
    waiting: f64,
}

/// Rate of a medium until the controller gives one.
const INITIAL_MEDIA_RATE: Rate = Rate::from_bps(100_000);

impl Media {
    pub fn new(interval: Duration, start: Time) -> Self {
        Self { interval, next_frame: start, waiting: 0.0 }
    }

    fn update(&mut self, now: Time, rate: Option<Rate>) {
        let rate = rate.unwrap_or(INITIAL_MEDIA_RATE);
        while self.next_frame <= now {
            self.waiting += rate.as_f64() / 8.0 * self.interval.as_secs_f64();
            self.next_frame += self.interval;
        }
    }

    fn has_packet(&self) -> bool {
        self.waiting >= PACKET_BYTES as f64
    }
}

/// What the sender wants after it was driven.
pub struct Drive {
    /// Packets to put on the wire.
    pub send: Vec<u64>,
    /// When to drive it again.
    pub wake: Time,
}

/// One connection.
pub struct Sender {
    pub controller: Box<dyn Controller>,
    pub sampler: RateSampler,
    pub on_off: Option<OnOff>,
    pub media: Option<Media>,
    packets: VecDeque<InFlight>,
    base: u64,
    next_pn: u64,
    in_flight: u64,
    largest_acked: Option<u64>,
    loss_time: Option<Time>,
    last_sent: Time,
    pto_count: u32,
    rtt: Option<Rtt>,
    variance: Duration,
    pacer: Pacer,
    app_limited: bool,
    /// Packets declared lost.
    pub lost: u64,
    /// Time integral of the window in bytes since `reset`, and when it was last added to.
    pub window_area: f64,
    pub window_looked: Time,
}

impl Sender {
    pub fn new(
        controller: Box<dyn Controller>,
        on_off: Option<OnOff>,
        burst: f64,
        start: Time,
    ) -> Self {
        Self {
            controller,
            pacer: Pacer::new(PACKET_BYTES).with_burst(burst),
            sampler: RateSampler::new(),
            on_off,
            media: None,
            packets: VecDeque::new(),
            base: 0,
            next_pn: 0,
            in_flight: 0,
            largest_acked: None,
            loss_time: None,
            last_sent: start,
            pto_count: 0,
            rtt: None,
            variance: Duration::ZERO,
            app_limited: false,
            lost: 0,
            window_area: 0.0,
            window_looked: start,
        }
    }

    pub fn look(&mut self, now: Time) {
        let span = (now - self.window_looked).as_secs_f64();
        self.window_area += span * self.controller.window() as f64;
        self.window_looked = now;
    }

    pub fn packet(&mut self, pn: u64) -> Option<&mut InFlight> {
        self.packets.get_mut(usize::try_from(pn.checked_sub(self.base)?).ok()?)
    }

    /// An acknowledgement of `first..=largest`, as far as they arrived, sent at `acked_at`.
    pub fn on_ack(&mut self, now: Time, first: u64, largest: u64, acked_at: Time) {
        self.look(now);
        self.measure_rtt(now, largest, acked_at);
        let Some(rtt) = self.rtt else { return };
        let mut marks = 0;
        let mut newest = now;
        for pn in first..=largest {
            let Some(packet) = self.packet(pn) else { continue };
            if !packet.open || packet.received_at.is_none() {
                continue;
            }
            packet.open = false;
            let sent_at = packet.sent_at;
            marks += u64::from(packet.marked);
            newest = sent_at;
            self.in_flight -= PACKET_BYTES;
            let sample = self.sampler.on_ack(now, pn, PACKET_BYTES, rtt.min);
            self.controller.on_ack(&Ack {
                now,
                pn,
                bytes: PACKET_BYTES,
                sent_at,
                in_flight: self.in_flight,
                limit: if self.app_limited { Limit::Application } else { Limit::Window },
                rtt: Rtt { latest: now - sent_at, ..rtt },
                sample,
            });
        }
        self.controller.on_ack_end(now, self.in_flight);
        self.largest_acked = self.largest_acked.max(Some(largest));
        self.pto_count = 0;
        self.detect_losses(now);
        if marks > 0 {
            let (pn, sent_at, in_flight, packets) = (largest, newest, self.in_flight, marks);
            self.controller.on_marked(&Marked { now, pn, sent_at, in_flight, packets });
        }
    }

    fn measure_rtt(&mut self, now: Time, largest: u64, acked_at: Time) {
        let Some(packet) = self.packet(largest).filter(|p| p.open) else { return };
        let latest = now - packet.sent_at;
        let delay = packet.received_at.map_or(Duration::ZERO, |at| acked_at - at);
        let Some(old) = self.rtt else {
            self.rtt = Some(Rtt { latest, smoothed: latest, min: latest });
            self.variance = latest / 2;
            return;
        };
        let min = old.min.min(latest);
        let adjusted = if latest >= min + delay { latest - delay } else { latest };
        self.variance = (3 * self.variance + old.smoothed.abs_diff(adjusted)) / 4;
        self.rtt = Some(Rtt { latest, smoothed: (7 * old.smoothed + adjusted) / 8, min });
    }

    fn detect_losses(&mut self, now: Time) {
        self.loss_time = None;
        let (Some(largest), Some(rtt)) = (self.largest_acked, self.rtt) else { return };
        let delay = rtt.smoothed.max(rtt.latest) * 9 / 8;
        for pn in self.base..=largest {
            let Some(packet) = self.packet(pn) else { break };
            if !packet.open {
                continue;
            }
            let sent_at = packet.sent_at;
            if pn + 3 > largest && sent_at + delay > now {
                self.loss_time.get_or_insert(sent_at + delay);
                continue;
            }
            packet.open = false;
            self.in_flight -= PACKET_BYTES;
            self.sampler.on_loss(pn);
            self.lost += 1;
            let late = pn + 3 > largest;
            let cause = if late { LossCause::Late } else { LossCause::Reordering };
            let in_flight = self.in_flight;
            let loss = Loss { now, pn, bytes: PACKET_BYTES, sent_at, in_flight, cause };
            self.controller.on_loss(&loss);
        }
        while self.packets.front().is_some_and(|p| !p.open) {
            self.packets.pop_front();
            self.base += 1;
        }
    }

    fn pto(&self) -> Time {
        let period = self.rtt.map_or(Duration::from_secs(1), |r| {
            r.smoothed + (4 * self.variance).max(Duration::from_millis(1)) + MAX_ACK_DELAY
        });
        self.last_sent + period * 2u32.pow(self.pto_count.min(6))
    }

    /// Sends what window, pacer and data allow.
    pub fn drive(&mut self, now: Time) -> Drive {
        self.look(now);
        let mut send = Vec::new();
        if self.loss_time.is_some_and(|t| t <= now) {
            self.detect_losses(now);
        }
        if self.in_flight > 0 && self.loss_time.is_none() && self.pto() <= now {
            self.pto_count += 1;
            send.push(self.emit(now));
        }
        let (active, change) = self.on_off.map_or((true, Time::FAR_FUTURE), |o| o.at(now));
        let mut wake = change;
        if let Some(media) = &mut self.media {
            media.update(now, self.controller.bandwidth());
            wake = wake.min(media.next_frame);
        }
        self.pacer.begin();
        while active
            && self.has_media()
            && self.in_flight + PACKET_BYTES <= self.controller.window()
        {
            self.pacer.set_rate(now, self.controller.pacing_rate());
            if self.pacer.release() > now {
                self.pacer.hold();
                wake = wake.min(self.pacer.release());
                break;
            }
            send.push(self.emit(now));
            if let Some(media) = &mut self.media {
                media.waiting -= PACKET_BYTES as f64;
            }
        }
        self.app_limited = !active || !self.has_media();
        if self.app_limited {
            self.sampler.on_app_limited(self.in_flight);
        }
        if let Some(t) = self.loss_time {
            wake = wake.min(t);
        } else if self.in_flight > 0 {
            wake = wake.min(self.pto());
        }
        self.look(now);
        Drive { send, wake }
    }

    /// True if the medium has a packet to send; always, of a flow without one.
    fn has_media(&self) -> bool {
        self.media.as_ref().is_none_or(Media::has_packet)
    }

    fn emit(&mut self, now: Time) -> u64 {
        let pn = self.next_pn;
        self.next_pn += 1;
        self.in_flight += PACKET_BYTES;
        self.pacer.on_sent(now, PACKET_BYTES);
        self.last_sent = now;
        if self.packets.is_empty() {
            self.base = pn;
        }
        self.packets.push_back(InFlight {
            sent_at: now,
            received_at: None,
            marked: false,
            open: true,
        });
        self.sampler.on_sent(now, pn, PACKET_BYTES, self.in_flight);
        self.controller.on_sent(&Sent { now, pn, bytes: PACKET_BYTES, in_flight: self.in_flight });
        pn
    }
}
