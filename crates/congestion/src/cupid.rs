//! Cupid's sender: obeys the rate that its receiver measured in the air, as long as reports come and the
//! air is the bottleneck; else another controller decides.
//!
//! The receiver's half is the crate `cupid`; equations, and what is left out, in
//! `docs/design/controllers.md`.

mod record;
mod round;
mod share;
mod trim;

use std::time::Duration;

use airlane_base::{Rate, Seed, Time};
use serde::Serialize;

use crate::controller::{
    Ack, Controller, Grant, LastSignals, Limit, Loss, Marked, Rtt, Sent, Signal,
};
use crate::explicit::MIN_RATE;
use crate::{Bbr, Cubic, CubicConfig, INITIAL_WINDOW_PACKETS, whole_bytes};
use record::Record;
use round::{Round, RoundFindings};
use share::Share;
use trim::Trim;

/// Reports that may be missed before the last rate no longer holds; a round trip comes on top.
const MISSED_REPORTS: u32 = 3;
/// Reports in time, one after the other, before rates hold again.
const RESUME_REPORTS: u32 = 3;
/// Round trips of the rate that the window holds, the longest of late, and packets beside: aggregates come
/// in lumps, and must not make the window the limit.
const WINDOW_RTTS: f64 = 1.5;
const WINDOW_PACKETS: u64 = 10;
/// By what part of its distance to the smoothed one the longest round trip falls in a round.
const FORGET: u32 = 8;
/// The most that a queue may add to the round trip that the window is for.
const MAX_QUEUE: Duration = Duration::from_millis(100);
/// The round trip before one was measured.
const FIRST_RTT: Duration = Duration::from_millis(100);
/// Congested rounds in a row that show that the bottleneck is elsewhere: while the air has room, and
/// while it has none, which explains much of it.
const ELSEWHERE_ROUNDS: u32 = 3;
const ELSEWHERE_ROUNDS_BUSY: u32 = 12;
/// Rounds in a row in which a fifth was lost that end it while the air is said to be full, although most of
/// what was granted arrived; one is enough if less than this part did. An access point that drops a
/// queue's end loses as much in a single round.
const HEAVY_ROUNDS: u32 = 2;
const MOSTLY: f64 = 0.75;
/// Rounds in a row that show that it is the air again; doubled, up to the most, each time that proves
/// wrong within the most.
const RETURN_ROUNDS: u32 = 4;
const MAX_RETURN_ROUNDS: u32 = 64;

/// Controller that decides on the rate while Cupid does not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum Fallback {
    /// [`Cubic`].
    #[default]
    Cubic,
    /// [`Bbr`].
    Bbr,
}

/// Party that decides on the rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// The fallback: no report has come, or they stopped.
    Free,
    /// The receiver.
    Granted,
    /// The fallback, up to what is granted: the bottleneck is not the air.
    Elsewhere,
}

#[derive(Clone, Debug)]
enum Other {
    Cubic(Box<Cubic>),
    Bbr(Box<Bbr>),
}

/// Cupid's sender.
#[derive(Clone, Debug)]
pub struct Cupid {
    mode: Mode,
    other: Other,
    mtu: u64,
    /// The last report, and when it came.
    grant: Option<(Grant, Time)>,
    share: Share,
    trim: Trim,
    /// Reports in time, one after the other.
    in_time: u32,
    rtt: Option<Rtt>,
    /// The longest round trip of late.
    longest: Duration,
    in_flight: u64,
    round: Round,
    /// Congested rounds in a row while granted; rounds without a sign of it while elsewhere.
    congested: u32,
    clear: u32,
    /// Rounds in a row in which a fifth was lost, while granted.
    heavy: u32,
    /// Rounds to wait before it returns, and rounds since it did.
    return_rounds: u32,
    since_return: u32,
    /// Party that decides on the rate when reports come again.
    before_silence: Mode,
    record: Record,
}

