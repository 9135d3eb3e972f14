//! Capacity by each method, on channels whose truth is known.

use std::time::Duration;

use airlane_base::{Rate, Time};
use airlane_plum::{CapacityEstimator, CapacityMethod, ChangeDetector, ChannelSample};
use proptest::prelude::*;

const STEP: Duration = Duration::from_millis(20);

/// A channel that delivers, and what is known of it.
struct Channel {
    now: Time,
    sample: ChannelSample,
    estimator: CapacityEstimator,
}

impl Channel {
    fn new(method: CapacityMethod) -> Self {
        let sample = ChannelSample::default();
        Self { now: Time::ZERO, sample, estimator: CapacityEstimator::new(method) }
    }

    /// Lets `up` and `down` Mbit/s arrive for a time; packets queue if `queued`.
    fn deliver(&mut self, time: Duration, (up, down): (f64, f64), queued: bool) -> &mut Self {
        let end = self.now + time;
        while self.now < end {
            self.now += STEP;
            self.sample.up_bytes += Rate::from_mbps(up).bytes_in(STEP);
            self.sample.down_bytes += Rate::from_mbps(down).bytes_in(STEP);
            self.sample.queueing = Duration::from_millis(if queued { 30 } else { 1 });
            self.estimator.on_sample(self.now, self.sample);
        }
        self
    }

    fn mbps(&self) -> f64 {
        self.estimator.estimate().map_or(f64::NAN, |estimate| estimate.rate.mbps())
    }
}

fn seconds(s: u64) -> Duration {
    Duration::from_secs(s)
}

proptest! {
    /// While packets queue, the capacity of the channel is the sum of both directions, however it is divided.
    #[test]
    fn a_full_channel_is_measured(shares in prop::collection::vec(0.0_f64..1.0, 1..20), mbps in 1.0_f64..200.0) {
        let mut channel = Channel::new(CapacityMethod::default());
        for share in shares {
            channel.deliver(seconds(2), (share * mbps, (1.0 - share) * mbps), true);
            prop_assert!((channel.mbps() / mbps - 1.0).abs() < 0.01, "{} of {mbps}", channel.mbps());
        }
    }
}

#[test]
fn a_channel_with_room_keeps_its_capacity() {
    let mut channel = Channel::new(CapacityMethod::default());
    channel.deliver(seconds(5), (6.0, 6.0), true);
    channel.deliver(seconds(1200), (1.0, 1.0), false);
    assert!((channel.mbps() - 12.0).abs() < 0.1, "{}", channel.mbps());
}

#[test]
fn a_change_is_followed_within_two_seconds() {
    for (before, after) in [(12.0, 4.0), (4.0, 12.0), (12.0, 0.0), (0.0, 12.0)] {
        let mut channel = Channel::new(CapacityMethod::default());
        channel.deliver(seconds(10), (before / 2.0, before / 2.0), true);
        channel.deliver(seconds(2), (after / 2.0, after / 2.0), true);
        assert!(
            (channel.mbps() - after).abs() <= 0.1 * after,
            "{before} to {after}: {}",
            channel.mbps()
        );
    }
}

/// While a direction is held and nothing queues the capacity is asked for, but never beyond what the controllers
/// have seen.
#[test]
fn a_held_channel_asks_for_more_and_has_no_ratchet() {
    let mut channel = Channel::new(CapacityMethod::default());
    channel.sample.up_estimate = Some(Rate::from_mbps(10.0));
    channel.sample.down_estimate = Some(Rate::from_mbps(6.0));
    channel.deliver(seconds(5), (6.0, 6.0), true);
    channel.sample.is_constrained = true;
    channel.deliver(seconds(10), (6.0, 2.0), false);
    assert!((12.3..13.0).contains(&channel.mbps()), "{}", channel.mbps());
    channel.deliver(seconds(1200), (6.0, 2.0), false);
    assert!((channel.mbps() - 16.0).abs() < 0.1, "{}", channel.mbps());
    // Packets queue again: it is measured.
    channel.deliver(seconds(2), (10.0, 2.0), true);
    assert!((channel.mbps() - 12.0).abs() < 0.2, "{}", channel.mbps());
}

#[test]
fn before_the_first_queue_the_estimates_count() {
    let mut channel = Channel::new(CapacityMethod::default());
    assert_eq!(channel.estimator.estimate(), None);
    channel.sample.up_estimate = Some(Rate::from_mbps(10.0));
    channel.deliver(seconds(1), (1.0, 1.0), false);
    assert_eq!(channel.estimator.estimate(), None);
    channel.sample.down_estimate = Some(Rate::from_mbps(20.0));
    channel.deliver(seconds(1), (1.0, 1.0), false);
    assert!((channel.mbps() - 30.0).abs() < 1e-9);
    let mut paper = Channel::new(CapacityMethod::Estimates);
    paper.sample = channel.sample;
    paper.deliver(seconds(5), (6.0, 6.0), true);
    assert!((paper.mbps() - 30.0).abs() < 1e-9, "{}", paper.mbps());
}

/// A channel whose server samples it every 100 ms, by the highest rate; capacities in Mbit/s.
struct PeakChannel {
    now: Time,
    bytes: u64,
    estimator: CapacityEstimator,
}

/// Channel without a queue whose client would get more if there were more. Estimates are 6 Mbit/s together.
fn free() -> ChannelSample {
    let half = Some(Rate::from_mbps(3.0));
    let sample = ChannelSample::default();
    ChannelSample { up_estimate: half, down_estimate: half, is_thinned: true, ..sample }
}

