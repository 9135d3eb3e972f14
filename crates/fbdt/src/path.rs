//! What the sender knows of a path: how long it takes, and what is on its way.

use std::time::Duration;

use airlane_base::Time;

use crate::reliability::Reliability;
use crate::window::{Arrived, Taken};
use crate::wire::Segment;

/// Preference of a path among others: the lowest is used first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Preference {
    /// Used only while no path that is no backup is there and speaks.
    pub is_backup: bool,
    /// Of paths that are alike in that, a dearer one is used only while the cheaper ones do not keep
    /// up. In any unit; paths of one price are used alike.
    pub price: u32,
}

/// Weight of a new sample in the time that a path takes.
const TIME_GAIN: f64 = 0.125;
/// Weight of a new sample in its deviation.
const DEVIATION_GAIN: f64 = 0.25;
/// A path with data on its way is silent after so long without progress, or four times its time.
const SILENCE: Duration = Duration::from_millis(200);
/// The time that a path is thought to take before there is a sample.
const FIRST_TIME: Duration = Duration::from_millis(100);

#[derive(Clone, Debug)]
pub(crate) struct Path {
    pub(crate) reliability: Reliability,
    /// From handing a segment over until its acknowledgement, the path's round trip with all queues
    /// in it: smoothed, and its smoothed deviation from that.
    pub(crate) time: Option<(Duration, Duration)>,
    /// Bytes on their way that it took first.
    pub(crate) on_way: u64,
    /// Bytes of all segments that were handed to it, and of those that came on it.
    pub(crate) handed: u64,
    pub(crate) received: u64,
    /// A segment that is watched to see how long the path takes: what had been handed to it with
    /// that, and when.
    pub(crate) watched: Option<(u64, Time)>,
    /// Time at which data last arrived on the path, or began to be on its way.
    pub(crate) last_progress: Time,
    /// True if it was asked for a segment and had none since it took one last.
    pub(crate) is_idle: bool,
    pub(crate) preference: Preference,
    /// True if the other end is known not to be heard on the path.
    pub(crate) is_unresponsive: bool,
    /// Since when there has been something to send whenever it was asked; only where paths differ in
    /// preference.
    pub(crate) busy_since: Option<Time>,
    /// Time at which the path last took data; only where paths differ in preference.
    pub(crate) used_at: Option<Time>,
    /// Time at which data that was handed to the path last arrived, also a copy, or began to be on
    /// its way.
    pub(crate) heard_at: Time,
}

impl Path {
    pub(crate) fn new(now: Time, preference: Preference) -> Self {
        Self {
            reliability: Reliability::new(now),
            time: None,
            on_way: 0,
            handed: 0,
            received: 0,
            watched: None,
            last_progress: now,
            is_idle: false,
            preference,
            is_unresponsive: false,
            busy_since: None,
            used_at: None,
            heard_at: now,
        }
    }

    pub(crate) fn time(&self) -> Duration {
        self.time.map_or(FIRST_TIME, |(mean, _)| mean)
    }

    /// Time that others wait for the path's last segments before they send these as well. The
    /// paper says a round trip (3.2), which half of all segments exceed; so it is one with four
    /// deviations, as timers of retransmission have them.
    pub(crate) fn redundancy_timeout(&self) -> Duration {
        self.time.map_or(FIRST_TIME, |(mean, deviation)| mean + 4 * deviation)
    }

    /// Time that a segment would take that the path took now: no less than the time for which
    /// nothing has arrived on it.
    pub(crate) fn expected(&self, now: Time) -> Duration {
        if self.on_way == 0 { self.time() } else { self.time().max(now - self.last_progress) }
    }

    /// Time at which the acknowledgement of a segment is to be expected: after the path's time, and
    /// not before all that was handed to it earlier has come, at the rate of right now.
    pub(crate) fn arrival(&self, now: Time, taken: Taken) -> Time {
        let by_time = taken.at + self.time();
        let Some(rate_bps) = self.reliability.current_bps(now) else { return by_time };
        let ahead_bits = taken.handed.saturating_sub(self.received) as f64 * 8.0;
        by_time.max(now + Duration::from_secs_f64((ahead_bits / rate_bps.max(1.0)).min(1e6)))
    }

    pub(crate) fn on_arrival(&mut self, now: Time, arrived: Arrived) {
        self.reliability.advance(now, self.on_way > 0);
        self.reliability.on_progress(arrived.bytes);
        self.on_way = self.on_way.saturating_sub(arrived.bytes);
        self.last_progress = now;
        if let Some(at) = arrived.taken_at {
            self.sample(now - at);
        }
    }

    pub(crate) fn hand_over(&mut self, now: Time, segment: &Segment) {
        if self.handed == self.received {
            self.heard_at = now;
        }
        self.handed += segment.payload.len() as u64;
        self.watched.get_or_insert((self.handed, now));
    }

    /// A segment took so long from being handed over to its acknowledgement.
    pub(crate) fn sample(&mut self, took: Duration) {
        self.time = Some(match self.time {
            Some((mean, deviation)) => (
                mean.mul_f64(1.0 - TIME_GAIN) + took.mul_f64(TIME_GAIN),
                deviation.mul_f64(1.0 - DEVIATION_GAIN)
                    + mean.abs_diff(took).mul_f64(DEVIATION_GAIN),
            ),
            None => (took, took / 2),
        });
    }

    /// True if something is under way on the path, and nothing has arrived for four times a
    /// segment's time, for `SILENCE` and for `least`.
    pub(crate) fn is_silent(&self, now: Time, least: Duration) -> bool {
        self.on_way > 0 && now - self.last_progress > SILENCE.max(4 * self.time()).max(least)
    }

    /// From when on it is silent if it is not heard of; `None` if nothing is on its way, copies
    /// included.
    pub(crate) fn silent_from(&self) -> Option<Time> {
        (self.handed > self.received).then(|| self.heard_at + SILENCE.max(4 * self.time()))
    }
}
