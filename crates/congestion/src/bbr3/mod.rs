//! BBR version 3, after draft-ietf-ccwg-bbr-06, whose sections are named below.
//!
//! Version 3 keeps version 1's model of the path ([`crate::bbr`]) and adds bounds by loss: a long-term one on
//! the volume in flight, found by probing, and short-term ones on volume and rate, which last until the next
//! probe. It probes for bandwidth every two to three seconds, or after as many round trips as the path holds
//! packets, at most 63, if that is sooner.
//!
//! | file | what |
//! |---|---|
//! | `state` | states and gains, Startup, Drain, the detector of a full pipe |
//! | `probe_bw` | ProbeBW and its four phases |
//! | `probe_rtt` | ProbeRTT, and restarting from idle |
//! | `model` | bandwidth, round trips, aggregation |
//! | `congestion` | bounds by loss and by marks, and how they are undone |
//! | `control` | pacing rate and window |
//! | `packets` | the state in which each packet in flight was sent |
//!
//! [`Controller`] says less than the draft takes for granted:
//!
//! - Losses that an acknowledgement shows are reported after it, and count with the next one.
//! - Whether a lost packet left while the application limited sending is not known. The newest sample says
//!   it, of a packet that left about then.
//! - Whether the application limited sending before a pause is not known either. A packet that leaves while
//!   nothing is in flight restarts from idle.
//!
//! Where the draft leaves a choice: `docs/design/controllers.md`.

mod congestion;
mod control;
mod model;
mod packets;
mod probe_bw;
mod probe_rtt;
mod state;

use airlane_base::{Rate, Rng, Seed, Time};

use self::congestion::{Bounds, Latest, LostPacket, Recovery, Undo};
use self::model::{ExtraAcked, MaxBandwidth, MinRtt, Rounds, Sample};
use self::packets::{Packets, SentState};
use self::probe_bw::{BoundGrowth, Cycle};
use self::probe_rtt::LimitedRange;
use self::state::{FullBandwidth, State};
use crate::controller::{Ack, Controller, Loss, Marked, Sent};
use crate::flight::Flight;
use crate::{INITIAL_WINDOW_PACKETS, whole_bytes};

/// BBR version 3.
#[derive(Clone, Debug)]
pub struct Bbr3 {
    /// Bytes of a full packet.
    mss: f64,
    rng: Rng,
    state: State,
    /// The acknowledgement being read or, after its end, the last one (`RS.`).
    sample: Sample,
    /// Number of the newest packet that it covers; `None` when it has ended.
    newest: Option<u64>,
    // The model of the path.
    rounds: Rounds,
    max_bandwidth: MaxBandwidth,
    min_rtt: MinRtt,
    extra_acked: ExtraAcked,
    full_bandwidth: FullBandwidth,
    cycle: Cycle,
    growth: BoundGrowth,
    /// Samples of packets sent while these were delivered measure ProbeRTT.
    probe_rtt_limited: Option<LimitedRange>,
    // Congestion.
    latest: Latest,
    bounds: Bounds,
    /// Bytes lost so far (`C.lost`).
    lost: u64,
    recovery: Option<Recovery>,
    undo: Option<Undo>,
    /// Set between the first packet after an idle time and its acknowledgement.
    idle_restart: bool,
    /// Window in bytes, and the one to come back to from recovery and ProbeRTT.
    window: f64,
    prior_window: f64,
    pacing_rate: Option<Rate>,
    // The packets in flight.
    flight: Flight,
    packets: Packets,
    in_flight: u64,
}

impl Bbr3 {
    /// A controller in Startup at `now` for packets of `mtu` bytes of UDP payload. The seed decides how long
    /// it waits between probes.
    pub fn new(now: Time, mtu: u64, seed: Seed) -> Self {
        let mss = mtu.max(1) as f64;
        Self {
            mss,
            rng: seed.split("bbr3").rng(),
            state: State::Startup,
            sample: Sample::default(),
            newest: None,
            rounds: Rounds::default(),
            max_bandwidth: MaxBandwidth::default(),
            min_rtt: MinRtt::new(now),
            extra_acked: ExtraAcked::new(now),
            full_bandwidth: FullBandwidth::default(),
            cycle: Cycle::new(now),
            growth: BoundGrowth::default(),
            probe_rtt_limited: None,
            latest: Latest::default(),
            bounds: Bounds::NONE,
            lost: 0,
            recovery: None,
            undo: None,
            idle_restart: false,
            window: INITIAL_WINDOW_PACKETS * mss,
            prior_window: 0.0,
            pacing_rate: None,
            flight: Flight::default(),
            packets: Packets::default(),
            in_flight: 0,
        }
    }