impl Cupid {
    /// A sender of packets of `mtu` bytes of UDP payload that begins at `now`, with what it falls back on and
    /// its weight at first. BBR draws from `seed`.
    pub fn new((fallback, weight): (Fallback, f64), now: Time, mtu: u64, seed: Seed) -> Self {
        let share = Share::new(weight);
        let other = match fallback {
            Fallback::Cubic => Other::Cubic(Box::new(cubic(now, mtu, &share))),
            Fallback::Bbr => Other::Bbr(Box::new(Bbr::new(now, mtu, seed))),
        };
        Self {
            mode: Mode::Free,
            other,
            mtu: mtu.max(1),
            grant: None,
            share,
            trim: Trim::none(),
            in_time: 0,
            rtt: None,
            longest: Duration::ZERO,
            in_flight: 0,
            round: Round::new(now),
            congested: 0,
            clear: 0,
            heavy: 0,
            return_rounds: RETURN_ROUNDS,
            since_return: MAX_RETURN_ROUNDS,
            before_silence: Mode::Granted,
            record: Record::new(),
        }
    }

    /// True if the receiver's reports decide on the rate.
    pub fn is_granted(&self) -> bool {
        self.mode == Mode::Granted
    }

    fn other(&self) -> &dyn Controller {
        match &self.other {
            Other::Cubic(cubic) => cubic.as_ref(),
            Other::Bbr(bbr) => bbr.as_ref(),
        }
    }

    fn other_mut(&mut self) -> &mut dyn Controller {
        match &mut self.other {
            Other::Cubic(cubic) => cubic.as_mut(),
            Other::Bbr(bbr) => bbr.as_mut(),
        }
    }

    /// True if the fallback hears losses and marks. While rates are granted Cubic does not: its window is
    /// set when it takes over. BBR does, and so knows the path when it is asked.
    fn other_listens(&self) -> bool {
        self.mode != Mode::Granted || matches!(self.other, Other::Bbr(_))
    }

    fn granted_rate(&self) -> Rate {
        self.grant.map_or(MIN_RATE, |(grant, _)| self.share.of(grant.rate).max(MIN_RATE))
    }

    /// Rate while the receiver decides: no more than its record allows.
    fn obeyed_rate(&self) -> Rate {
        self.record.capped(self.trim.of(self.granted_rate()), self.first_flight())
    }

    /// Bytes that a new flow may send, and the round trip that they take.
    fn first_flight(&self) -> (u64, Duration) {
        let bytes = whole_bytes(INITIAL_WINDOW_PACKETS * self.mtu as f64);
        (bytes, self.rtt.map_or(FIRST_RTT, |rtt| rtt.smoothed))
    }

    fn window_of(&self, rate: Rate) -> u64 {
        let longest = |rtt: Rtt| self.longest.max(rtt.smoothed).min(rtt.min + MAX_QUEUE);
        let rtt = self.rtt.map_or(FIRST_RTT, longest);
        let flight = rate.as_f64() / 8.0 * WINDOW_RTTS * rtt.as_secs_f64();
        whole_bytes(flight) + WINDOW_PACKETS * self.mtu
    }

    /// The rate that the fallback would have.
    fn other_rate(&self) -> Rate {
        match (&self.other, self.rtt) {
            (Other::Bbr(bbr), _) => bbr.pacing_rate().unwrap_or_default(),
            (Other::Cubic(cubic), Some(rtt)) => Rate::of(cubic.window(), rtt.smoothed),
            (Other::Cubic(_), None) => Rate::ZERO,
        }
    }

    /// Reports stopped: the last rate no longer holds.
    fn look_for_silence(&mut self, now: Time) {
        let Some((grant, at)) = self.grant.filter(|_| self.mode != Mode::Free) else { return };
        let rtt = self.rtt.map_or(FIRST_RTT, |rtt| rtt.smoothed);
        if now.since(at) > grant.interval.saturating_mul(MISSED_REPORTS) + rtt {
            if self.mode == Mode::Granted {
                if self.round.is_heavy(self.mtu) {
                    self.record.refute();
                }
                let flight = self.record.flight(self.in_flight, self.first_flight());
                self.hand_over(now, flight);
                self.record.on_silence();
            }
            self.before_silence = self.mode;
            self.mode = Mode::Free;
            self.in_time = 0;
        }
    }

    /// The fallback takes over with so many bytes in flight. BBR has measured all along.
    fn hand_over(&mut self, now: Time, flight: u64) {
        let share = self.share;
        let Other::Cubic(own) = &mut self.other else { return };
        if flight <= self.mtu {
            // After a pause: it finds out by itself, as a new flow would.
            let mut new = cubic(now, self.mtu, &share);
            new.adopt_flight(own);
            **own = new;
        } else {
            own.resume(flight);
        }
    }

