//! Channel of one client: how much it carries in both directions together, and which of them is held (Plum,
//! section III-D).

mod queueing;

use std::collections::VecDeque;
use std::time::Duration;

use airlane_base::{Rate, Time};
use airlane_plum::{
    CapacityEstimator, CapacityMethod, ChannelSample, ClientChannel, Decision, Epoch, Notice,
    ServerControl, State,
};

use self::queueing::QueueingDelay;
use crate::media::session::Traffic;

/// Interval at which a notice is repeated: the client leaves the Constrained state without.
const NOTICE_INTERVAL: Duration = Duration::from_millis(500);
/// Time after which a client that has not acknowledged a notice is told by REMB too.
const ACKNOWLEDGEMENT_TIMEOUT: Duration = Duration::from_millis(1500);
/// Time for which the bitrate from before a hold stands while the controller estimates less.
const RESTORE_TIME: Duration = Duration::from_secs(2);
/// Time over which rates are averaged.
const RATE_WINDOW: Duration = Duration::from_secs(1);
/// Longest way that a packet is taken to be on.
const MAX_ROUND_TRIP: Duration = Duration::from_secs(2);
/// Highest estimate that a client may report, bit/s.
const MAX_REPORTED_BPS: f64 = 10e9;

/// Counts at one time.
#[derive(Clone, Copy, Debug)]
struct CountSnapshot {
    at: Time,
    traffic: Traffic,
}

/// Channel of one client.
#[derive(Debug)]
pub(crate) struct Channel {
    capacity: CapacityEstimator,
    control: ServerControl,
    queueing: QueueingDelay,
    /// Counts of the last seconds, the latest last.
    counted: VecDeque<CountSnapshot>,
    /// Bytes to the client that have arrived.
    delivered_bytes: f64,
    /// Bytes that had been sent when those that arrived last were.
    sent_before: u64,
    round_trip: Option<Duration>,
    /// Number and time of the last ping.
    ping: Option<(u32, Time)>,
    up_estimate: Option<Rate>,
    pub(crate) down_estimate: Option<Rate>,
    /// Share of the packets to the client that were lost of late.
    pub(crate) down_loss: f64,
    /// Time of the last notice, and of the first that has the newest number.
    told: Option<Time>,
    told_first: Option<Time>,
    /// Newest notice that the client follows.
    acknowledged: Option<Epoch>,
    /// Bitrate from before a hold, and the time until which it stands.
    restored: Option<(Rate, Time)>,
}

impl Channel {
    /// A channel of which nothing is known. While it is no bottleneck it is taken to carry `ample`, or what both
    /// controllers estimate if that is more.
    pub(crate) fn new(ample: Rate) -> Self {
        Self {
            capacity: CapacityEstimator::new(CapacityMethod::Peak { ample }),
            control: ServerControl::default(),
            queueing: QueueingDelay::default(),
            counted: VecDeque::new(),
            delivered_bytes: 0.0,
            sent_before: 0,
            round_trip: None,
            ping: None,
            up_estimate: None,
            down_estimate: None,
            down_loss: 0.0,
            told: None,
            told_first: None,
            acknowledged: None,
            restored: None,
        }
    }

    /// Takes a packet of the client: its arrival less its absolute send time, in seconds.
    pub(crate) fn on_uplink(&mut self, now: Time, delay_s: f64) {
        self.queueing.on_uplink(now, delay_s);
    }

    /// Number of the next ping.
    pub(crate) fn ping(&mut self, now: Time) -> u32 {
        let sequence = self.ping.map_or(0, |(before, _)| before.wrapping_add(1));
        self.ping = Some((sequence, now));
        sequence
    }

    /// Takes the answer to a ping. Those of earlier ones say no more than the last one will.
    pub(crate) fn on_pong(&mut self, now: Time, sequence: u32) {
        let Some((_, sent)) = self.ping.filter(|(last, _)| *last == sequence) else { return };
        let round_trip = now.since(sent).min(MAX_ROUND_TRIP);
        self.round_trip = Some(round_trip);
        self.queueing.on_round_trip(now, round_trip);
    }

