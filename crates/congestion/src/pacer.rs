//! Spreads packets over time at the rate that a controller asks for.

use std::time::Duration;

use airlane_base::{Rate, Time};

/// Packets that may leave at once after a pause. With more, flows whose acknowledgements come
/// seldom send longer bursts the larger their windows are, and droptail queues punish those
/// (`docs/design/controllers.md` has the variation); with fewer, heavy flows get more than their
/// weight.
pub const BURST_PACKETS: f64 = 5.0;

/// Maximum lateness of a timer that is made up for: a timer of whole milliseconds would otherwise
/// hold a fast flow below its rate.
const LATENESS: Duration = Duration::from_millis(10);

/// A pacer: a leaky bucket as a meter (the virtual scheduling algorithm of ITU-T I.371, annex A),
/// which keeps one time and the rate.
///
/// The sender looks, in turns, at what it may send: [`begin`](Self::begin), then per packet that
/// data and window allow either [`hold`](Self::hold), if [`release`](Self::release) lies ahead,
/// or [`on_sent`](Self::on_sent). A turn that ends with a packet held has to be followed by
/// another at that time.
#[derive(Clone, Copy, Debug)]
pub struct Pacer {
    /// Nanoseconds per byte; none: not paced.
    cost: Option<f64>,
    /// Time at which the next packet may leave.
    release: Time,
    /// A packet waits for it, and the window would let it go.
    held: bool,
    /// One did when this turn began.
    late: bool,
    /// Maximum credit that a pause earns at this rate: all of a burst but one packet.
    credit: Duration,
    burst_packets: f64,
    mtu: u64,
}

impl Pacer {
    /// A pacer that does not hold anything before it is told a rate, for packets of `mtu` bytes of
    /// UDP payload.
    pub fn new(mtu: u64) -> Self {
        Self {
            cost: None,
            release: Time::ZERO,
            held: false,
            late: false,
            credit: Duration::ZERO,
            burst_packets: BURST_PACKETS,
            mtu,
        }
    }

    /// The same with another number of packets that may leave at once after a pause.
    #[must_use]
    pub fn with_burst(self, packets: f64) -> Self {
        let mut pacer = Self { burst_packets: packets.max(1.0), ..self };
        pacer.set_credit();
        pacer
    }

    /// The largest packet changed.
    pub fn set_mtu(&mut self, mtu: u64) {
        self.mtu = mtu;
        self.set_credit();
    }

    fn set_credit(&mut self) {
        let burst = |cost| nanos((self.burst_packets - 1.0) * self.mtu as f64 * cost);
        self.credit = self.cost.map_or(Duration::ZERO, burst);
    }

    /// The controller asks for `rate`, or not to be paced. What was sent before is paid off at the
    /// new rate.
    pub fn set_rate(&mut self, now: Time, rate: Option<Rate>) {
        let cost = rate.map(|r| 8e9 / r.as_f64().max(1.0));
        if cost == self.cost {
            return;
        }
        if let (Some(new), Some(old)) = (cost, self.cost)
            && self.release > now
        {
            self.release = now + nanos((self.release - now).as_nanos() as f64 * new / old);
        }
        self.cost = cost;
        self.set_credit();
    }

    /// The sender begins to look at what it may send.
    pub fn begin(&mut self) {
        self.late = std::mem::take(&mut self.held);
    }

    /// A packet of `bytes` leaves.
    pub fn on_sent(&mut self, now: Time, bytes: u64) {
        let Some(cost) = self.cost else { return };
        let credit = if self.late { self.credit.max(LATENESS) } else { self.credit };
        self.release = self.release.max(now - credit) + nanos(bytes as f64 * cost);
    }

    /// The next packet leaves at this time or later.
    pub fn release(&self) -> Time {
        if self.cost.is_some() { self.release } else { Time::ZERO }
    }

    /// True if so many full packets may leave by `now`.
    pub fn has_earned(&self, now: Time, packets: usize) -> bool {
        let ahead = packets.saturating_sub(1) as f64 * self.mtu as f64;
        self.cost.is_none_or(|cost| self.release + nanos(ahead * cost) <= now)
    }

    /// True if a packet waits for the pacer now.
    pub fn holds(&self) -> bool {
        self.held
    }

