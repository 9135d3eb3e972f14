//! How fast a queue is served, how fast its streams arrive, and what of the one is fair to each of
//! the others.

use std::time::Duration;

use airlane_base::Time;

/// The span over which the service of a queue is measured (section 5), nanoseconds as all that is kept
/// for every packet: a [`Duration`] is two numbers.
const SERVICE_WINDOW: u64 = 50_000_000;
/// Packets at least that have to have left (the authors' code).
const SERVICE_PACKETS: u64 = 5;
/// Marks of the window: one more begins when the newest is a 48th of the window old, so that it
/// holds the window, or the last 64 packets of a slow link.
const MARKS: usize = 64;
const MARK_APART: u64 = SERVICE_WINDOW / 48;

/// Meter of the rate at which a queue is served while packets wait: the rate at which they leave,
/// over [`SERVICE_WINDOW`] or the time of [`SERVICE_PACKETS`], whichever is longer. Time in which
/// nothing waits does not count; after more than a window of it all is forgotten.
#[derive(Clone, Debug)]
pub(crate) struct Service {
    marks: [DepartureTotals; MARKS],
    begin: usize,
    len: usize,
    /// [`DepartureTotals::waited`] when another begins.
    next_mark: u64,
    /// Totals of what left while packets waited.
    served: DepartureTotals,
    /// Totals before the last departure: what leaves at one moment does so in the time that
    /// follows.
    before: DepartureTotals,
    /// Time at which a packet left last, and number of those that have since packets last began to
    /// wait.
    last: Time,
    packets_since_idle: u64,
}

/// Totals of departures, as of a time for which packets have waited.
#[derive(Clone, Copy, Debug, Default)]
struct DepartureTotals {
    /// Nanoseconds.
    waited: u64,
    bytes: u64,
    packets: u64,
}

impl Default for Service {
    fn default() -> Self {
        Self {
            marks: [DepartureTotals::default(); MARKS],
            begin: 0,
            len: 0,
            next_mark: 0,
            served: DepartureTotals::default(),
            before: DepartureTotals::default(),
            last: Time::ZERO,
            packets_since_idle: 0,
        }
    }
}

impl Service {
    /// A packet left. Where none waits behind it, [`Self::last_leaves`].
    // Inlined it would take registers from packets that come alone.
    #[inline(never)]
    pub(crate) fn leaves(&mut self, now: Time, bytes: u32) {
        if self.packets_since_idle > 0 {
            self.served.waited += nanos_since(now, self.last);
        } else {
            self.ends_silence(now);
        }
        if self.packets_since_idle == 0 || self.last < now {
            self.before = self.served;
        }
        self.last = now;
        if self.served.waited >= self.next_mark {
            self.set_mark();
        }
        self.served.bytes += u64::from(bytes);
        self.served.packets += 1;
        self.packets_since_idle += 1;
    }

    /// A packet left, and nothing waits any more: as [`Self::leaves`] and then [`Self::idle`].
    #[inline]
    pub(crate) fn last_leaves(&mut self, now: Time, bytes: u32) {
        if self.packets_since_idle == 0 {
            // It came alone, as most do on a link that is not full: of what it would add to what was
            // served, `idle` would leave nothing.
            self.ends_silence(now);
            self.last = now;
        } else {
            self.leaves(now, bytes);
            self.idle();
        }
    }

    /// The first packet since nothing waited is about to leave.
    #[inline]
    fn ends_silence(&mut self, now: Time) {
        if nanos_since(now, self.last) > SERVICE_WINDOW {
            self.forget();
        }
    }

    #[cold]
    fn forget(&mut self) {
        *self = Self::default();
    }

    #[cold]
    fn set_mark(&mut self) {
        if self.len == MARKS {
            self.forget_oldest();
        }
        let place = (self.begin + self.len) % MARKS;
        self.marks[place] = self.served;
        self.len += 1;
        self.next_mark = self.served.waited + MARK_APART;
    }

    /// Nothing waits any more: how fast it would be served is not known.
    #[inline]
    pub(crate) fn idle(&mut self) {
        if self.packets_since_idle > 0 {
            // Nobody waited for what left last to have left.
            self.served = self.before;
            self.packets_since_idle = 0;
        }
    }

