//! SCReAM version 2 (draft-ietf-ccwg-rfc8298bis-screamv2, text of 7 October 2026): congestion control
//! for live media, with and without L4S.
//!
//! A reference window W says how much may be in flight, but not strictly: up to three times as much
//! may, so that a large frame does not wait. W falls with the smoothed share of marked packets,
//! alpha, at most once per 25 ms; where nothing marks, a queue delay above half of its target stands
//! for marks. The encoder is asked for
//!
//! ```text
//! W / (1.2 RTT)
//! ```
//!
//! and packets are paced at 1.5 times that. Equations, and what is left out:
//! `docs/design/controllers.md`.
//!
//! The draft's delays are one way, from receive times. Acknowledgements here have none, so that the
//! queue delay is the round trip above the least of the last ten minutes: a queue in the way of the
//! acknowledgements and an acknowledgement that is held back count too. A round trip is of one clock
//! and does not drift. The draft's remedy for drift is here all the same, as the base of a path that
//! has become longer (a handover) is as wrong as one that drifts.

mod delay_target;
mod losses;
mod marks;
mod media_rate;
mod queue_delay;
mod reference_window;

use std::time::Duration;

use airlane_base::{Rate, Time};

use self::delay_target::DelayTarget;
use self::losses::LossRates;
use self::marks::MarkedShare;
use self::media_rate::{AckedRate, target_bps};
use self::queue_delay::QueueDelay;
use self::reference_window::{Congestion, POST_CONGESTION_ROUNDS, PathState, ReferenceWindow};
use crate::controller::{Ack, Controller, Loss, Marked, Sent};
use crate::flight::Flight;
use crate::whole_bytes;

/// Round trip as which a longer one counts in reductions, and a shorter one in growth (VIRTUAL_RTT).
const VIRTUAL_RTT: Duration = Duration::from_millis(25);

/// Bytes in flight per byte of the reference window (REF_WND_OVERHEAD_MAX: the delay's variation,
/// which would take some of it, is not measured, as by the draft's default).
const WINDOW_OVERHEAD: f64 = 3.0;

/// Least window in packets.
const MIN_WINDOW_PACKETS: f64 = 2.0;

/// Pacing rate per target bitrate (PACKET_PACING_HEADROOM).
const PACING_HEADROOM: f64 = 1.5;

/// Target bitrate below which packets are not paced more slowly, bit/s (RATE_PACE_MIN).
const MIN_PACED_BPS: f64 = 50_000.0;

/// Share of the target delay below which a queue is low, and losses may be those of a link.
const LOW_QUEUE: f64 = 0.25;

/// Shortest round trip that is reckoned with: a rate is a window over it.
const MIN_RTT: Duration = Duration::from_micros(1);

/// Packets that one acknowledgement frame acknowledged.
#[derive(Clone, Copy, Debug, Default)]
struct Frame {
    packets: u64,
    /// Bytes, those of packets that were declared lost before it included.
    bytes: f64,
    /// Shortest round trip, which is that of the packet that the receiver had for the shortest time.
    latest_rtt: Option<Duration>,
}

/// Congestion reported since the window was last reduced.
#[derive(Clone, Copy, Debug, Default)]
struct Reported {
    loss: bool,
    marks: bool,
}

/// A SCReAM sender.
///
/// It needs the number of marked packets: [`Marked::packets`] has to be exact.
#[derive(Clone, Debug)]
pub struct Scream {
    window: ReferenceWindow,
    marked_share: MarkedShare,
    losses: LossRates,
    delay: QueueDelay,
    delay_target: DelayTarget,
    acked_rate: AckedRate,
    /// The frame that is being read.
    frame: Frame,
    /// Packets of the frame read last, and how much the window grew with it: marks, of which the
    /// controller hears only then, take it back.
    grown: (u64, f64),
    reported: Reported,
    reduced_at: Option<Time>,
    /// Losses of packets up to this number belong to the last one that was answered.
    recovery_end: Option<u64>,
    /// Time of the last loss or mark.
    congested_at: Option<Time>,
    smoothed_rtt: Option<Duration>,
    flight: Flight,
}

impl Scream {
    /// A sender of packets of `mtu` bytes of UDP payload.
    pub fn new(mtu: u64) -> Self {
        Self {
            window: ReferenceWindow::new(mtu.max(1) as f64),
            marked_share: MarkedShare::default(),
            losses: LossRates::default(),
            delay: QueueDelay::default(),
            delay_target: DelayTarget::default(),
            acked_rate: AckedRate::default(),
            frame: Frame::default(),
            grown: (0, 0.0),
            reported: Reported::default(),
            reduced_at: None,
            recovery_end: None,
            congested_at: None,
            smoothed_rtt: None,
            flight: Flight::default(),
        }
    }

    /// Reference window in bytes.
    pub fn reference_window(&self) -> f64 {
        self.window.bytes()
    }

    /// Share of packets that come marked, smoothed.
    pub fn alpha(&self) -> f64 {
        self.marked_share.alpha()
    }

    /// Average queue delay.
    pub fn queue_delay(&self) -> Duration {
        Duration::from_secs_f64(self.delay.average())
    }

    /// Queue delay that it aims at.
    pub fn target_delay(&self) -> Duration {
        Duration::from_secs_f64(self.delay_target.target())
    }

    /// Target bitrate of the media, bit/s; `None` before a round trip was measured.
    fn target_bps(&self) -> Option<f64> {
        let rtt = self.smoothed_rtt?;
        let (window, mss) = (self.window.bytes(), self.window.mss());
        Some(target_bps(window, mss, rtt, self.delay.is_draining()))
    }

