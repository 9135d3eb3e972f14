//! Size of packets: what the path is known to carry (RFC 8899, Datagram Packetization Layer Path MTU
//! Discovery). Sizes are bytes of UDP payload.

use std::time::Duration;

use airlane_base::Time;

/// Probes of one size that must be lost for it to count as too large (`MAX_PROBES`).
const MAX_PROBES: u32 = 3;
/// A search ends when the sizes that pass and that fail are so close.
const PRECISION: u16 = 16;
/// Time until the next search when one has ended (`PMTU_RAISE_TIMER`).
const RAISE_INTERVAL: Duration = Duration::from_secs(600);
/// Time until the next search when packets of the size found have vanished.
const BLACK_HOLE_INTERVAL: Duration = Duration::from_secs(60);
/// Large packets lost in a row, while a smaller one arrived, that show a black hole.
const MAX_LOST: u32 = 4;
/// Large packets missing in a row for [`MISSING_TIMEOUT`], while a smaller one arrived, that show a
/// black hole although a queue may have dropped them on purpose.
const MAX_MISSING: u32 = 8;
const MISSING_TIMEOUT: Duration = Duration::from_secs(1);
/// Probe timeouts in a row after which packets are as small as at the beginning.
const MAX_TIMEOUTS: u32 = 3;

/// State of the search for the path's MTU.
#[derive(Debug)]
pub(crate) struct PathMtu {
    /// A size that every path carries (`BASE_PLPMTU`).
    base: u16,
    /// The largest size that is tried (`MAX_PLPMTU`); as `base`: none is.
    max: u16,
    current: u16,
    /// The smallest size that is known to fail, or that is not tried.
    failing: u16,
    probe: Option<Probe>,
    /// Probes lost of the size that is tried now.
    lost_probes: u32,
    /// Time of the next search; `None` during one.
    search_at: Option<Time>,
    missing: Option<Missing>,
}

/// A probe under way.
#[derive(Clone, Copy, Debug)]
struct Probe {
    pn: u64,
    bytes: u16,
    sent_at: Time,
}

/// Large packets that have gone missing since one arrived.
#[derive(Clone, Copy, Debug)]
struct Missing {
    since: Time,
    lost: u32,
    all: u32,
}

impl PathMtu {
    pub(crate) fn new(base: u16, max: Option<u16>) -> Self {
        let max = max.unwrap_or(base).max(base);
        Self {
            base,
            max,
            current: base,
            failing: max + 1,
            probe: None,
            lost_probes: 0,
            search_at: None,
            missing: None,
        }
    }

    /// The size of a full packet.
    pub(crate) fn current(&self) -> u16 {
        self.current
    }

    /// True if packets of this size may vanish where smaller ones pass.
    fn is_large(&self, bytes: u16) -> bool {
        bytes > self.base
    }

    /// The size of a probe that may leave now.
    pub(crate) fn next_probe(&mut self, now: Time) -> Option<u16> {
        if self.probe.is_some() {
            return None;
        }
        if let Some(at) = self.search_at {
            if now < at {
                return None;
            }
            (self.search_at, self.failing) = (None, self.max + 1);
        }
        let (passes, fails) = (self.current, self.failing);
        if fails <= passes + 1 || (fails <= self.max && fails - passes <= PRECISION) {
            self.search_at = Some(now + RAISE_INTERVAL);
            return None;
        }
        // Most paths carry the largest size: that is tried first.
        Some(if fails > self.max { self.max } else { passes + (fails - passes) / 2 })
    }

    /// A probe has left.
    pub(crate) fn probe_sent(&mut self, now: Time, pn: u64, bytes: u16) {
        self.probe = Some(Probe { pn, bytes, sent_at: now });
    }

    /// Packets were acknowledged, of which `newest` is the newest; `covers`: the acknowledgement has a
    /// number. Whether the size has changed.
    pub(crate) fn acknowledged(
        &mut self,
        now: Time,
        newest: u64,
        loss_delay: Duration,
        covers: impl Fn(u64) -> bool,
    ) -> bool {
        let Some(probe) = self.probe else { return false };
        if covers(probe.pn) {
            (self.probe, self.lost_probes) = (None, 0);
            self.current = self.current.max(probe.bytes);
            return true;
        }
        if newest > probe.pn && now.since(probe.sent_at) > loss_delay {
            self.probe_lost(probe.bytes, MAX_PROBES);
        }
        false
    }

    fn probe_lost(&mut self, bytes: u16, max_probes: u32) {
        self.probe = None;
        self.lost_probes += 1;
        if self.lost_probes >= max_probes {
            self.lost_probes = 0;
            self.failing = bytes.max(self.current + 1);
        }
    }

    /// A packet with data was acknowledged. Whether the size has changed.
    pub(crate) fn arrived(&mut self, now: Time, bytes: u16, sent_at: Time) -> bool {
        if self.is_large(bytes) {
            self.missing = None;
            return false;
        }
        let is_hole = self.missing.is_some_and(|missing| {
            let long = now.since(missing.since) >= MISSING_TIMEOUT;
            sent_at > missing.since
                && (missing.lost >= MAX_LOST || (missing.all >= MAX_MISSING && long))
        });
        is_hole && self.fall_back(now)
    }

    /// A packet with data is missing; `on_purpose`: a queue may have dropped its message.
    pub(crate) fn missing(&mut self, bytes: u16, sent_at: Time, on_purpose: bool) {
        if self.is_large(bytes) {
            let none = Missing { since: sent_at, lost: 0, all: 0 };
            let missing = self.missing.get_or_insert(none);
            missing.all += 1;
            missing.lost += u32::from(!on_purpose);
        }
    }

