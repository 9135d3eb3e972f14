//! The sending end without I/O.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use airlane_base::{Ecn, Time};
use airlane_congestion::{Acked, Counts, PathId, SendReadiness, SendState};
use airlane_messages::RttEstimate;
use parking_lot::Mutex;

use super::Config;
use super::wire::Body;

/// Packets acknowledged with a higher number for a packet to count as lost (RFC 9002, section
/// 6.1.1).
const PACKET_THRESHOLD: u64 = 3;
/// The only path.
const PATH: PathId = PathId(0);
/// The time-out for probes doubles at most so many times.
const MAX_DOUBLINGS: u32 = 6;

/// A packet in flight.
#[derive(Clone, Copy, Debug)]
struct InFlight {
    pn: u64,
    at: Time,
    acked: bool,
}

/// The sending end.
pub(super) struct Sender {
    state: SendState,
    rtt: RttEstimate,
    has_rtt: bool,
    body: Body,
    payload_bytes: u16,
    next: u64,
    /// In the order of their numbers, without a gap.
    flight: VecDeque<InFlight>,
    newest_acked: Option<u64>,
    /// Time at which the oldest packet in flight counts as lost, if nothing else happens.
    loss_at: Option<Time>,
    last_sent: Time,
    /// Probes since something came back.
    probes: u32,
    /// True if a probe is to leave.
    probe: bool,
    /// The window holds a packet.
    held: bool,
}

/// Next packet, or what holds it back.
#[derive(Debug)]
pub(super) enum Next {
    Packet(Vec<u8>),
    /// Until then.
    At(Time),
    /// Until something comes back.
    Held,
}

impl Sender {
    pub(super) fn new(now: Time, config: Config) -> Self {
        let Config { payload_bytes, controller, .. } = config;
        let mut state = SendState::new(now);
        state.open(now, PATH, controller, payload_bytes.into());
        Self {
            state,
            rtt: RttEstimate::default(),
            has_rtt: false,
            body: Body::new(),
            payload_bytes,
            next: 0,
            flight: VecDeque::new(),
            newest_acked: None,
            loss_at: None,
            last_sent: now,
            probes: 0,
            probe: false,
            held: false,
        }
    }

    /// The next packet, of a source that has one, or why there is none. `begins`: the first of a run.
    pub(super) fn next(&mut self, now: Time, begins: bool) -> Next {
        if begins {
            self.state.begin(PATH);
        }
        let is_probe = std::mem::take(&mut self.probe);
        match self.state.next(now, PATH, Some(self.payload_bytes.into())) {
            SendReadiness::Paced(at) if !is_probe => return Next::At(at),
            SendReadiness::Window | SendReadiness::NothingToSend if !is_probe => {
                self.held = true;
                return Next::Held;
            }
            _ => {}
        }
        self.held = false;
        let pn = self.next;
        self.next += 1;
        self.state.no_data_waits(now, PATH);
        self.state.on_sent(now, PATH, pn, self.payload_bytes);
        self.flight.push_back(InFlight { pn, at: now, acked: false });
        self.last_sent = now;
        Next::Packet(self.body.packet(pn, self.payload_bytes.into()))
    }

    /// The source has nothing now.
    pub(super) fn has_nothing(&mut self, now: Time) {
        self.held = false;
        self.state.next(now, PATH, None);
    }

    /// A packet was acknowledged.
    pub(super) fn acknowledge(&mut self, now: Time, pn: u64, marked: bool) {
        let Some(first) = self.flight.front().map(|packet| packet.pn) else { return };
        let Some(place) = pn.checked_sub(first).and_then(|i| usize::try_from(i).ok()) else {
            return;
        };
        let Some(packet) = self.flight.get_mut(place).filter(|packet| !packet.acked) else {
            return;
        };
        packet.acked = true;
        if self.newest_acked.is_none_or(|newest| newest < pn) {
            self.rtt.add(now - packet.at, Duration::ZERO);
            self.has_rtt = true;
            self.newest_acked = Some(pn);
        }
        self.probes = 0;
        let smoothed_rtt = self.rtt.smoothed();
        self.state.on_acked(now, PATH, &Acked { pn, smoothed_rtt });
        self.state.on_ack_end(now, PATH);
        self.detect(now);
        if marked {
            self.state.on_marked(now, PATH, 1);
        }
    }

    /// Declares lost what is.
    fn detect(&mut self, now: Time) {
        self.loss_at = None;
        let delay = self.rtt.loss_delay();
        let mut some = false;
        while let (Some(&oldest), Some(newest)) = (self.flight.front(), self.newest_acked) {
            if !oldest.acked {
                if oldest.pn > newest {
                    break;
                }
                if oldest.pn + PACKET_THRESHOLD > newest && oldest.at + delay > now {
                    self.loss_at = Some(oldest.at + delay);
                    break;
                }
                self.state.on_lost(now, PATH, oldest.pn);
                some = true;
            }
            self.flight.pop_front();
        }
        if some {
            self.state.on_losses_end(now, PATH, false);
        }
    }

