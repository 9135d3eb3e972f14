//! Capacity of a client's half-duplex channel (Plum, section III-D, "Capacity detection").

use std::collections::VecDeque;
use std::time::Duration;

use airlane_base::{Rate, Time};

/// Method by which the capacity is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CapacityMethod {
    /// Bytes that both directions delivered while packets queued, over that time. While nothing queues the last
    /// value is kept; before the first queue it is the sum of the controllers' estimates.
    #[default]
    Delivered,
    /// Sum of the bandwidths that the controllers of both directions estimate, as the paper has it.
    Estimates,
}

/// Settings of a [`CapacityEstimator`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CapacityConfig {
    /// Method by which the capacity is found.
    pub method: CapacityMethod,
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

impl Default for CapacityConfig {
    fn default() -> Self {
        Self {
            method: CapacityMethod::Delivered,
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

/// State of a client's channel at one time, as both ends of it know it. Bytes are IP bytes since the beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ChannelSample {
    /// Bytes from the client that have arrived.
    pub up_bytes: u64,
    /// Bytes to the client that have arrived.
    pub down_bytes: u64,
    /// Excess of the last round trip over the least one.
    pub queueing: Duration,
    /// Bandwidth that the client's controller estimates.
    pub up_estimate: Option<Rate>,
    /// Bandwidth that the server's controller estimates.
    pub down_estimate: Option<Rate>,
    /// True if one direction is held to a bitrate.
    pub is_constrained: bool,
}

/// Capacity of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CapacityEstimate {
    /// Rate of IP bytes, both directions together.
    pub rate: Rate,
    /// Time of the last measurement; the value is kept since.
    pub at: Time,
    /// True if packets queued when it was measured: else the channel may carry more.
    pub is_measured: bool,
}

/// Estimator of the capacity of one client's channel.
///
/// While one direction is constrained, its controller learns nothing of the channel: the estimate of BBR
/// stands still, that of GCC decays, and the sum of both with the other direction's grows or shrinks without
/// any change of the channel. Bytes delivered while packets queue do not depend on who is constrained: the
/// channel is work-conserving, so all of it was in use.
#[derive(Clone, Debug)]
pub struct CapacityEstimator {
    config: CapacityConfig,
    last: Option<(Time, ChannelSample)>,
    /// Time since which packets queue; `None` while none do.
    queued_since: Option<Time>,
    /// Times with a queue: when each ended, how long it took, bytes of both directions.
    queued: VecDeque<(Time, Duration, u64)>,
    queued_time: Duration,
    queued_bytes: u64,
    estimate: Option<CapacityEstimate>,
}

impl CapacityEstimator {
    /// An estimator that has seen nothing.
    pub fn new(config: CapacityConfig) -> Self {
        Self {
            config,
            last: None,
            queued_since: None,
            queued: VecDeque::new(),
            queued_time: Duration::ZERO,
            queued_bytes: 0,
            estimate: None,
        }
    }

    /// Takes a sample. Samples are best every 20 ms; their number within the window bounds the memory.
    pub fn on_sample(&mut self, now: Time, sample: ChannelSample) {
        if self.config.method == CapacityMethod::Delivered {
            self.on_delivered(now, &sample);
        }
        if !self.estimate.is_some_and(|estimate| estimate.is_measured)
            && let (Some(up), Some(down)) = (sample.up_estimate, sample.down_estimate)
        {
            let rate = Rate::from_bps(up.bps().saturating_add(down.bps()));
            self.estimate = Some(CapacityEstimate { rate, at: now, is_measured: false });
        }
        self.last = Some((now, sample));
    }

    fn on_delivered(&mut self, now: Time, sample: &ChannelSample) {
        let since = self.queued_since;
        self.queued_since =
            (sample.queueing >= self.config.min_queueing).then(|| since.unwrap_or(now));
        let Some((before, last)) = self.last else { return };
        let time = now.since(before);
        let is_old = |since: Time| before.since(since) >= self.config.min_queue_age;
        if since.is_some_and(is_old) && self.queued_since.is_some() && !time.is_zero() {
            let bytes = |of: fn(&ChannelSample) -> u64| of(sample).saturating_sub(of(&last));
            let bytes = bytes(|s| s.up_bytes).saturating_add(bytes(|s| s.down_bytes));
            self.queued.push_back((now, time, bytes));
            self.queued_time += time;
            self.queued_bytes = self.queued_bytes.saturating_add(bytes);
        }
        self.forget(now, self.config.window);
        if self.has_changed(now) {
            self.forget(now, self.config.short_window);
        }
        if self.queued_time >= self.config.min_queued {
            let rate = Rate::of(self.queued_bytes, self.queued_time);
            self.estimate = Some(CapacityEstimate { rate, at: now, is_measured: true });
        } else if sample.is_constrained
            && let Some(estimate) = &mut self.estimate
            && now.since(estimate.at) > self.config.growth_delay
        {
            // Nothing queues although a direction is held: the channel may carry more, and how much is found by
            // asking for more. It is no more than both controllers together have ever seen.
            let seen = |rate: Option<Rate>| rate.map_or(0, Rate::bps);
            let bound = seen(sample.up_estimate).saturating_add(seen(sample.down_estimate));
            let grown = estimate.rate.scale(1.0 + self.config.growth_per_s * time.as_secs_f64());
            estimate.rate = grown.min(Rate::from_bps(bound)).max(estimate.rate);
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

    /// Capacity; `None` before the first measurement.
    pub fn estimate(&self) -> Option<CapacityEstimate> {
        self.estimate
    }
}

/// Detector of changes of capacity: whether a client's capacity differs from that of the last optimisation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChangeDetector {
    /// Share of the capacity before from which on a difference is a change.
    pub threshold: f64,
}

impl Default for ChangeDetector {
    fn default() -> Self {
        Self { threshold: 0.2 }
    }
}

impl ChangeDetector {
    /// True if `now` differs from `before` by more than the threshold.
    pub fn is_change(&self, before: Option<Rate>, now: Option<Rate>) -> bool {
        match (before, now) {
            (None, None) => false,
            (Some(before), Some(now)) => {
                (now.as_f64() - before.as_f64()).abs() > self.threshold * before.as_f64()
            }
            _ => true,
        }
    }
}
