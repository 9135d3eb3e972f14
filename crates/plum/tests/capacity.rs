//! Capacity from deliveries, on channels whose truth is known.

use std::time::Duration;

use airlane_base::{Rate, Time};
use airlane_plum::{
    CapacityConfig, CapacityEstimator, CapacityMethod, ChangeDetector, ChannelSample,
};
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
        let config = CapacityConfig { method, ..CapacityConfig::default() };
        let sample = ChannelSample::default();
        Self { now: Time::ZERO, sample, estimator: CapacityEstimator::new(config) }
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
        let mut channel = Channel::new(CapacityMethod::Delivered);
        for share in shares {
            channel.deliver(seconds(2), (share * mbps, (1.0 - share) * mbps), true);
            prop_assert!((channel.mbps() / mbps - 1.0).abs() < 0.01, "{} of {mbps}", channel.mbps());
        }
    }
}

#[test]
fn a_channel_with_room_keeps_its_capacity() {
    let mut channel = Channel::new(CapacityMethod::Delivered);
    channel.deliver(seconds(5), (6.0, 6.0), true);
    channel.deliver(seconds(1200), (1.0, 1.0), false);
    assert!((channel.mbps() - 12.0).abs() < 0.1, "{}", channel.mbps());
}

#[test]
fn a_change_is_followed_within_two_seconds() {
    for (before, after) in [(12.0, 4.0), (4.0, 12.0), (12.0, 0.0), (0.0, 12.0)] {
        let mut channel = Channel::new(CapacityMethod::Delivered);
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
    let mut channel = Channel::new(CapacityMethod::Delivered);
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
    let mut channel = Channel::new(CapacityMethod::Delivered);
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