    /// Nothing was acknowledged for so many probe timeouts. Whether the size has changed.
    pub(crate) fn timed_out(&mut self, now: Time, timeouts: u32) -> bool {
        timeouts >= MAX_TIMEOUTS && self.fall_back(now)
    }

    /// The socket refuses packets of this size. Whether the size of packets has changed.
    pub(crate) fn refused(&mut self, now: Time, bytes: u16) -> bool {
        if let Some(probe) = self.probe.filter(|probe| probe.bytes == bytes) {
            self.lost_probes = 0;
            self.probe_lost(probe.bytes, 1);
            return false;
        }
        bytes <= self.current && self.fall_back(now)
    }

    fn fall_back(&mut self, now: Time) -> bool {
        let is_changed = self.current > self.base;
        if is_changed {
            self.current = self.base;
            self.search_at = Some(now + BLACK_HOLE_INTERVAL);
            (self.probe, self.lost_probes) = (None, 0);
        }
        self.missing = None;
        is_changed
    }

    /// The path is another one.
    pub(crate) fn restart(&mut self) {
        let max = (self.max > self.base).then_some(self.max);
        *self = Self::new(self.base, max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DELAY: Duration = Duration::from_millis(20);

    fn at(ms: u64) -> Time {
        Time::from_millis(ms)
    }

    /// Searches on a path that carries `carries`; probes sent until there is no further one.
    fn search(mtu: &mut PathMtu, carries: u16, from: u64) -> u32 {
        let mut probes = 0;
        while let Some(bytes) = mtu.next_probe(at(from)) {
            let pn = u64::from(probes) * 10;
            mtu.probe_sent(at(from), pn, bytes);
            probes += 1;
            mtu.acknowledged(at(from + 100), pn + 5, DELAY, |n| n == pn && bytes <= carries);
            assert!(probes < 40, "{mtu:?}");
        }
        probes
    }

    #[test]
    fn a_search_finds_what_the_path_carries() {
        for carries in [1200, 1232, 1300, 1400, 1452, 1500] {
            let mut mtu = PathMtu::new(1200, Some(1452));
            let probes = search(&mut mtu, carries, 0);
            let found = mtu.current();
            assert!(
                found <= carries && found + PRECISION >= carries.min(1452),
                "{carries} {found}"
            );
            assert!(probes <= 16, "{probes}");
            // Not again before the interval is over.
            assert_eq!(mtu.next_probe(at(599_000)), None);
        }
        let mut fixed = PathMtu::new(1350, None);
        assert_eq!((fixed.next_probe(at(0)), fixed.current()), (None, 1350));
    }

    #[test]
    fn a_path_that_carries_more_later_is_found() {
        let mut mtu = PathMtu::new(1200, Some(1452));
        search(&mut mtu, 1300, 0);
        assert!(mtu.current() <= 1300);
        search(&mut mtu, 1452, 700_000);
        assert_eq!(mtu.current(), 1452);
    }

    #[test]
    fn large_packets_that_vanish_where_small_ones_pass_are_a_black_hole() {
        let mut mtu = PathMtu::new(1200, Some(1452));
        search(&mut mtu, 1452, 0);
        for ms in 1_000..1_003 {
            mtu.missing(1452, at(ms), false);
        }
        assert!(!mtu.arrived(at(1_100), 300, at(1_050)));
        mtu.missing(1452, at(1_003), false);
        // One that left before the first that is missing shows nothing.
        assert!(!mtu.arrived(at(1_100), 300, at(990)));
        assert!(mtu.arrived(at(1_100), 300, at(1_050)));
        assert_eq!((mtu.current(), mtu.next_probe(at(2_000))), (1200, None));
        assert_eq!(mtu.next_probe(at(62_000)), Some(1452));
    }

    #[test]
    fn messages_that_queues_drop_are_no_black_hole_while_large_packets_arrive() {
        let mut mtu = PathMtu::new(1200, Some(1452));
        search(&mut mtu, 1452, 0);
        for ms in 1_000..3_000 {
            mtu.missing(1452, at(ms), true);
            if ms % 50 == 0 {
                mtu.arrived(at(ms), 1452, at(ms - 20));
            }
            assert!(!mtu.arrived(at(ms), 300, at(ms - 20)));
        }
        assert!((3_000..5_000).any(|ms| {
            mtu.missing(1452, at(ms), true);
            mtu.arrived(at(ms), 300, at(ms))
        }));
    }

    #[test]
    fn silence_and_refusals_make_packets_small() {
        for hole in
            [(|mtu: &mut PathMtu| mtu.timed_out(at(9), 3)) as fn(&mut PathMtu) -> bool, |mtu| {
                mtu.refused(at(9), 1452)
            }]
        {
            let mut mtu = PathMtu::new(1200, Some(1452));
            search(&mut mtu, 1452, 0);
            assert!(!mtu.timed_out(at(9), 2));
            assert!(hole(&mut mtu) && mtu.current() == 1200);
        }
        // The socket does not take the probe: once is enough.
        let mut mtu = PathMtu::new(1200, Some(1452));
        let first = mtu.next_probe(at(0)).unwrap();
        mtu.probe_sent(at(0), 1, first);
        assert!(!mtu.refused(at(0), first));
        assert!(mtu.next_probe(at(0)).is_some_and(|next| next < first));
    }
}