    /// The rate, bits/s; `None` until it is known.
    pub(crate) fn bps(&mut self, now: Time) -> Option<f64> {
        if self.packets_since_idle < SERVICE_PACKETS {
            return None;
        }
        let waited = self.served.waited + nanos_since(now, self.last);
        // The oldest mark that counts: of the window, or older if too few left since then.
        while self.len > 1
            && waited - self.mark(0).waited > SERVICE_WINDOW
            && self.served.packets - self.mark(1).packets >= SERVICE_PACKETS
        {
            self.forget_oldest();
        }
        let from = self.mark(0);
        let elapsed = waited - from.waited;
        if self.served.packets - from.packets < SERVICE_PACKETS || elapsed == 0 {
            return None;
        }
        let served = if self.last < now { self.served } else { self.before };
        let elapsed = Duration::from_nanos(elapsed).as_secs_f64();
        Some((served.bytes - from.bytes) as f64 * 8.0 / elapsed)
    }

    fn mark(&self, index: usize) -> DepartureTotals {
        self.marks[(self.begin + index) % MARKS]
    }

    fn forget_oldest(&mut self) {
        self.begin = (self.begin + 1) % MARKS;
        self.len -= 1;
    }
}

#[inline]
fn nanos_since(now: Time, earlier: Time) -> u64 {
    now.as_nanos().saturating_sub(earlier.as_nanos())
}

/// Spans in which arrivals of a stream are counted, and how many of them are remembered: several
/// frames of a video.
const SPAN: Duration = Duration::from_millis(25);
const SPANS: usize = 8;

/// Meter of the rate at which a stream arrives.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Arrivals {
    bytes: [u64; SPANS],
    /// The number of the newest span, and of the one in which the stream began.
    newest: u64,
    began: u64,
}

impl Arrivals {
    /// So long after its last packet a stream is not one of those that share a queue.
    pub(crate) const MEMORY: Duration = Duration::from_nanos(SPAN.as_nanos() as u64 * SPANS as u64);

    pub(crate) fn new(now: Time) -> Self {
        let span = span(now);
        Self { newest: span, began: span, ..Self::default() }
    }

    #[inline]
    pub(crate) fn arrives(&mut self, now: Time, bytes: u32) {
        self.turn_to(span(now));
        self.bytes[(self.newest % SPANS as u64) as usize] += u64::from(bytes);
    }

    /// The rate, bits/s.
    fn bps(&mut self, now: Time) -> f64 {
        self.turn_to(span(now));
        let bytes: u64 = self.bytes.iter().sum();
        let oldest = self.began.max((self.newest + 1).saturating_sub(SPANS as u64));
        let from = Time::from_nanos(oldest * SPAN.as_nanos() as u64);
        let elapsed = now.since(from).max(SPAN);
        bytes as f64 * 8.0 / elapsed.as_secs_f64()
    }

    #[inline]
    fn turn_to(&mut self, now: u64) {
        if now > self.newest {
            self.go_on_to(now);
        }
    }

    #[cold]
    fn go_on_to(&mut self, now: u64) {
        for span in (self.newest + 1..=now).take(SPANS) {
            self.bytes[(span % SPANS as u64) as usize] = 0;
        }
        self.newest = now;
    }
}

#[inline]
fn span(now: Time) -> u64 {
    now.as_nanos() / SPAN.as_nanos() as u64
}

/// Minimum interval between two computations of the shares, nanoseconds.
const REFRESH: u64 = 3_000_000;

/// Shares of a queue's rate that its streams may have: max-min fair, by their arrival rates.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shares {
    /// Arrival rates in ascending order, bits/s, and the sum of those before each.
    demands: Vec<(f64, f64)>,
    at: Option<Time>,
    /// Number of computations so far.
    times: u64,
}

impl Shares {
    /// Room for so many streams.
    pub(crate) fn new(streams: usize) -> Self {
        Self { demands: Vec::with_capacity(streams), at: None, times: 0 }
    }

    /// True if the shares are older than they may be.
    #[inline]
    pub(crate) fn is_due(&self, now: Time) -> bool {
        // With thousands of streams sorting them takes longer.
        let apart = REFRESH.max(1_000 * self.demands.len() as u64);
        self.at.is_none_or(|at| nanos_since(now, at) >= apart)
    }

    /// Begins anew at `now`: [`Self::add`] every stream, then [`Self::done`].
    pub(crate) fn begin(&mut self, now: Time) {
        self.at = Some(now);
        self.times += 1;
        self.demands.clear();
    }