    /// Takes a packet into the sample of the acknowledgement that is being read.
    fn add_to_sample(&mut self, ack: &Ack, sent: SentState) {
        let is_first = self.newest.is_none();
        if is_first {
            let app_limited = self.sample.app_limited;
            self.sample = Sample { rtt: ack.rtt.latest, app_limited, ..Sample::default() };
        }
        let sample = &mut self.sample;
        sample.newly_acked = sample.newly_acked.saturating_add(ack.bytes);
        sample.rtt = sample.rtt.min(ack.rtt.latest);
        if let Some(rate) = &ack.sample {
            self.rounds.delivered = self.rounds.delivered.max(rate.delivered);
        }
        if self.newest.is_some_and(|newest| newest > ack.pn) {
            return;
        }
        self.newest = Some(ack.pn);
        sample.sent = sent;
        if let Some(rate) = &ack.sample {
            let prior = rate.prior_delivered;
            sample.rate = rate.rate;
            sample.delivered = rate.delivered.saturating_sub(prior);
            sample.prior_delivered = Some(prior);
            sample.app_limited = rate.app_limited
                || self.probe_rtt_limited.is_some_and(|range| range.contains(prior));
        }
    }
}

impl Controller for Bbr3 {
    fn on_sent(&mut self, sent: &Sent) {
        if self.flight.on_sent(sent) {
            // What the table still holds is of a path that was left.
            self.packets.clear();
            self.restart_from_idle(sent.now);
        }
        let state = SentState { in_flight: sent.in_flight, lost: self.lost };
        self.packets.insert(sent.pn, state);
        self.in_flight = sent.in_flight;
        if sent.in_flight as f64 + self.mss > self.window {
            self.rounds.use_window();
        }
    }

    fn on_ack(&mut self, ack: &Ack) {
        // Of a packet that is not known any more, nothing was lost since.
        let unknown = SentState { in_flight: 0, lost: self.lost };
        let sent = self.packets.take(ack.pn).unwrap_or(unknown);
        self.add_to_sample(ack, sent);
        self.init_pacing_rate(ack.rtt.smoothed);
        if self.recovery.is_some_and(|recovery| ack.pn > recovery.end) {
            self.recovery = None;
            self.restore_window();
        }
    }

    /// Section 5.2.3.
    fn on_ack_end(&mut self, now: Time, in_flight: u64) {
        self.in_flight = in_flight;
        if self.newest.take().is_none() {
            return;
        }
        self.sample.in_flight = in_flight;
        self.update_congestion_signals();
        let bandwidth = self.bw().as_f64();
        let extra = self.extra_acked.measure(now, self.sample.newly_acked, bandwidth);
        let in_startup = !self.full_bandwidth.is_reached;
        self.extra_acked.update(extra.min(self.window), self.rounds.count, in_startup);
        self.update_startup_and_drain(now);
        self.update_probe_bw(now);
        self.update_probe_rtt(now);
        self.latest.advance(&self.sample);
        if self.bw() > Rate::ZERO {
            self.set_pacing_rate(self.state.pacing_gain());
        }
        self.set_window();
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.in_flight = loss.in_flight;
        let sent = self.packets.take(loss.pn);
        self.enter_recovery(loss.pn);
        let (now, pn, bytes) = (loss.now, loss.pn, loss.bytes);
        self.on_packet_lost(LostPacket { now, pn, bytes, sent });
    }

    fn on_dropped(&mut self, _now: Time) {
        self.on_purposeful_drop();
    }

    fn on_marked(&mut self, marked: &Marked) {
        self.on_packets_marked(marked);
    }

    /// Section 5.6.4.4, as after a retransmission timeout: a packet more than is in flight.
    fn on_persistent_congestion(&mut self, _now: Time) {
        self.save_window();
        self.enter_recovery(self.flight.recovery_point());
        self.window = self.in_flight as f64 + self.mss;
    }

    fn on_spurious_loss(&mut self, _now: Time) {
        self.undo_losses();
    }

    fn on_mtu(&mut self, _now: Time, bytes: u64) {
        self.mss = bytes.max(1) as f64;
    }

    fn window(&self) -> u64 {
        whole_bytes(self.window.max(self.mss))
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.pacing_rate
    }

    fn bandwidth(&self) -> Option<Rate> {
        Some(self.bw()).filter(|rate| *rate > Rate::ZERO)
    }

    fn has_filled_path(&self) -> bool {
        self.full_bandwidth.is_reached
    }

    fn takes_samples(&self) -> bool {
        true
    }

    fn follows_sending(&self) -> bool {
        true
    }

    fn name(&self) -> &'static str {
        "bbr3"
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}