    /// Takes what the client reports.
    pub(crate) fn on_report(&mut self, epoch: Option<u32>, outgoing_bps: Option<f64>) {
        if let Some(epoch) = epoch.map(Epoch) {
            self.control.on_acknowledged(epoch);
            self.acknowledged = Some(epoch);
        }
        let outgoing = outgoing_bps.filter(|bps| bps.is_finite() && *bps > 0.0);
        let outgoing = outgoing.map(|bps| Rate::from_bps_f64(bps.min(MAX_REPORTED_BPS)));
        self.up_estimate = outgoing.or(self.up_estimate);
    }

    /// Samples the channel, whose client gets less than there is to get if `is_thinned`.
    pub(crate) fn sample(&mut self, now: Time, traffic: Traffic, is_thinned: bool) {
        // What was sent a round trip ago has arrived, but for what was lost.
        let arrived_at = self.round_trip.unwrap_or_default();
        let arrived = self.counted.iter().rev().find(|of| now.since(of.at) >= arrived_at);
        let sent = arrived.map_or(0, |of| of.traffic.sent_bytes);
        let new = sent.saturating_sub(self.sent_before);
        self.sent_before = self.sent_before.max(sent);
        self.delivered_bytes += new as f64 * (1.0 - self.down_loss.clamp(0.0, 1.0));
        self.counted.push_back(CountSnapshot { at: now, traffic });
        let window = RATE_WINDOW.max(MAX_ROUND_TRIP);
        while self.counted.get(1).is_some_and(|of| now.since(of.at) >= window) {
            self.counted.pop_front();
        }
        let sample = ChannelSample {
            up_bytes: traffic.received_bytes,
            down_bytes: self.delivered_bytes as u64,
            queueing: self.queueing.take(),
            up_estimate: self.up_estimate,
            down_estimate: self.down_estimate,
            is_constrained: self.control.state() != State::Natural,
            is_thinned,
        };
        self.capacity.on_sample(now, sample);
    }

    /// Rates that came from the client and went to it over the last second.
    pub(crate) fn rates(&self) -> (Rate, Rate) {
        let Some(last) = self.counted.back() else { return (Rate::ZERO, Rate::ZERO) };
        let since = |of: &&CountSnapshot| last.at.since(of.at) >= RATE_WINDOW;
        let first = self.counted.iter().rev().find(since).or(self.counted.front());
        let Some(first) = first else { return (Rate::ZERO, Rate::ZERO) };
        let time = last.at.since(first.at);
        let rate = |of: fn(&Traffic) -> u64| {
            if time.is_zero() {
                return Rate::ZERO;
            }
            Rate::of(of(&last.traffic).saturating_sub(of(&first.traffic)), time)
        };
        (rate(|of| of.received_bytes), rate(|of| of.sent_bytes))
    }

    /// Capacity of both directions together; `None` unless packets queued in front of it of late, or one of them is
    /// held: controllers that are limited by what is sent do not tell what more it would carry.
    pub(crate) fn capacity(&self) -> Option<Rate> {
        let estimate = self.capacity.estimate().filter(|estimate| estimate.is_measured);
        estimate.map(|estimate| estimate.rate)
    }

    /// Measurement, as the coordinator gets it.
    pub(crate) fn measurement(&self) -> ClientChannel {
        ClientChannel {
            capacity: self.capacity.estimate().map(|estimate| estimate.rate),
            up: self.up_estimate,
            down: self.down_estimate,
            state: self.control.state(),
        }
    }

    /// Estimates of the controllers of both directions, up and down.
    pub(crate) fn estimates(&self) -> (Option<Rate>, Option<Rate>) {
        (self.up_estimate, self.down_estimate)
    }

    /// Follows a decision of the coordinator.
    pub(crate) fn decide(&mut self, decision: Decision) {
        let before = self.control.notice();
        self.control.decide(decision, self.down_estimate);
        if self.control.notice() != before {
            (self.told, self.told_first) = (None, None);
        }
    }

    /// State that the client is in.
    pub(crate) fn state(&self) -> State {
        self.control.state()
    }