    /// Number of computations begun so far.
    pub(crate) fn times(&self) -> u64 {
        self.times
    }

    /// A stream; what it asks for, bits/s.
    pub(crate) fn add(&mut self, now: Time, arrivals: &mut Arrivals) -> f64 {
        let demand = arrivals.bps(now);
        self.demands.push((demand, 0.0));
        demand
    }

    /// All streams are there.
    pub(crate) fn done(&mut self) {
        self.demands.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let mut sum = 0.0;
        for (demand, before) in &mut self.demands {
            *before = sum;
            sum += *demand;
        }
    }

    /// The share of a stream of a queue that is served at `bps`, as if it always had something to
    /// send: one that asks for less than its share could have that. `own` is what it asks for,
    /// `None` if it came after the last of these computations.
    pub(crate) fn of(&self, own: Option<f64>, bps: f64) -> f64 {
        let n = self.demands.len();
        // Of the `k` that ask for least, how much the others than this one take together, and how
        // many others take as much as this one.
        let split = |k: usize, own_is_among: bool| match own {
            None => (self.before(k), n - k),
            Some(own) if own_is_among => (self.before(k) - own, n - k),
            Some(_) => (self.before(k), n - k - 1),
        };
        let (mut low, mut high) = (0, n);
        while low < high {
            let middle = usize::midpoint(low, high);
            let level = self.demands[middle].0;
            let (satisfied, others) = split(middle, own.is_some_and(|own| own < level));
            let taken = satisfied + (others + 1) as f64 * level;
            if taken < bps { low = middle + 1 } else { high = middle }
        }
        let is_among = own.is_some_and(|own| low > 0 && own <= self.demands[low - 1].0);
        let (satisfied, others) = split(low, is_among);
        ((bps - satisfied) / (others + 1) as f64).max(0.0)
    }