    fn go_elsewhere(&mut self, now: Time) {
        if self.since_return < MAX_RETURN_ROUNDS {
            self.return_rounds = (2 * self.return_rounds).min(MAX_RETURN_ROUNDS);
        } else {
            self.return_rounds = RETURN_ROUNDS;
        }
        self.hand_over(now, self.carried());
        self.mode = Mode::Elsewhere;
        self.clear = 0;
    }

    /// Bytes that the path carries, without the queue that stands in it.
    fn carried(&self) -> u64 {
        let min = self.rtt.map_or(FIRST_RTT, |rtt| rtt.min);
        let mut flight = self.round.last_rate().bytes_in(min).max(4 * self.mtu);
        if self.record.is_refuted() {
            // What it took by its rate is not its own: as after a loss, and others need room to come back.
            flight /= 2;
        }
        flight.max((INITIAL_WINDOW_PACKETS * self.mtu as f64) as u64)
    }

    /// A round is over.
    fn on_round(&mut self, now: Time, findings: RoundFindings) {
        let Some((grant, _)) = self.grant else { return };
        match self.mode {
            Mode::Free => {
                if self.record.is_trailing_round() && findings.is_heavy {
                    self.record.refute();
                    self.hand_over(now, self.carried());
                }
            }
            Mode::Granted => {
                self.since_return = self.since_return.saturating_add(1);
                let arrived = findings.delivered.as_f64() / self.obeyed_rate().as_f64();
                let is_short = findings.is_congested && arrived < 0.95;
                self.congested = if is_short { self.congested + 1 } else { 0 };
                let explains = !grant.has_room && !self.record.is_refuted();
                let needed = if explains { ELSEWHERE_ROUNDS_BUSY } else { ELSEWHERE_ROUNDS };
                self.heavy = if findings.is_heavy { self.heavy + 1 } else { 0 };
                let is_plain = findings.is_heavy
                    && (grant.has_room || arrived < MOSTLY || self.heavy >= HEAVY_ROUNDS);
                if is_plain {
                    self.record.refute();
                }
                if grant.is_isolated {
                    self.trim.on_round(findings.is_queued);
                }
                if self.congested >= needed || is_plain {
                    self.go_elsewhere(now);
                }
            }
            Mode::Elsewhere => {
                // Either the path carries what is granted, or the air is full, which explains that it
                // does not.
                let carries = !findings.is_congested && self.other_rate() >= self.granted_rate();
                let explains = !grant.has_room && !self.record.is_refuted();
                self.clear = if carries || explains { self.clear + 1 } else { 0 };
                if self.clear >= self.return_rounds {
                    self.mode = Mode::Granted;
                    (self.congested, self.heavy, self.since_return) = (0, 0, 0);
                }
            }
        }
        self.record.on_round(findings.delivered);
    }

    fn take(&mut self, now: Time, grant: Grant) {
        self.look_for_silence(now);
        let is_first = self.grant.is_none();
        let is_in_time = self
            .grant
            .is_some_and(|(last, at)| now.since(at) <= last.interval.saturating_mul(5) / 2);
        self.in_time = if is_in_time { self.in_time.saturating_add(1) } else { 1 };
        self.grant = Some((grant, now));
        self.share.on_report(grant.is_full);
        if !grant.is_isolated {
            self.trim = Trim::none();
        }
        if self.mode == Mode::Free && (is_first || self.in_time >= RESUME_REPORTS) {
            // Losses of what was granted before a silence may have been found during it.
            if self.record.is_trailing_round() && self.round.is_heavy(self.mtu) {
                self.record.refute();
            }
            let is_refuted = self.record.is_refuted();
            self.mode = if is_refuted { Mode::Elsewhere } else { self.before_silence };
            self.round = Round::new(now);
        }
    }
}

fn cubic(now: Time, mtu: u64, share: &Share) -> Cubic {
    Cubic::new(CubicConfig { weight: share.weight(), ..CubicConfig::default() }, now, mtu)
}

