//! Padding that finds out whether a downlink carries the next layer.

use std::time::Duration;

use airlane_base::Time;

/// Length of a probe: longer than a controller takes to notice that there is more.
const LENGTH: Duration = Duration::from_secs(1);
/// Time between probes, after one that found enough.
const MIN_INTERVAL: Duration = Duration::from_secs(5);
/// Longest time between probes.
const MAX_INTERVAL: Duration = Duration::from_secs(30);
/// Rate of media and padding relative to the estimate: enough for the controller, not the application, to be the
/// limit.
const MARGIN: f64 = 1.15;

/// Demand of a receiver, in bit/s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Demand {
    /// Bitrate that its downlink is taken to carry.
    pub(super) budget: f64,
    /// Bitrate that its videos have.
    pub(super) total: f64,
    /// Bitrate that the next layer needs.
    pub(super) needed: f64,
}

/// Prober of one downlink: while a controller has no more to send than what it estimates it does not learn that there
/// is more.
#[derive(Clone, Debug)]
pub(super) struct Prober {
    /// End of the probe that runs.
    until: Option<Time>,
    /// Time before which none begins.
    next: Time,
    interval: Duration,
}

impl Prober {
    pub(super) fn new(now: Time) -> Self {
        Self { until: None, next: now + LENGTH, interval: MIN_INTERVAL }
    }

    /// Padding to send now, bit/s. `is_full`: media waits, so that there is no room for any.
    pub(super) fn update(&mut self, now: Time, demand: Option<Demand>, is_full: bool) -> f64 {
        let wanted = demand.filter(|demand| demand.needed > demand.budget);
        if let Some(until) = self.until
            && (wanted.is_none() || is_full || now >= until)
        {
            self.until = None;
            self.interval = match wanted.is_none() {
                true => MIN_INTERVAL,
                false => self.interval.mul_f64(1.5).min(MAX_INTERVAL),
            };
            self.next = now + self.interval;
        }
        let Some(demand) = wanted.filter(|_| !is_full) else { return 0.0 };
        if self.until.is_none() && now >= self.next {
            self.until = Some(now + LENGTH);
        }
        match self.until {
            Some(_) => (demand.needed.max(MARGIN * demand.budget) - demand.total).max(0.0),
            None => 0.0,
        }
    }
}
