//! Capacity from the highest rate that was delivered of late.

use std::time::Duration;

use airlane_base::{Rate, Time};

use super::ChannelSample;
use super::peak_rate::PeakRate;

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

/// Meter of the highest rate of both directions together.
///
/// While packets queue without a break, what is delivered is the capacity. Where queues are short, as controllers that
/// look at delays keep them, it is the highest rate of the last half minute: news of a queue comes later than news of
/// the bytes, so what is counted in a short one falls short. While a direction is held the capacity is kept, as less
/// may be asked for than there is. If then the client gets all that there is to get and nothing queues, the hold is
/// for nothing, and the capacity is taken to have grown until one of them changes.
#[derive(Clone, Debug, Default)]
pub(super) struct Peak {
    rate: PeakRate,
    /// Time of the last measurement, and the capacity since in bit/s; `None` of a channel that is no bottleneck.
    measured: Option<(Time, f64)>,
    began: Option<Time>,
    last: Option<Time>,
    queued_since: Option<Time>,
    /// Time since which packets wait so long that the channel may carry less than before.
    slow_since: Option<Time>,
    queue_seen: Option<Time>,
}

impl Peak {
    /// Takes a sample. Time of the last measurement, and the capacity; `None` unless packets queued of late or a
    /// direction is held.
    pub(super) fn on_sample(&mut self, now: Time, sample: &ChannelSample) -> Option<(Time, Rate)> {
        let is_queueing = sample.queueing >= MIN_QUEUEING;
        self.queued_since = is_queueing.then(|| self.queued_since.unwrap_or(now));
        let is_slow = sample.queueing >= MIN_DROP_QUEUEING;
        self.slow_since = is_slow.then(|| self.slow_since.unwrap_or(now));
        let age = self.queued_since.map(|since| now.since(since));
        let sustained = self.slow_since.filter(|since| now.since(*since) >= SUSTAINED_QUEUE);
        self.rate.sample(now, sample.bytes(), sustained);
        if age.is_some_and(|age| age >= MIN_QUEUE_AGE) {
            self.queue_seen = Some(now);
        }
        let time_s = self.last.replace(now).map_or(0.0, |last| now.since(last).as_secs_f64());
        let max_bps = self.rate.max_bps();
        let is_bottleneck =
            self.queue_seen.is_some_and(|seen| now.since(seen) <= BOTTLENECK_TIMEOUT);
        let began = *self.began.get_or_insert(now);
        self.measured = match self.measured {
            _ if now.since(began) < WARM_UP_TIME || max_bps == 0.0 => None,
            _ if sustained.is_some() => Some((now, self.rate.last_bps())),
            Some((at, bps)) if sample.is_constrained => {
                let is_for_nothing = !is_queueing && !sample.is_thinned;
                let growth = if is_for_nothing { 1.0 + GROWTH_PER_S * time_s } else { 1.0 };
                let bound = sample.sum_of_estimates().map_or(0.0, Rate::as_f64);
                let kept = (bps * growth).min(bound.max(bps));
                Some(if max_bps >= kept { (now, max_bps) } else { (at, kept) })
            }
            _ => is_bottleneck.then_some((now, max_bps)),
        };
        self.measured.map(|(at, bps)| (at, Rate::from_bps_f64(bps)))
    }
}