    /// The path as of `now`, once a round trip was measured.
    fn path(&self, now: Time) -> Option<PathState> {
        let rtt = self.smoothed_rtt?;
        let span = rtt.max(VIRTUAL_RTT).saturating_mul(POST_CONGESTION_ROUNDS);
        let part_passed = |since: Option<Time>| {
            since.map_or(1.0, |at| now.since(at).div_duration_f64(span).min(1.0))
        };
        Some(PathState {
            now,
            rtt,
            is_queue_low: self.delay.latest() < LOW_QUEUE * self.delay_target.target(),
            is_target_low: self.target_bps().is_some_and(|bps| self.acked_rate.is_above(bps)),
            was_uncongested: part_passed(self.reduced_at) >= 1.0,
            last_max_in_flight: self.flight.last_max_in_flight(),
            max_in_flight: self.flight.max_in_flight(),
            post_congestion_scale: part_passed(self.congested_at),
        })
    }

    /// Answers what was reported, unless it did so a moment ago.
    fn react(&mut self, now: Time) {
        let Some(path) = self.path(now) else { return };
        let interval = path.rtt.min(VIRTUAL_RTT);
        if self.reduced_at.is_some_and(|at| now.since(at) < interval) {
            return;
        }
        let reported = std::mem::take(&mut self.reported);
        let target = self.delay_target.target();
        let is_queued = self.delay.average() > LOW_QUEUE * target;
        let congestion = if reported.loss && (is_queued || self.losses.is_congestion()) {
            Congestion::Loss
        } else if reported.marks {
            Congestion::Marks(self.marked_share.alpha())
        } else if let Some(alpha) = self.delay.virtual_alpha(target) {
            Congestion::Delay(alpha)
        } else {
            return;
        };
        if matches!(congestion, Congestion::Loss) {
            self.recovery_end = Some(self.flight.recovery_point());
        }
        self.window.reduce(congestion, &path);
        self.reduced_at = Some(now);
    }
}

impl Controller for Scream {
    fn on_sent(&mut self, sent: &Sent) {
        self.flight.on_sent(sent);
    }

    fn on_ack(&mut self, ack: &Ack) {
        let rtt = ack.rtt.smoothed.max(MIN_RTT);
        self.smoothed_rtt = Some(rtt);
        if self.frame.packets == 0 {
            // All marks of the frames before are known now.
            self.marked_share.update(ack.now, rtt);
        }
        let window_packets = self.window.bytes() / self.window.mss();
        self.losses.on_packet(false, window_packets);
        self.marked_share.acknowledged();
        self.flight.on_ack(ack.pn);
        let frame = &mut self.frame;
        frame.packets = frame.packets.saturating_add(1);
        frame.bytes += ack.bytes as f64;
        let latest = ack.rtt.latest;
        frame.latest_rtt = Some(frame.latest_rtt.map_or(latest, |rtt| rtt.min(latest)));
    }

    fn on_ack_end(&mut self, now: Time, _in_flight: u64) {
        let (Some(latest), Some(rtt)) = (self.frame.latest_rtt, self.smoothed_rtt) else { return };
        let frame = std::mem::take(&mut self.frame);
        let target = self.delay_target.target();
        self.delay.update(now, latest, rtt, rtt.min(VIRTUAL_RTT), target);
        self.losses.update(now, rtt);
        self.delay_target.update(now, self.delay.latest(), self.losses.rounds());
        let target_bps = self.target_bps().unwrap_or_default();
        self.acked_rate.update(now, frame.bytes, rtt, target_bps);
        self.react(now);
        if let Some(path) = self.path(now) {
            self.grown = (frame.packets, self.window.grow(frame.bytes, &path));
        }
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.congested_at = Some(loss.now);
        self.frame.bytes += loss.bytes as f64;
        let window_packets = self.window.bytes() / self.window.mss();
        self.losses.on_packet(true, window_packets);
        if self.recovery_end.is_none_or(|end| loss.pn > end) {
            self.reported.loss = true;
            self.react(loss.now);
        }
    }

    fn on_marked(&mut self, marked: &Marked) {
        self.congested_at = Some(marked.now);
        self.marked_share.marked(marked.packets);
        if let Some(rtt) = self.smoothed_rtt {
            self.marked_share.update(marked.now, rtt);
        }
        let (packets, growth) = std::mem::take(&mut self.grown);
        // These were taken for packets without a mark.
        let share = marked.packets as f64 / packets.max(1) as f64;
        self.window.take_back(growth * share.min(1.0));
        // What is reported at one time is one event.
        if self.reduced_at != Some(marked.now) {
            self.reported.marks = true;
            self.react(marked.now);
        }
    }

    fn on_persistent_congestion(&mut self, _now: Time) {
        self.window.collapse();
        (self.reported, self.recovery_end) = (Reported::default(), None);
    }

    fn on_spurious_loss(&mut self, _now: Time) {
        if self.window.restore() {
            self.recovery_end = None;
        }
    }

    fn on_mtu(&mut self, _now: Time, bytes: u64) {
        self.window.set_mss(bytes.max(1) as f64);
    }

    fn window(&self) -> u64 {
        let min = MIN_WINDOW_PACKETS * self.window.mss();
        whole_bytes((WINDOW_OVERHEAD * self.window.bytes()).max(min))
    }

    fn pacing_rate(&self) -> Option<Rate> {
        Some(Rate::from_bps_f64(self.target_bps()?.max(MIN_PACED_BPS) * PACING_HEADROOM))
    }

    fn bandwidth(&self) -> Option<Rate> {
        self.target_bps().map(Rate::from_bps_f64)
    }

    fn sets_media_rate(&self) -> bool {
        true
    }

    fn burst_packets(&self) -> f64 {
        1.0
    }

    fn is_scalable(&self) -> bool {
        true
    }

    fn name(&self) -> &'static str {
        "scream"
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}
