//! Delivery-rate samples after draft-cheng-iccrg-delivery-rate-estimation-02.

use std::collections::VecDeque;
use std::time::Duration;

use airlane_base::{Rate, Time};

use crate::controller::RateSample;

/// Numbers kept at most between the oldest packet in flight and the newest. Transports skip a
/// number now and then, never this many: a jump past it starts the table anew.
const MAX_SPAN: u64 = 1 << 20;

/// State that is kept of a packet in flight (section 3.2, `P.`).
#[derive(Clone, Copy, Debug)]
struct Packet {
    delivered: u64,
    delivered_time: Time,
    first_sent_time: Time,
    sent_time: Time,
    app_limited: bool,
}

/// Estimates the delivery rate of one connection.
///
/// The transport calls [`on_sent`](Self::on_sent) for each packet,
/// [`on_app_limited`](Self::on_app_limited) when the application has nothing more to send while
/// window and pacer would let it, [`on_ack`](Self::on_ack) for each packet newly acknowledged, in
/// any order, and [`on_loss`](Self::on_loss) for each lost. Packet numbers come from one space:
/// start after the handshake, or have one sampler per space.
#[derive(Clone, Debug, Default)]
pub struct RateSampler {
    /// Bytes delivered so far (`C.delivered`) and when the count last rose.
    delivered: u64,
    delivered_time: Time,
    /// Send time of the packet acknowledged last (`C.first_sent_time`).
    first_sent_time: Time,
    /// Samples are application-limited until `delivered` passes this (`C.app_limited`).
    app_limited_until: Option<u64>,
    /// Packets in flight by number, from `base` on; a hole is acknowledged, lost or was skipped.
    packets: VecDeque<Option<Packet>>,
    base: u64,
}

impl RateSampler {
    /// A sampler that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// A packet of `bytes` leaves; `in_flight` counts the bytes in flight with this packet.
    /// Numbers rise; skipping some is fine.
    pub fn on_sent(&mut self, now: Time, pn: u64, bytes: u64, in_flight: u64) {
        // Section 3.2: after idle the intervals start anew.
        if in_flight <= bytes || self.packets.is_empty() && self.delivered == 0 {
            self.first_sent_time = now;
            self.delivered_time = now;
        }
        let next = self.base.saturating_add(self.packets.len() as u64);
        if self.packets.is_empty() {
            self.base = pn;
        } else if pn < next {
            return; // Not a new number: nothing that a sample could be taken from.
        } else if pn - self.base >= MAX_SPAN {
            self.packets.clear();
            self.base = pn;
        } else {
            self.packets.resize((pn - self.base) as usize, None);
        }
        self.packets.push_back(Some(Packet {
            delivered: self.delivered,
            delivered_time: self.delivered_time,
            first_sent_time: self.first_sent_time,
            sent_time: now,
            app_limited: self.app_limited_until.is_some(),
        }));
    }

    /// Forgets what is in flight, which will neither be acknowledged nor lost. What was delivered
    /// still counts, so that a controller that counts rounds by it goes on.
    pub fn forget_flight(&mut self) {
        self.packets.clear();
        self.app_limited_until = None;
    }

    /// The application ran dry with `in_flight` bytes in flight (section 3.4): what is sent until
    /// these are delivered measures the application.
    pub fn on_app_limited(&mut self, in_flight: u64) {
        self.app_limited_until = Some(self.delivered.saturating_add(in_flight));
    }

    /// A packet was acknowledged (section 3.3). `min_rtt` guards against samples that are shorter
    /// than a round trip can be: they give `None`, as do numbers that are not in flight.
    pub fn on_ack(
        &mut self,
        now: Time,
        pn: u64,
        bytes: u64,
        min_rtt: Duration,
    ) -> Option<RateSample> {
        let packet = self.take(pn)?;
        self.delivered = self.delivered.saturating_add(bytes);
        self.delivered_time = now;
        if self.app_limited_until.is_some_and(|until| self.delivered > until) {
            self.app_limited_until = None;
        }
        // Acknowledgements of one batch come in any order: only forward in sending time.
        self.first_sent_time = self.first_sent_time.max(packet.sent_time);

        let send_elapsed = packet.sent_time - packet.first_sent_time;
        let ack_elapsed = now - packet.delivered_time;
        let interval = send_elapsed.max(ack_elapsed);
        if interval.is_zero() || interval < min_rtt {
            return None;
        }
        Some(RateSample {
            rate: Rate::of(self.delivered - packet.delivered, interval),
            prior_delivered: packet.delivered,
            delivered: self.delivered,
            app_limited: packet.app_limited,
        })
    }