    /// Does what time alone brings: detects losses, and asks for a probe where nothing comes back
    /// and the window holds what there is.
    pub(super) fn check(&mut self, now: Time) {
        if self.loss_at.is_some_and(|at| at <= now) {
            self.detect(now);
        }
        if self.probe_at().is_some_and(|at| at <= now) {
            self.probes += 1;
            self.probe = true;
        }
    }

    fn probe_at(&self) -> Option<Time> {
        let waits = self.held && self.loss_at.is_none() && !self.flight.is_empty();
        let period = self.rtt.probe_timeout() * 2_u32.pow(self.probes.min(MAX_DOUBLINGS));
        waits.then(|| self.last_sent + period)
    }

    /// Time at which to [`check`](Self::check).
    pub(super) fn due(&self) -> Time {
        self.loss_at.or_else(|| self.probe_at()).unwrap_or(Time::FAR_FUTURE)
    }
}

/// Counts and state of a sender.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// Counts, in bytes of UDP payload.
    pub counts: Counts,
    /// The window in bytes.
    pub window: u64,
    /// The smoothed round trip, once there is one.
    pub rtt: Option<Duration>,
}

/// A sender that can be looked at while it sends.
#[derive(Clone)]
pub struct Handle {
    pub(super) sender: Arc<Mutex<Sender>>,
    /// Code point of its packets.
    pub(super) ecn: Ecn,
}

impl Handle {
    /// A sender that begins at `now`.
    pub fn new(now: Time, config: Config) -> Self {
        let ecn = match (config.controller.is_scalable(), config.ecn) {
            (true, _) => Ecn::Ect1,
            (false, true) => Ecn::Ect0,
            (false, false) => Ecn::NotEct,
        };
        Self { sender: Arc::new(Mutex::new(Sender::new(now, config))), ecn }
    }

    pub(super) fn with<T>(&self, act: impl FnOnce(&mut Sender) -> T) -> T {
        act(&mut self.sender.lock())
    }

    /// Counts and state of the sender until `now`.
    pub fn sent(&self, now: Time) -> Sent {
        self.with(|sender| Sent {
            counts: sender.state.total(now),
            window: sender.state.window(PATH),
            rtt: sender.has_rtt.then(|| sender.rtt.smoothed()),
        })
    }
}

#[cfg(test)]
mod tests {
    use airlane_base::Seed;
    use airlane_congestion::{Algorithm, ControllerConfig};

    use super::*;

    fn sender() -> Sender {
        let controller = ControllerConfig::new(Algorithm::Reno).build(Time::ZERO, 1_472, Seed(1));
        Sender::new(Time::ZERO, Config { payload_bytes: 1_472, controller, ecn: true })
    }

    fn drain(sender: &mut Sender, now: Time) -> usize {
        (0..).take_while(|i| matches!(sender.next(now, *i == 0), Next::Packet(_))).count()
    }

    #[test]
    fn a_window_leaves_and_each_acknowledgement_lets_more_go() {
        let mut sender = sender();
        assert_eq!(drain(&mut sender, Time::ZERO), 10);
        let now = Time::from_millis(60);
        sender.acknowledge(now, 0, false);
        // Twice is once.
        sender.acknowledge(now, 0, true);
        let counts = sender.state.total(now);
        assert_eq!((counts.acked_packets, counts.mark_reports), (1, 0));
    }

    #[test]
    fn what_three_later_ones_overtook_is_lost_and_so_is_what_is_late() {
        let mut sender = sender();
        drain(&mut sender, Time::ZERO);
        let now = Time::from_millis(60);
        [1, 2, 3].into_iter().for_each(|pn| sender.acknowledge(now, pn, false));
        assert_eq!(sender.state.total(now).lost_packets, 1);
        sender.acknowledge(now, 5, false);
        let due = sender.due();
        assert!(due > now && due < Time::from_millis(120), "{due}");
        sender.check(due);
        assert_eq!(sender.state.total(due).lost_packets, 2);
    }

    #[test]
    fn where_nothing_comes_back_probes_leave_less_and_less_often() {
        let mut sender = sender();
        drain(&mut sender, Time::ZERO);
        let mut last = Time::ZERO;
        let mut gaps = Vec::new();
        for _ in 0..4 {
            let due = sender.due();
            sender.check(due);
            assert_eq!(drain(&mut sender, due), 1);
            gaps.push(due - last);
            last = due;
        }
        assert!(gaps.windows(2).all(|pair| pair[1] == 2 * pair[0]), "{gaps:?}");
    }

    #[test]
    fn acknowledgements_of_what_was_never_sent_change_nothing() {
        let mut sender = sender();
        drain(&mut sender, Time::ZERO);
        for pn in [10, u64::MAX] {
            sender.acknowledge(Time::from_millis(60), pn, true);
        }
        assert_eq!(sender.state.total(Time::from_millis(60)).acked_packets, 0);
    }
}