    /// True if one does, or did when this turn began.
    pub fn held(&self) -> bool {
        self.held || self.late
    }

    /// A packet waits until [`release`](Self::release), and nothing else holds it. It is woken for
    /// alone: to wait until several may leave makes fast flows burstier than slow ones, and timers
    /// that are late send several anyway.
    pub fn hold(&mut self) {
        self.held = true;
    }
}

/// Rounded up, so that what is earned by then is enough.
fn nanos(ns: f64) -> Duration {
    Duration::from_nanos(ns.ceil() as u64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MTU: u64 = 1250;

    /// 1 ms per packet.
    fn pacer() -> Pacer {
        let mut p = Pacer::new(MTU);
        p.set_rate(Time::ZERO, Some(Rate::from_mbps(10.0)));
        p
    }

    /// Sends what may leave now; how much that was.
    fn turn(p: &mut Pacer, now: Time, most: usize) -> usize {
        p.begin();
        for n in 0..most {
            if p.release() > now {
                p.hold();
                return n;
            }
            p.on_sent(now, MTU);
        }
        most
    }

    #[test]
    fn without_a_rate_nothing_is_held() {
        assert_eq!(turn(&mut Pacer::new(MTU), Time::ZERO, 1000), 1000);
    }

    #[test]
    fn a_burst_leaves_after_a_pause_and_then_as_many_as_the_rate_allows() {
        let mut p = pacer();
        let start = Time::from_millis(500);
        assert_eq!(turn(&mut p, start, 10), 5);
        assert_eq!(p.release(), start + Duration::from_millis(1));
        assert_eq!(turn(&mut p, start + Duration::from_millis(1), 10), 1);
    }

    #[test]
    fn what_is_earned_while_a_turn_lasts_is_let_go() {
        let mut p = pacer();
        let at = |ms: u64| Time::from_millis(500 + ms);
        assert_eq!(turn(&mut p, at(0), 100), 5);
        // One packet per millisecond: the sixth at 1 ms, the tenth at 5.
        assert!(p.has_earned(at(1), 1));
        assert!(!p.has_earned(at(4), 5));
        assert!(p.has_earned(at(5), 5));
        assert_eq!(turn(&mut p, at(5), 100), 5);
        // A turn that is cut short loses nothing either: what follows is late.
        assert_eq!(turn(&mut p, at(15), 1), 1);
        p.hold();
        assert_eq!(turn(&mut p, at(15), 100), 9);
    }

    #[test]
    fn a_late_timer_costs_nothing_and_a_pause_leaves_no_credit() {
        let mut p = pacer();
        let start = Time::from_millis(500);
        turn(&mut p, start, 10);
        // Five milliseconds late: what could not leave meanwhile leaves now.
        assert_eq!(turn(&mut p, start + Duration::from_millis(6), 100), 6);
        // But a window that opens late is no reason for a burst.
        let mut p = pacer();
        assert_eq!(turn(&mut p, start, 1), 1);
        assert_eq!(turn(&mut p, start + Duration::from_millis(6), 100), 5);
    }

    #[test]
    fn a_new_rate_holds_for_what_already_waits() {
        let mut p = pacer();
        let now = Time::from_millis(500);
        assert_eq!(turn(&mut p, now, 10), 5);
        p.set_rate(now, Some(Rate::from_mbps(100.0)));
        assert_eq!(p.release(), now + Duration::from_micros(100));
        p.set_rate(now, None);
        assert_eq!(p.release(), Time::ZERO);
    }

    proptest! {
        /// Whenever the sender looks, it never gets ahead of the rate by more than the burst and
        /// what lateness may make up for, and one that always has data keeps up with it.
        #[test]
        fn keeps_the_rate(steps in prop::collection::vec(1u64..3_000, 1..300)) {
            let mut p = pacer();
            let (mut now, mut sent) = (Time::from_millis(20), 0);
            let start = now;
            sent += turn(&mut p, now, usize::MAX);
            for us in steps {
                now += Duration::from_micros(us);
                sent += turn(&mut p, now, usize::MAX);
                let due = (now - start).as_secs_f64() * 1000.0;
                prop_assert!((sent as f64) <= due + BURST_PACKETS + 1e-3, "{sent} of {due}");
                prop_assert!((sent as f64) >= due - 1e-3, "{sent} of {due}");
            }
        }
    }
}