    /// Rate that the held direction is held to.
    pub(crate) fn target(&self) -> Option<Rate> {
        self.control.notice().target.or(self.control.target())
    }

    /// Rate that the uplink is held to.
    pub(crate) fn up_target(&self) -> Option<Rate> {
        self.control.notice().target
    }

    /// Notice that is due now. While nothing is held, and the client knows it, none is.
    pub(crate) fn due_notice(&mut self, now: Time) -> Option<Notice> {
        let notice = self.control.notice();
        let is_known = notice == Notice::default() || self.acknowledged == Some(notice.epoch);
        if notice.target.is_none() && is_known {
            return None;
        }
        if self.told.is_some_and(|told| now.since(told) < NOTICE_INTERVAL) {
            return None;
        }
        self.told = Some(now);
        self.told_first.get_or_insert(now);
        Some(notice)
    }

    /// True if the client has not acknowledged the newest notice for so long that it seems to ignore it.
    pub(crate) fn ignores_notice(&self, now: Time) -> bool {
        let is_late = self.told_first.is_some_and(|at| now.since(at) >= ACKNOWLEDGEMENT_TIMEOUT);
        is_late && self.acknowledged != Some(self.control.notice().epoch)
    }

    /// Rate that the downlink may have: what its controller allows, or less where it is held; right after a hold what
    /// it had before. Infinite before the first estimate.
    pub(crate) fn down_bps(&mut self, now: Time) -> f64 {
        let estimate = self.down_estimate.map_or(f64::INFINITY, Rate::as_f64);
        if let Some(target) = self.control.target() {
            return target.as_f64().min(self.capacity().map_or(estimate, Rate::as_f64));
        }
        if let Some(retained) = self.control.take_retained() {
            self.restored = Some((retained, now + RESTORE_TIME));
        }
        self.restored = self.restored.filter(|(_, until)| now < *until);
        self.restored.map_or(estimate, |(retained, _)| retained.as_f64().max(estimate))
    }

    /// Room that a hold of the uplink leaves to the downlink: what its controller is to look for at once; `None` while
    /// the uplink is not held.
    pub(crate) fn freed_bps(&self) -> Option<f64> {
        let (up, capacity) = (self.up_target()?, self.capacity()?);
        Some((capacity.as_f64() - up.as_f64()).max(0.0))
    }

