//! The model of what the path bears without loss, long-term and short-term (sections 5.5.10 and 5.5.11).
//!
//! Marked packets (ECN-CE) count as lost ones: the draft has no response of its own to marks, and asks that
//! they be treated as congestion (section 3.7).

use airlane_base::{Rate, Time};

use super::Bbr3;
use super::model::Sample;
use super::packets::SentState;
use super::state::{Phase, State};
use crate::controller::Marked;

/// Packets that probing may lose per round trip, of those in flight (section 2.8).
const LOSS_THRESHOLD: f64 = 0.02;
/// Share of a bound that is kept when a round met losses, and of what was aimed at when a probe did (section
/// 2.8).
const BETA: f64 = 0.7;
/// Ranges of packets lost in a round that tell a full pipe in Startup (section 5.3.1.3).
const STARTUP_FULL_LOSSES: u64 = 6;

/// Bounds of the model, infinite where nothing is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Rate in bit/s that the path bore of late, by losses of this cycle.
    pub bw_shortterm: f64,
    /// Bytes in flight that it bore of late.
    pub inflight_shortterm: f64,
    /// Bytes in flight at which probing met too many losses.
    pub inflight_longterm: f64,
}

impl Bounds {
    pub const NONE: Self = Self {
        bw_shortterm: f64::INFINITY,
        inflight_shortterm: f64::INFINITY,
        inflight_longterm: f64::INFINITY,
    };

    /// Forgets the short-term model.
    pub fn reset_short_term(&mut self) {
        self.bw_shortterm = f64::INFINITY;
        self.inflight_shortterm = f64::INFINITY;
    }

    fn raise_to(&mut self, other: &Self) {
        self.bw_shortterm = self.bw_shortterm.max(other.bw_shortterm);
        self.inflight_shortterm = self.inflight_shortterm.max(other.inflight_shortterm);
        self.inflight_longterm = self.inflight_longterm.max(other.inflight_longterm);
    }
}

/// Deliveries and losses of the last round trip (section 2.10).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Latest {
    /// The largest delivery rate in bit/s, and the largest volume in bytes.
    bandwidth: f64,
    pub inflight: f64,
    /// The round of losses ends with a packet that was sent when so much was delivered.
    round_end: u64,
    /// True while the acknowledgement that ends it is read.
    is_round_start: bool,
    /// A packet was lost in it.
    is_loss_in_round: bool,
    losses: RoundLosses,
    /// Number of the packet lost last.
    last_lost: Option<u64>,
}

/// Losses since a round of losses began.
#[derive(Clone, Copy, Debug, Default)]
struct RoundLosses {
    /// Bytes delivered when it began.
    delivered: u64,
    /// Bytes lost, and ranges of packets.
    bytes: u64,
    ranges: u64,
}

impl RoundLosses {
    /// True if they tell a full pipe in Startup, when so much is delivered (section 5.3.1.3).
    fn fill_pipe(self, delivered: u64) -> bool {
        let delivered = delivered.saturating_sub(self.delivered) as f64;
        let lost = self.bytes as f64;
        self.ranges >= STARTUP_FULL_LOSSES && lost > LOSS_THRESHOLD * (lost + delivered)
    }
}

impl Latest {
    /// Near the start of an acknowledgement. Returns the losses of the round that it ends, if it does and
    /// there were any.
    fn update(&mut self, sample: &Sample, delivered: u64) -> Option<RoundLosses> {
        self.is_round_start = false;
        let prior = sample.prior_delivered?;
        self.bandwidth = self.bandwidth.max(sample.rate.as_f64());
        self.inflight = self.inflight.max(sample.delivered as f64);
        if prior < self.round_end {
            return None;
        }
        self.is_round_start = true;
        self.round_end = delivered;
        std::mem::take(&mut self.is_loss_in_round).then_some(self.losses)
    }