impl Controller for Cupid {
    fn on_sent(&mut self, sent: &Sent) {
        self.in_flight = sent.in_flight;
        self.other_mut().on_sent(sent);
        self.look_for_silence(sent.now);
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.rtt = Some(ack.rtt);
        self.longest = self.longest.max(ack.rtt.latest);
        self.in_flight = ack.in_flight;
        self.round.on_ack(ack);
        let is_idle = self.mode == Mode::Granted && matches!(self.other, Other::Cubic(_));
        if is_idle {
            // Its window was not tested.
            self.other_mut().on_ack(&Ack { limit: Limit::Application, ..*ack });
        } else {
            self.other_mut().on_ack(ack);
        }
        self.look_for_silence(ack.now);
    }

    fn on_ack_end(&mut self, now: Time, in_flight: u64) {
        self.other_mut().on_ack_end(now, in_flight);
        if let Some(rtt) = self.rtt
            && let Some(findings) = self.round.end(now, &rtt, self.mtu)
        {
            self.longest -= self.longest.saturating_sub(rtt.smoothed) / FORGET;
            self.on_round(now, findings);
        }
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.in_flight = loss.in_flight;
        self.round.on_loss(loss.bytes);
        if self.other_listens() {
            self.other_mut().on_loss(loss);
        }
        self.look_for_silence(loss.now);
    }

    fn on_dropped(&mut self, now: Time) {
        self.other_mut().on_dropped(now);
    }

    fn on_marked(&mut self, marked: &Marked) {
        // A mark is what another bottleneck than the air says of itself.
        self.round.on_loss(marked.packets.saturating_mul(self.mtu));
        if self.other_listens() {
            self.other_mut().on_marked(marked);
        }
    }

    fn on_persistent_congestion(&mut self, now: Time) {
        // Nothing came through: whatever was granted, the path does not carry it.
        if self.mode == Mode::Granted {
            self.record.refute();
            self.go_elsewhere(now);
        }
        self.other_mut().on_persistent_congestion(now);
    }

    fn on_spurious_loss(&mut self, now: Time) {
        if self.other_listens() {
            self.other_mut().on_spurious_loss(now);
        }
    }

    fn on_mtu(&mut self, now: Time, bytes: u64) {
        self.mtu = bytes.max(1);
        self.other_mut().on_mtu(now, bytes);
    }

    fn on_signal(&mut self, now: Time, signal: Signal) -> bool {
        match signal {
            Signal::Grant(grant) => self.take(now, grant),
            Signal::Weight(weight) => {
                self.share.set_weight(weight);
                // The fallback counts for as many flows, if it has a weight.
                self.other_mut().on_signal(now, signal);
            }
            Signal::Refuted => {
                self.record.refute();
                if self.mode == Mode::Granted {
                    self.go_elsewhere(now);
                }
            }
            Signal::Rate(_) => return false,
        }
        true
    }

    fn last_signals(&self) -> LastSignals {
        let weight = Some(self.share.weight());
        let grant = self.grant.map(|(grant, _)| grant);
        LastSignals { weight, grant, is_refuted: self.record.is_refuted(), rate: None }
    }

    fn window(&self) -> u64 {
        match self.mode {
            Mode::Free => self.other().window(),
            Mode::Granted => self.window_of(self.obeyed_rate()),
            Mode::Elsewhere => self.other().window().min(self.window_of(self.granted_rate())),
        }
    }

    fn pacing_rate(&self) -> Option<Rate> {
        let other = self.other().pacing_rate();
        match self.mode {
            Mode::Free => other,
            Mode::Granted => Some(self.obeyed_rate()),
            Mode::Elsewhere => {
                Some(other.map_or(self.granted_rate(), |rate| rate.min(self.granted_rate())))
            }
        }
    }

    fn bandwidth(&self) -> Option<Rate> {
        match self.mode {
            Mode::Granted => Some(self.obeyed_rate()),
            _ => self.other().bandwidth(),
        }
    }

    fn has_filled_path(&self) -> bool {
        self.mode == Mode::Granted || self.other().has_filled_path()
    }

    fn ssthresh(&self) -> Option<u64> {
        if self.mode == Mode::Granted { None } else { self.other().ssthresh() }
    }

    fn name(&self) -> &'static str {
        "cupid"
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }

    fn takes_samples(&self) -> bool {
        matches!(self.other, Other::Bbr(_))
    }

    fn follows_sending(&self) -> bool {
        // After a pause the first packet shows that reports stopped meanwhile.
        true
    }
}
