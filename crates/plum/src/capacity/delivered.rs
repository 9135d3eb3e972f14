//! Capacity from bytes that were delivered while packets queued.

use std::collections::VecDeque;
use std::time::Duration;

use airlane_base::{Rate, Time};

use super::ChannelSample;

/// Settings of [`Delivered`](super::CapacityMethod::Delivered).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeliveredConfig {
    /// Time over which deliveries are averaged.
    pub window: Duration,
    /// Time whose deliveries alone count where they differ from those of the whole window.
    pub short_window: Duration,
    /// Share by which they must differ.
    pub change: f64,
    /// Time with a queue within the window from which on it counts as measured.
    pub min_queued: Duration,
    /// Delay above the least round trip from which on packets count as queued.
    pub min_queueing: Duration,
    /// Time for which packets must have queued before deliveries count: as long as news of a delivery takes, so that
    /// none from before the queue is counted in it.
    pub min_queue_age: Duration,
    /// Time without a queue after which the capacity of a constrained client is taken to have grown.
    pub growth_delay: Duration,
    /// Share by which it grows per second from then on, until packets queue again.
    pub growth_per_s: f64,
}

impl Default for DeliveredConfig {
    fn default() -> Self {
        Self {
            window: Duration::from_secs(5),
            short_window: Duration::from_secs(1),
            change: 0.2,
            min_queued: Duration::from_millis(400),
            min_queueing: Duration::from_millis(4),
            min_queue_age: Duration::ZERO,
            growth_delay: Duration::from_secs(3),
            growth_per_s: 0.02,
        }
    }
}

/// Meter of what is delivered while packets queue.
#[derive(Clone, Debug)]
pub(super) struct Delivered {
    config: DeliveredConfig,
    last: Option<(Time, ChannelSample)>,
    /// Time since which packets queue; `None` while none do.
    queued_since: Option<Time>,
    /// Times with a queue: when each ended, how long it took, bytes of both directions.
    queued: VecDeque<(Time, Duration, u64)>,
    queued_time: Duration,
    queued_bytes: u64,
    /// Time of the last measurement, and the capacity since.
    measured: Option<(Time, Rate)>,
}

impl Delivered {
    /// A meter that has seen nothing.
    pub(super) fn new(config: DeliveredConfig) -> Self {
        Self {
            config,
            last: None,
            queued_since: None,
            queued: VecDeque::new(),
            queued_time: Duration::ZERO,
            queued_bytes: 0,
            measured: None,
        }
    }

    /// Takes a sample. Time of the last measurement, and the capacity; `None` before the first queue.
    pub(super) fn on_sample(&mut self, now: Time, sample: &ChannelSample) -> Option<(Time, Rate)> {
        let since = self.queued_since;
        self.queued_since =
            (sample.queueing >= self.config.min_queueing).then(|| since.unwrap_or(now));
        if let Some((before, last)) = self.last.replace((now, *sample)) {
            let time = now.since(before);
            let is_old = |since: Time| before.since(since) >= self.config.min_queue_age;
            if since.is_some_and(is_old) && self.queued_since.is_some() && !time.is_zero() {
                let bytes = |of: fn(&ChannelSample) -> u64| of(sample).saturating_sub(of(&last));
                let bytes = bytes(|s| s.up_bytes).saturating_add(bytes(|s| s.down_bytes));
                self.queued.push_back((now, time, bytes));
                self.queued_time += time;
                self.queued_bytes = self.queued_bytes.saturating_add(bytes);
            }
            self.measure(now, time, sample);
        }
        self.measured
    }

    /// Measures the capacity, or lets it grow; `time` has passed since the last sample.
    fn measure(&mut self, now: Time, time: Duration, sample: &ChannelSample) {
        self.forget(now, self.config.window);
        if self.has_changed(now) {
            self.forget(now, self.config.short_window);
        }
        if self.queued_time >= self.config.min_queued {
            self.measured = Some((now, Rate::of(self.queued_bytes, self.queued_time)));
        } else if sample.is_constrained
            && let Some((at, rate)) = &mut self.measured
            && now.since(*at) > self.config.growth_delay
        {
            // Nothing queues although a direction is held: the channel may carry more, and how much is found by
            // asking for more. It is no more than both controllers together have ever seen.
            let seen = |rate: Option<Rate>| rate.map_or(0, Rate::bps);
            let bound = seen(sample.up_estimate).saturating_add(seen(sample.down_estimate));
            let grown = rate.scale(1.0 + self.config.growth_per_s * time.as_secs_f64());
            *rate = grown.min(Rate::from_bps(bound)).max(*rate);
        }
    }

    /// Forgets what ended longer ago than `window`.
    fn forget(&mut self, now: Time, window: Duration) {
        while let Some((at, time, bytes)) = self.queued.front().copied()
            && now.since(at) > window
        {
            self.queued.pop_front();
            self.queued_time = self.queued_time.saturating_sub(time);
            self.queued_bytes = self.queued_bytes.saturating_sub(bytes);
        }
    }

    /// True if the last deliveries differ from those of the whole window.
    fn has_changed(&self, now: Time) -> bool {
        let last = self.queued.iter().rev();
        let last = last.take_while(|(at, ..)| now.since(*at) <= self.config.short_window);
        let (time, bytes) =
            last.fold((Duration::ZERO, 0_u64), |(t, b), (_, time, bytes)| (t + *time, b + *bytes));
        if time < self.config.min_queued {
            return false;
        }
        let (last, all) = (Rate::of(bytes, time), Rate::of(self.queued_bytes, self.queued_time));
        (last.as_f64() - all.as_f64()).abs() > self.config.change * all.as_f64()
    }
}