    /// Near its end.
    pub fn advance(&mut self, sample: &Sample) {
        if self.is_round_start {
            self.bandwidth = sample.rate.as_f64();
            self.inflight = sample.delivered as f64;
        }
    }

    /// A cycle of ProbeBW begins.
    pub fn reset(&mut self) {
        self.is_loss_in_round = false;
        self.bandwidth = 0.0;
        self.inflight = 0.0;
    }

    /// A packet was lost when so much was delivered. With the first loss of a round it begins anew. `pn`: its
    /// number, if it is known.
    fn note_loss(&mut self, pn: Option<u64>, bytes: u64, delivered: u64) {
        if !self.is_loss_in_round {
            self.is_loss_in_round = true;
            self.round_end = delivered;
            self.losses = RoundLosses { delivered, ..RoundLosses::default() };
        }
        let is_adjacent = self.last_lost.is_some_and(|last| last.checked_add(1) == pn);
        self.losses.ranges += u64::from(!is_adjacent);
        self.losses.bytes = self.losses.bytes.saturating_add(bytes);
        self.last_lost = pn;
    }
}

/// A packet that was lost, or packets that came marked.
#[derive(Clone, Copy, Debug)]
pub(super) struct LostPacket {
    pub now: Time,
    pub pn: u64,
    pub bytes: u64,
    /// State in which it was sent, if that is still known.
    pub sent: Option<SentState>,
}

/// Losses of one flight, until a packet sent after they were found is acknowledged (RFC 9002, section 7.3.2).
#[derive(Clone, Copy, Debug)]
pub(super) struct Recovery {
    /// It ends when a packet above this number is acknowledged.
    pub end: u64,
}

/// State that losses have left, in case they prove spurious (section 2.15).
#[derive(Clone, Copy, Debug)]
pub(super) struct Undo {
    bounds: Bounds,
    state: Option<LeftState>,
}

/// State that was left on account of losses.
#[derive(Clone, Copy, Debug)]
enum LeftState {
    Startup,
    Up,
}

impl Bbr3 {
    /// Section 5.5.10.3, but for what follows it in an acknowledgement.
    pub(super) fn update_congestion_signals(&mut self) {
        let delivered = self.rounds.delivered;
        let losses = self.latest.update(&self.sample, delivered);
        self.max_bandwidth.update(&self.sample);
        self.rounds.update(&self.sample);
        if self.rounds.is_start {
            self.cycle.rounds_since_up = self.cycle.rounds_since_up.saturating_add(1);
        }
        let Some(losses) = losses else { return };
        if self.state == State::Startup && losses.fill_pipe(delivered) {
            self.remember_left(LeftState::Startup);
            self.full_bandwidth.is_reached = true;
            self.bounds.inflight_longterm = self.bdp(self.bw(), 1.0).max(self.latest.inflight);
        } else if !self.state.is_probing_bandwidth() {
            self.lower_bounds();
        }
    }

    /// Section 5.5.10.3: a round that was not to probe met losses.
    fn lower_bounds(&mut self) {
        let bounds = &mut self.bounds;
        if bounds.bw_shortterm.is_infinite() {
            bounds.bw_shortterm = self.max_bandwidth.get().as_f64();
        }
        if bounds.inflight_shortterm.is_infinite() {
            bounds.inflight_shortterm = self.window;
        }
        bounds.bw_shortterm = self.latest.bandwidth.max(BETA * bounds.bw_shortterm);
        bounds.inflight_shortterm = self.latest.inflight.max(BETA * bounds.inflight_shortterm);
    }

    /// True if more was lost since a packet left in this state than probing may lose (section 5.5.10.2).
    pub(super) fn is_inflight_too_high(&self, sent: SentState) -> bool {
        let lost = self.lost.saturating_sub(sent.lost);
        lost as f64 > sent.in_flight as f64 * LOSS_THRESHOLD
    }