fn held() -> ChannelSample {
    ChannelSample { is_constrained: true, ..free() }
}

/// `sample` while packets wait for so many milliseconds.
fn queueing(ms: u64, sample: ChannelSample) -> ChannelSample {
    ChannelSample { queueing: Duration::from_millis(ms), ..sample }
}

impl PeakChannel {
    fn new(ample_mbps: f64) -> Self {
        let method = CapacityMethod::Peak { ample: Rate::from_mbps(ample_mbps) };
        Self { now: Time::ZERO, bytes: 0, estimator: CapacityEstimator::new(method) }
    }

    /// Lets `mbps` arrive for a time, half of it in each direction. The capacity, if it is measured.
    fn run(&mut self, seconds: f64, mbps: f64, sample: ChannelSample) -> Option<f64> {
        let step = Duration::from_millis(100);
        let end = self.now + Duration::from_secs_f64(seconds);
        while self.now < end {
            self.now += step;
            self.bytes += Rate::from_mbps(mbps / 2.0).bytes_in(step);
            let sample = ChannelSample { up_bytes: self.bytes, down_bytes: self.bytes, ..sample };
            self.estimator.on_sample(self.now, sample);
        }
        let estimate = self.estimator.estimate().filter(|estimate| estimate.is_measured);
        estimate.map(|estimate| (estimate.rate.mbps() * 100.0).round() / 100.0)
    }

    fn assumed(&self) -> Option<f64> {
        let estimate = self.estimator.estimate().filter(|estimate| !estimate.is_measured);
        estimate.map(|estimate| estimate.rate.mbps())
    }
}

#[test]
fn short_queues_tell_that_the_highest_rate_was_the_capacity() {
    let mut channel = PeakChannel::new(0.0);
    assert_eq!(channel.run(16.0, 2.0, free()), None);
    // In the queue less seems to come.
    assert_eq!(channel.run(0.5, 1.4, queueing(60, free())), Some(2.0));
    assert_eq!(channel.run(20.0, 1.5, free()), Some(2.0));
    assert_eq!(channel.run(12.0, 1.5, free()), None);
}

#[test]
fn a_queue_that_lasts_tells_the_capacity() {
    let mut channel = PeakChannel::new(0.0);
    channel.run(16.0, 2.0, free());
    assert_eq!(channel.run(4.5, 1.2, queueing(60, free())), Some(1.2));
    assert_eq!(channel.run(4.5, 1.7, queueing(60, free())), Some(1.7));
    assert_eq!(channel.run(9.0, 1.2, queueing(30, free())), Some(1.7));
}

#[test]
fn while_held_the_highest_rate_is_kept_and_grows_where_the_hold_is_for_nothing() {
    let mut channel = PeakChannel::new(0.0);
    channel.run(16.0, 2.0, free());
    channel.run(0.5, 2.0, queueing(60, free()));
    assert_eq!(channel.run(60.0, 1.0, held()), Some(2.0));
    let gets_all = ChannelSample { is_thinned: false, ..held() };
    let grown = channel.run(5.0, 1.0, gets_all).unwrap();
    assert!((2.9..3.0).contains(&grown), "{grown}");
    assert_eq!(channel.run(60.0, 1.0, gets_all), Some(6.0));
    // Asked for more, it is found out.
    assert_eq!(channel.run(5.0, 2.1, queueing(60, held())), Some(2.1));
}

#[test]
fn a_channel_without_a_bottleneck_carries_the_estimates_or_what_is_ample() {
    for (ample, expected) in [(4.0, 6.0), (12.0, 12.0)] {
        let mut channel = PeakChannel::new(ample);
        channel.run(1.0, 1.0, ChannelSample { up_estimate: None, ..free() });
        assert_eq!(channel.estimator.estimate(), None);
        channel.run(16.0, 2.0, free());
        assert_eq!(channel.assumed(), Some(expected));
        assert_eq!(channel.run(0.5, 2.0, queueing(60, free())), Some(2.0));
        channel.run(40.0, 1.0, free());
        assert_eq!(channel.assumed(), Some(expected));
    }
}

/// A measurement that is no longer true is not kept where nothing else is known.
#[test]
fn a_bottleneck_that_is_gone_leaves_nothing_without_estimates() {
    let mut channel = PeakChannel::new(12.0);
    let unknown = ChannelSample { up_estimate: None, ..free() };
    channel.run(16.0, 2.0, unknown);
    assert_eq!(channel.run(0.5, 2.0, queueing(60, unknown)), Some(2.0));
    channel.run(40.0, 1.0, unknown);
    assert_eq!(channel.estimator.estimate(), None);
}

#[test]
fn a_fifth_is_no_change_and_more_is() {
    let detector = ChangeDetector::default();
    let rate = |mbps| Some(Rate::from_mbps(mbps));
    assert!(
        !detector.is_change(rate(10.0), rate(11.9)) && !detector.is_change(rate(10.0), rate(8.1))
    );
    assert!(
        detector.is_change(rate(10.0), rate(12.1)) && detector.is_change(rate(10.0), rate(7.9))
    );
    assert!(detector.is_change(None, rate(1.0)) && !detector.is_change(None, None));
    assert!(detector.is_change(rate(0.0), rate(0.1)) && !detector.is_change(rate(0.0), rate(0.0)));
}