    /// A packet was lost: it gives no sample.
    pub fn on_loss(&mut self, pn: u64) {
        self.take(pn);
    }

    fn take(&mut self, pn: u64) -> Option<Packet> {
        let index = usize::try_from(pn.checked_sub(self.base)?).ok()?;
        let packet = self.packets.get_mut(index)?.take();
        while let Some(None) = self.packets.front() {
            self.packets.pop_front();
            self.base += 1;
        }
        packet
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: u64 = 1250;

    fn ms(v: u64) -> Time {
        Time::from_millis(v)
    }

    #[test]
    fn a_steady_flow_measures_its_rate() {
        // A packet of 1250 bytes each millisecond is 10 Mbit/s; 20 ms round trip.
        let mut s = RateSampler::new();
        let mut rates = Vec::new();
        for t in 0..100u64 {
            if let Some(pn) = t.checked_sub(20) {
                rates.extend(s.on_ack(ms(t), pn, BYTES, Duration::from_millis(20)));
            }
            s.on_sent(ms(t), t, BYTES, BYTES * (t.min(20) + 1));
        }
        let last = rates.last().expect("samples");
        assert!((last.rate.mbps() - 10.0).abs() < 0.6, "{last:?}");
        assert!(!last.app_limited);
        assert_eq!(last.delivered, 80 * BYTES);
    }

    #[test]
    fn compressed_acknowledgements_do_not_inflate_it() {
        // Ten packets leave over 9 ms and are acknowledged at one instant: the sending interval
        // bounds the sample.
        let mut s = RateSampler::new();
        s.on_sent(ms(0), 0, BYTES, BYTES);
        let first = s.on_ack(ms(20), 0, BYTES, Duration::ZERO).expect("a sample");
        assert_eq!(first.rate, Rate::of(BYTES, Duration::from_millis(20)));
        for i in 1..=10 {
            s.on_sent(ms(20 + i), i, BYTES, BYTES * i);
        }
        let best = (1..=10)
            .filter_map(|pn| s.on_ack(ms(52), pn, BYTES, Duration::ZERO))
            .map(|r| r.rate)
            .max()
            .expect("samples");
        assert!(best <= Rate::of(10 * BYTES, Duration::from_millis(9)), "{best}");
    }

    #[test]
    fn what_the_application_limited_is_marked_until_it_is_delivered() {
        let mut s = RateSampler::new();
        s.on_sent(ms(0), 0, BYTES, BYTES);
        s.on_app_limited(BYTES);
        s.on_sent(ms(5), 1, BYTES, 2 * BYTES);
        assert!(!s.on_ack(ms(20), 0, BYTES, Duration::ZERO).expect("a sample").app_limited);
        s.on_sent(ms(21), 2, BYTES, 2 * BYTES);
        assert!(s.on_ack(ms(25), 1, BYTES, Duration::ZERO).expect("a sample").app_limited);
        s.on_sent(ms(26), 3, BYTES, 2 * BYTES);
        assert!(s.on_ack(ms(41), 2, BYTES, Duration::ZERO).expect("a sample").app_limited);
        assert!(!s.on_ack(ms(46), 3, BYTES, Duration::ZERO).expect("a sample").app_limited);
    }

    #[test]
    fn holes_losses_repeats_and_jumps_are_borne() {
        let mut s = RateSampler::new();
        s.on_sent(ms(0), 5, BYTES, BYTES);
        s.on_sent(ms(1), 9, BYTES, 2 * BYTES);
        s.on_loss(5);
        assert!(s.on_ack(ms(20), 7, BYTES, Duration::ZERO).is_none());
        assert!(s.on_ack(ms(20), 9, BYTES, Duration::ZERO).is_some());
        assert!(s.on_ack(ms(20), 9, BYTES, Duration::ZERO).is_none());
        s.on_sent(ms(21), 10, BYTES, BYTES);
        s.on_sent(ms(21), 9, BYTES, BYTES);
        s.on_sent(ms(22), u64::MAX - 1, BYTES, 2 * BYTES);
        assert!(s.on_ack(ms(30), 10, BYTES, Duration::ZERO).is_none());
        assert!(s.on_ack(ms(30), u64::MAX - 1, BYTES, Duration::ZERO).is_some());
    }
}