    /// Rate that the downlink is held to; `None` while it is not.
    pub(crate) fn down_target(&self) -> Option<Rate> {
        self.control.target()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK_MS: u64 = 100;
    const AMPLE: Rate = Rate::from_bps(12_000_000);

    /// A channel of 3 Mbit/s on which 2 Mbit/s come and 1 goes, for some seconds; packets wait for `queueing_ms`.
    fn run(channel: &mut Channel, from_ms: u64, seconds: u64, queueing_ms: u64) -> u64 {
        let ticks = seconds * 1000 / TICK_MS;
        for n in 1..=ticks {
            let ms = from_ms + n * TICK_MS;
            let now = Time::from_millis(ms);
            let sequence = channel.ping(now);
            let came = Time::from_millis(ms + 20 + queueing_ms);
            channel.on_pong(came, sequence);
            channel.on_uplink(now, 5.0 + queueing_ms as f64 / 1000.0);
            let traffic =
                Traffic { received_bytes: ms * 250, sent_bytes: ms * 125, ..Traffic::default() };
            channel.sample(now, traffic, true);
        }
        from_ms + seconds * 1000
    }

    fn kbps(rate: Option<Rate>) -> f64 {
        rate.map_or(0.0, |rate| rate.as_f64() / 1e3)
    }

    #[test]
    fn the_capacity_is_what_is_delivered_while_packets_queue() {
        let mut channel = Channel::new(AMPLE);
        channel.on_report(None, Some(900e3));
        channel.down_estimate = Some(Rate::from_bps(700_000));
        let end = run(&mut channel, 0, 15, 0);
        assert_eq!((channel.capacity(), channel.measurement().capacity), (None, Some(AMPLE)));
        run(&mut channel, end, 5, 60);
        let capacity = kbps(channel.capacity());
        assert!((capacity - 3000.0).abs() < 90.0, "{capacity}");
        assert_eq!(channel.measurement().capacity, channel.capacity());
        let (up, down) = channel.rates();
        assert_eq!((up.bps() / 1000, down.bps() / 1000), (2000, 1000));
    }

    #[test]
    fn reports_that_make_no_sense_say_nothing() {
        let mut channel = Channel::new(Rate::ZERO);
        channel.down_estimate = Some(Rate::from_bps(1_000_000));
        for bps in [f64::NAN, f64::INFINITY, -1.0, 0.0] {
            channel.on_report(Some(7), Some(bps));
        }
        run(&mut channel, 0, 1, 0);
        assert_eq!(channel.measurement().capacity, None);
        channel.on_report(None, Some(1e300));
        run(&mut channel, 1000, 1, 0);
        assert!(kbps(channel.measurement().capacity) <= 10.1e6);
    }

    #[test]
    fn a_notice_is_repeated_until_it_is_followed_and_while_it_holds() {
        let mut channel = Channel::new(AMPLE);
        let at = Time::from_millis;
        assert_eq!(channel.due_notice(at(0)), None);
        channel.decide(Decision::Client(Rate::from_bps(500_000)));
        let notice = channel.due_notice(at(0)).unwrap();
        assert_eq!(channel.due_notice(at(499)), None);
        assert_eq!(channel.due_notice(at(500)), Some(notice));
        assert!(!channel.ignores_notice(at(1499)) && channel.ignores_notice(at(1500)));
        channel.on_report(Some(notice.epoch.0), None);
        assert!(!channel.ignores_notice(at(9000)));
        assert!(channel.due_notice(at(1000)).is_some(), "a hold ends without news of it");
        channel.decide(Decision::Natural);
        let free = channel.due_notice(at(1100)).unwrap();
        assert_eq!(free.target, None);
        channel.on_report(Some(free.epoch.0), None);
        assert_eq!(channel.due_notice(at(2000)), None);
    }

    #[test]
    fn a_downlink_is_held_after_the_client_is_known_to_be_free_and_gets_back_what_it_had() {
        let mut channel = Channel::new(AMPLE);
        channel.down_estimate = Some(Rate::from_bps(2_000_000));
        channel.decide(Decision::Client(Rate::from_bps(500_000)));
        channel.decide(Decision::Server(Rate::from_bps(600_000)));
        let at = Time::from_millis;
        assert_eq!(channel.down_bps(at(0)), 2e6);
        let notice = channel.due_notice(at(0)).unwrap();
        channel.on_report(Some(notice.epoch.0), None);
        assert_eq!((channel.down_bps(at(100)), channel.state()), (6e5, State::ServerConstrained));
        // While it is held its controller finds less and less.
        channel.down_estimate = Some(Rate::from_bps(700_000));
        channel.decide(Decision::Natural);
        assert_eq!(channel.down_bps(at(200)), 2e6);
        assert_eq!(channel.down_bps(at(2300)), 7e5);
    }

    #[test]
    fn a_channel_without_a_queue_for_long_is_no_bottleneck_unless_it_is_held() {
        let mut channel = Channel::new(AMPLE);
        let end = run(&mut channel, 0, 15, 0);
        let end = run(&mut channel, end, 5, 40);
        channel.decide(Decision::Client(Rate::from_bps(500_000)));
        let end = run(&mut channel, end, 60, 0);
        assert!(channel.capacity().is_some());
        channel.decide(Decision::Natural);
        let end = run(&mut channel, end, 10, 40);
        let end = run(&mut channel, end, 29, 0);
        assert!(channel.capacity().is_some());
        run(&mut channel, end, 7, 0);
        assert_eq!(channel.capacity(), None);
    }

    #[test]
    fn a_channel_keeps_no_more_than_some_seconds() {
        let mut channel = Channel::new(AMPLE);
        run(&mut channel, 0, 300, 0);
        assert!(channel.counted.len() <= 30, "{}", channel.counted.len());
    }
}
