//! ABC, accel-brake control (Goyal et al., NSDI 2020): routers mark each packet, and a mark means one
//! packet more or one packet less in flight.
//!
//! The router's half is the queue `abc` of the emulated network. A brake is ECN-CE, an accelerate the
//! lack of it: the code points of the paper's section 5.1.2 for networks in which nothing else marks.
//! Equations, and what is left out: `docs/design/controllers.md`.

use airlane_base::Time;

use crate::controller::{Ack, Controller, Loss, Marked, Sent};
use crate::cubic::{Cubic, CubicConfig};
use crate::{INITIAL_WINDOW_PACKETS, whole_bytes};

/// Packets that a brake takes from the window: the one that it is to take, and the one that an
/// accelerate has added for its packet, since a mark is reported after the acknowledgement of its
/// packet.
const BRAKE_PACKETS: f64 = 2.0;

/// The window may be so many times what is in flight (section 5.1.1): it would grow without end where
/// it is not the limit.
const MAX_OVER_FLIGHT: f64 = 2.0;

/// ABC's sender.
///
/// It needs one report per packet: [`Marked::packets`] is then exact. A transport that tells less
/// leaves it too fast.
#[derive(Clone, Debug)]
pub struct Abc {
    /// In packets: w_abc of section 5.1.1.
    window: f64,
    mtu: u64,
    /// w_nonabc: what bottlenecks that mark nothing allow.
    other: Cubic,
}

impl Abc {
    /// A sender of packets of `mtu` bytes of UDP payload that begins at `now`.
    pub fn new(now: Time, mtu: u64) -> Self {
        // A queue under ABC holds some milliseconds at all times: a rise of the round trip is no sign
        // that a bottleneck without it is full.
        let config = CubicConfig { hystart: false, ..CubicConfig::default() };
        Self {
            window: INITIAL_WINDOW_PACKETS,
            mtu: mtu.max(1),
            other: Cubic::new(config, now, mtu),
        }
    }

    fn bytes(&self) -> u64 {
        whole_bytes((self.window * self.mtu as f64).round()).max(self.mtu)
    }
}

impl Controller for Abc {
    fn on_sent(&mut self, sent: &Sent) {
        self.other.on_sent(sent);
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.other.on_ack(ack);
        // Each packet is taken for an accelerate; `on_marked` follows for brakes. Equation 3: w + 1 + 1/w.
        let flight = (ack.in_flight + ack.bytes) as f64 / self.mtu as f64;
        if !ack.app_limited() && self.window < MAX_OVER_FLIGHT * flight {
            let part = ack.bytes as f64 / self.mtu as f64;
            self.window += part * (1.0 + 1.0 / self.window);
        }
    }

    fn on_ack_end(&mut self, now: Time, in_flight: u64) {
        self.other.on_ack_end(now, in_flight);
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.other.on_loss(loss);
    }

    fn on_marked(&mut self, marked: &Marked) {
        // Equation 3: w - 1 + 1/w in all.
        self.window = (self.window - BRAKE_PACKETS * marked.packets as f64).max(1.0);
    }

    fn on_persistent_congestion(&mut self, now: Time) {
        self.other.on_persistent_congestion(now);
    }

    fn on_spurious_loss(&mut self, now: Time) {
        self.other.on_spurious_loss(now);
    }

    fn on_mtu(&mut self, now: Time, bytes: u64) {
        let bytes = bytes.max(1);
        self.window = (self.window * self.mtu as f64 / bytes as f64).max(1.0);
        self.mtu = bytes;
        self.other.on_mtu(now, bytes);
    }

    fn window(&self) -> u64 {
        self.bytes().min(self.other.window())
    }

    fn name(&self) -> &'static str {
        "abc"
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::controller::{Limit, Rtt};

    const MTU: u64 = 1_350;

    fn acknowledge(abc: &mut Abc, pn: u64, brake: bool) {
        let now = Time::from_millis(10 * (pn + 1));
        let rtt = Duration::from_millis(60);
        let rtt = Rtt { latest: rtt, smoothed: rtt, min: rtt };
        let in_flight = abc.window().saturating_sub(MTU);
        let (sent_at, limit) = (now - rtt.latest.min(now - Time::ZERO), Limit::Window);
        abc.on_sent(&Sent { now: sent_at, pn, bytes: MTU, in_flight });
        abc.on_ack(&Ack { now, pn, bytes: MTU, sent_at, in_flight, limit, rtt, sample: None });
        abc.on_ack_end(now, in_flight);
        if brake {
            abc.on_marked(&Marked { now, pn, sent_at, in_flight, packets: 1 });
        }
    }

    #[test]
    fn a_round_of_accelerates_doubles_and_equal_parts_add_one_packet() {
        let mut abc = Abc::new(Time::ZERO, MTU);
        (0..10).for_each(|pn| acknowledge(&mut abc, pn, false));
        assert!((20.0..22.0).contains(&abc.window), "{}", abc.window);
        let before = abc.window;
        (10..10 + before as u64).for_each(|pn| acknowledge(&mut abc, pn, pn % 2 == 0));
        assert!((0.5..2.1).contains(&(abc.window - before)), "{before} {}", abc.window);
    }

    #[test]
    fn brakes_take_it_to_one_packet_and_no_further() {
        let mut abc = Abc::new(Time::ZERO, MTU);
        (0..100).for_each(|pn| acknowledge(&mut abc, pn, true));
        assert_eq!(abc.window(), MTU);
    }

    #[test]
    fn a_window_that_is_not_used_does_not_grow() {
        let mut abc = Abc::new(Time::ZERO, MTU);
        let rtt = Duration::from_millis(60);
        let rtt = Rtt { latest: rtt, smoothed: rtt, min: rtt };
        let (now, sent_at) = (Time::from_millis(60), Time::ZERO);
        for (limit, in_flight) in [(Limit::Application, 9 * MTU), (Limit::Window, 2 * MTU)] {
            let ack = Ack { now, pn: 0, bytes: MTU, sent_at, in_flight, limit, rtt, sample: None };
            abc.on_ack(&ack);
            assert_eq!(abc.window, INITIAL_WINDOW_PACKETS);
        }
    }
}