    /// Section 5.5.10.2: probing has put `inflight` bytes into the path, and that was too much.
    fn lower_inflight_longterm(&mut self, now: Time, inflight: f64) {
        self.cycle.prev_too_high = true;
        self.cycle.is_probe_sample = false;
        if !self.sample.app_limited {
            self.bounds.inflight_longterm = inflight.max(BETA * self.target_inflight());
        }
        if self.state == State::ProbeBw(Phase::Up) {
            self.remember_left(LeftState::Up);
            self.start_down(now);
        }
    }

    /// Section 5.5.10.2.
    pub(super) fn on_packet_lost(&mut self, lost: LostPacket) {
        self.lost = self.lost.saturating_add(lost.bytes);
        self.latest.note_loss(Some(lost.pn), lost.bytes, self.rounds.delivered);
        self.check_probe_losses(lost);
    }

    /// Ends a probe in which more was lost than it may lose.
    fn check_probe_losses(&mut self, lost: LostPacket) {
        let Some(sent) = lost.sent else { return };
        if !self.cycle.is_probe_sample || !self.is_inflight_too_high(sent) {
            return;
        }
        // The volume at which losses crossed the threshold, maybe within this packet.
        let size = lost.bytes as f64;
        let inflight_before = (sent.in_flight as f64 - size).max(0.0);
        let lost_before = (self.lost.saturating_sub(sent.lost) as f64 - size).max(0.0);
        let lost_prefix = (LOSS_THRESHOLD * inflight_before - lost_before) / (1.0 - LOSS_THRESHOLD);
        self.lower_inflight_longterm(lost.now, (inflight_before + lost_prefix).max(0.0));
    }

    /// Some of the packets that the last acknowledgement covers came marked. Marks are never spurious.
    pub(super) fn on_packets_marked(&mut self, marked: &Marked) {
        self.enter_recovery(marked.pn);
        self.undo = None;
        let bytes = marked.packets.saturating_mul(self.mss as u64);
        let sent = Some(self.sample.sent);
        self.on_packet_lost(LostPacket { now: marked.now, pn: marked.pn, bytes, sent });
    }

    /// A queue dropped a packet on purpose. That ends Startup as a loss does: the path carries no more. Later
    /// on it is no sign of too much in flight.
    pub(super) fn on_purposeful_drop(&mut self) {
        if self.state == State::Startup {
            self.latest.note_loss(None, self.mss as u64, self.rounds.delivered);
        }
    }

    /// Sections 5.5.11.1 and 5.6.4.4: packet `pn` met congestion. Of the rest of its flight nothing is saved.
    pub(super) fn enter_recovery(&mut self, pn: u64) {
        if self.recovery.is_some_and(|recovery| pn <= recovery.end) {
            return;
        }
        self.save_window();
        self.recovery = Some(Recovery { end: self.flight.recovery_point().max(pn) });
        self.undo = Some(Undo { bounds: self.bounds, state: None });
    }

    fn remember_left(&mut self, state: LeftState) {
        if let Some(undo) = &mut self.undo {
            undo.state = Some(state);
        }
    }

    /// Section 5.5.11.2: all that was lost in the last recovery has arrived.
    pub(super) fn undo_losses(&mut self) {
        let Some(undo) = self.undo.take() else { return };
        self.recovery = None;
        self.restore_window();
        self.latest.is_loss_in_round = false;
        self.full_bandwidth.reset(Rate::ZERO);
        self.bounds.raise_to(&undo.bounds);
        let in_probe_rtt = matches!(self.state, State::ProbeRtt(_));
        match undo.state {
            Some(LeftState::Startup) if self.state != State::Startup => {
                self.full_bandwidth.is_reached = false;
                if !in_probe_rtt {
                    self.state = State::Startup;
                }
            }
            Some(LeftState::Up) if self.state != State::ProbeBw(Phase::Up) && !in_probe_rtt => {
                self.start_refill();
            }
            _ => {}
        }
    }
}