    /// Sum of the demands of the `k` streams that ask for least.
    fn before(&self, k: usize) -> f64 {
        match self.demands.get(k) {
            Some((_, before)) => *before,
            None => self.demands.last().map_or(0.0, |(demand, before)| demand + before),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: f64) -> Time {
        Time::from_secs_f64(ms / 1e3)
    }

    #[test]
    fn service_is_known_after_five_packets_from_a_queue_that_waits() {
        let mut service = Service::default();
        for i in 0..5 {
            assert_eq!(service.bps(at(f64::from(i))), None);
            service.leaves(at(f64::from(i)), 1500);
        }
        // 12 kbit per millisecond.
        let bps = service.bps(at(5.0)).unwrap();
        assert!((bps - 12e6).abs() < 1.0, "{bps}");
        service.idle();
        assert_eq!(service.bps(at(6.0)), None);
    }

    #[test]
    fn service_forgets_what_is_older_than_its_window() {
        let mut service = Service::default();
        let mut ms = 0.0;
        while ms < 200.0 {
            service.leaves(at(ms), 1250);
            ms += 1.0;
        }
        assert!((service.bps(at(200.0)).unwrap() / 10e6 - 1.0).abs() < 0.03);
        // Ten times slower from here on.
        while ms < 300.0 {
            service.leaves(at(ms), 1250);
            ms += 10.0;
        }
        assert!((service.bps(at(300.0)).unwrap() / 1e6 - 1.0).abs() < 0.05);
    }

    #[test]
    fn time_in_which_nothing_waits_does_not_count() {
        // Six packets, one per millisecond, then ten milliseconds of nothing; three times.
        let mut service = Service::default();
        for begin in [0.0, 15.0, 30.0] {
            for i in 0..6 {
                let now = at(begin + f64::from(i));
                assert_eq!(service.bps(now).is_some(), i == 5, "{begin} {i}");
                if let Some(bps) = service.bps(now) {
                    assert!((bps - 12e6).abs() < 1.0, "{bps}");
                }
                service.leaves(now, 1500);
            }
            service.idle();
        }
        // Slower now, of which five packets cannot tell alone: 15 ms at 12 Mbit/s, 20 ms at 3.
        for i in 0..6 {
            let now = at(50.0 + 4.0 * f64::from(i));
            if i == 5 {
                let bps = service.bps(now).unwrap();
                assert!((bps - (15.0 * 12e6 + 20.0 * 3e6) / 35.0).abs() < 1.0, "{bps}");
            }
            service.leaves(now, 1500);
        }
        service.idle();
        // After a window of nothing the link may be another one.
        for i in 0..6 {
            let now = at(140.0 + 4.0 * f64::from(i));
            if i == 5 {
                assert!((service.bps(now).unwrap() - 3e6).abs() < 1.0);
            }
            service.leaves(now, 1500);
        }
    }

    #[test]
    fn service_of_a_slow_or_bursty_link() {
        // 40 ms per packet: five of them take longer than the window.
        let mut service = Service::default();
        for i in 0..20 {
            service.leaves(at(40.0 * f64::from(i)), 1500);
        }
        assert!((service.bps(at(800.0)).unwrap() / 300e3 - 1.0).abs() < 0.01);
        // Ten packets at a time each 10 ms, asked at the first, in the middle and at the last of them.
        let mut service = Service::default();
        for i in 0..20 {
            for k in 0..10 {
                if i > 10 {
                    let bps = service.bps(at(10.0 * f64::from(i))).unwrap();
                    assert!((bps / 12e6 - 1.0).abs() < 0.01, "{i} {k} {bps}");
                }
                service.leaves(at(10.0 * f64::from(i)), 1500);
            }
        }
        // Two seconds of nothing make it slow at once.
        assert!(service.bps(at(2190.0)).unwrap() < 1e6);
    }

    #[test]
    fn arrivals_are_those_of_the_last_spans() {
        let mut arrivals = Arrivals::new(at(1000.0));
        for i in 0..100 {
            arrivals.arrives(at(1000.0 + 10.0 * f64::from(i)), 1250);
            if i > 20 {
                let bps = arrivals.bps(at(1000.0 + 10.0 * f64::from(i)));
                assert!((bps / 1e6 - 1.0).abs() < 0.1, "{i} {bps}");
            }
        }
        assert_eq!(arrivals.bps(at(5000.0)), 0.0);
    }

    /// The share by filling up slowly.
    fn filled(demands: &[f64], me: usize, bps: f64) -> f64 {
        let (mut low, mut high) = (0.0, bps);
        for _ in 0..200 {
            let level = f64::midpoint(low, high);
            let others = demands.iter().enumerate().filter(|(i, _)| *i != me);
            let all: f64 = others.map(|(_, d)| d.min(level)).sum::<f64>() + level;
            if all < bps { low = level } else { high = level }
        }
        low
    }

    proptest::proptest! {
        #[test]
        fn the_last_packet_leaves_and_the_queue_is_idle(
            // Of every burst: its packets, ms between them, and ms of nothing before it.
            bursts in proptest::collection::vec((1_usize..12, 0_u64..8, 0_u64..70), 1..60),
        ) {
            let (mut at_once, mut in_turn) = (Service::default(), Service::default());
            let mut now = 0;
            for (packets, apart, silence) in bursts {
                now += silence;
                for left in (0..packets).rev() {
                    now += apart;
                    let now = Time::from_millis(now);
                    proptest::prop_assert_eq!(at_once.bps(now), in_turn.bps(now));
                    in_turn.leaves(now, 1500);
                    if left == 0 {
                        at_once.last_leaves(now, 1500);
                        in_turn.idle();
                    } else {
                        at_once.leaves(now, 1500);
                    }
                }
            }
        }

        #[test]
        fn shares_are_max_min_fair(
            rates in proptest::collection::vec(0_u32..40_000, 1..20),
            bps in 1_u32..200_000,
        ) {
            let mut arrivals: Vec<Arrivals> = rates.iter().map(|bytes| {
                let mut arrivals = Arrivals::new(at(0.0));
                arrivals.arrives(at(1.0), *bytes);
                arrivals
            }).collect();
            let mut shares = Shares::new(rates.len());
            shares.begin(at(20.0));
            let demands: Vec<f64> = arrivals.iter_mut().map(|a| shares.add(at(20.0), a)).collect();
            shares.done();
            let bps = f64::from(bps) * 100.0;
            for (me, own) in demands.iter().enumerate() {
                let (is, expected) = (shares.of(Some(*own), bps), filled(&demands, me, bps));
                proptest::prop_assert!((is - expected).abs() < 1e-6 * bps, "{is} {expected}: {me} of {demands:?}");
            }
            let (is, expected) = (shares.of(None, bps), filled(&demands, rates.len(), bps));
            proptest::prop_assert!((is - expected).abs() < 1e-6 * bps, "{is} {expected}: new to {demands:?}");
        }
    }
}
