//! Capacity of a half-duplex channel by what it delivers, seen from the server.

use std::time::Duration;

use airlane_base::Time;

use super::peak::PeakRate;

/// Waiting time from which on packets count as queued: schedulers of both machines delay packets by less.
const MIN_QUEUEING: Duration = Duration::from_millis(15);
/// Waiting time from which on a queue tells that the channel carries less than before. A busy machine delays packets
/// by more than the other bound for seconds; a channel that has become slower, by more than this one.
const MIN_DROP_QUEUEING: Duration = Duration::from_millis(50);
/// Time for which packets must have queued before the channel counts as a bottleneck.
const MIN_QUEUE_AGE: Duration = Duration::from_millis(100);
/// Time without a queue after which a channel of which nothing is held is no bottleneck.
const BOTTLENECK_TIMEOUT: Duration = Duration::from_secs(30);
/// Time of a queue without a break from which on what is delivered meanwhile is the capacity.
const SUSTAINED_QUEUE: Duration = Duration::from_secs(2);
/// Share by which the capacity grows per second while a direction is held for nothing.
const GROWTH_PER_S: f64 = 0.08;
/// Time in which a new client's controllers find out what the channel carries.
const WARM_UP_TIME: Duration = Duration::from_secs(15);

/// State of a channel at one time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    /// Bytes that both directions have delivered up to now.
    pub(super) delivered_bytes: f64,
    /// Time that packets wait.
    pub(super) queueing: Duration,
    /// True if a direction is held.
    pub(super) is_held: bool,
    /// True if the client gets less than there is to get.
    pub(super) is_thinned: bool,
    /// Highest capacity that is plausible, bit/s.
    pub(super) max_bps: f64,
}

/// Estimator of the capacity of a channel, both directions together.
///
/// While packets queue without a break, what is delivered is the capacity. Where queues are short, as controllers that
/// look at delays keep them, it is the highest rate of the last half minute: news of a queue comes later than news of
/// the bytes, so what is counted in a short one falls short. While a direction is held the capacity is kept, as less
/// may be asked for than there is. If then the client gets all that there is to get and nothing queues, the hold is
/// for nothing, and the capacity is taken to have grown until one of them changes.
#[derive(Clone, Debug, Default)]
pub(super) struct CapacityMeter {
    peak: PeakRate,
    bps: Option<f64>,
    began: Option<Time>,
    last: Option<Time>,
    queued_since: Option<Time>,
    /// Time since which packets wait so long that the channel may carry less than before.
    slow_since: Option<Time>,
    queue_seen: Option<Time>,
}

impl CapacityMeter {
    /// Takes a sample.
    pub(super) fn sample(&mut self, now: Time, sample: Sample) {
        let is_queueing = sample.queueing >= MIN_QUEUEING;
        self.queued_since = is_queueing.then(|| self.queued_since.unwrap_or(now));
        let is_slow = sample.queueing >= MIN_DROP_QUEUEING;
        self.slow_since = is_slow.then(|| self.slow_since.unwrap_or(now));
        let age = self.queued_since.map(|since| now.since(since));
        let sustained = self.slow_since.filter(|since| now.since(*since) >= SUSTAINED_QUEUE);
        self.peak.sample(now, sample.delivered_bytes, sustained);
        if age.is_some_and(|age| age >= MIN_QUEUE_AGE) {
            self.queue_seen = Some(now);
        }
        let time_s = self.last.replace(now).map_or(0.0, |last| now.since(last).as_secs_f64());
        let peak = self.peak.max_bps();
        let is_bottleneck =
            self.queue_seen.is_some_and(|seen| now.since(seen) <= BOTTLENECK_TIMEOUT);
        let began = *self.began.get_or_insert(now);
        self.bps = match self.bps {
            _ if now.since(began) < WARM_UP_TIME || peak == 0.0 => None,
            _ if sustained.is_some() => Some(self.peak.last_bps()),
            Some(bps) if sample.is_held => {
                let is_for_nothing = !is_queueing && !sample.is_thinned;
                let growth = if is_for_nothing { 1.0 + GROWTH_PER_S * time_s } else { 1.0 };
                Some((bps * growth).min(sample.max_bps.max(bps)).max(peak))
            }
            _ => is_bottleneck.then_some(peak),
        };
    }

    /// The capacity, bit/s; `None` of a channel that is no bottleneck.
    pub(super) fn bps(&self) -> Option<f64> {
        self.bps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A channel whose counts go on from one run to the next.
    #[derive(Default)]
    struct Run {
        meter: CapacityMeter,
        ms: u64,
        bytes: f64,
    }

    const FREE: Sample = Sample {
        delivered_bytes: 0.0,
        queueing: Duration::ZERO,
        is_held: false,
        is_thinned: true,
        max_bps: 6e6,
    };
    const QUEUEING: Sample = Sample { queueing: Duration::from_millis(60), ..FREE };
    const JITTER: Sample = Sample { queueing: Duration::from_millis(30), ..FREE };
    const HELD: Sample = Sample { is_held: true, ..FREE };

    impl Run {
        fn go(&mut self, seconds: f64, mbps: f64, sample: Sample) -> Option<f64> {
            for _ in 0..(seconds * 10.0) as u64 {
                self.ms += 100;
                self.bytes += mbps * 12_500.0;
                let sample = Sample { delivered_bytes: self.bytes, ..sample };
                self.meter.sample(Time::from_millis(self.ms), sample);
            }
            self.meter.bps().map(|bps| (bps / 1e4).round() / 100.0)
        }
    }

    #[test]
    fn short_queues_tell_that_the_highest_rate_was_the_capacity() {
        let mut run = Run::default();
        assert_eq!(run.go(16.0, 2.0, FREE), None);
        // In the queue less seems to come.
        assert_eq!(run.go(0.5, 1.4, QUEUEING), Some(2.0));
        assert_eq!(run.go(20.0, 1.5, FREE), Some(2.0));
        assert_eq!(run.go(12.0, 1.5, FREE), None);
    }

    #[test]
    fn a_queue_that_lasts_tells_the_capacity() {
        let mut run = Run::default();
        run.go(16.0, 2.0, FREE);
        assert_eq!(run.go(4.5, 1.2, QUEUEING), Some(1.2));
        assert_eq!(run.go(4.5, 1.7, QUEUEING), Some(1.7));
        assert_eq!(run.go(9.0, 1.2, JITTER), Some(1.7));
    }

    #[test]
    fn while_held_it_is_kept_and_grows_where_the_hold_is_for_nothing() {
        let mut run = Run::default();
        run.go(16.0, 2.0, FREE);
        run.go(0.5, 2.0, QUEUEING);
        assert_eq!(run.go(60.0, 1.0, HELD), Some(2.0));
        let grown = run.go(5.0, 1.0, Sample { is_thinned: false, ..HELD }).unwrap();
        assert!((2.9..3.0).contains(&grown), "{grown}");
        assert_eq!(run.go(60.0, 1.0, Sample { is_thinned: false, ..HELD }), Some(6.0));
        // Asked for more, it is found out.
        assert_eq!(run.go(5.0, 2.1, Sample { is_held: true, ..QUEUEING }), Some(2.1));
    }
}
