//! Capacity of a participant's channel: found by the server, reported by the participant, or known beforehand.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use airlane_base::{Rate, Time};
use airlane_plum::{CapacityEstimator, CapacityMethod, ChannelSample};

/// Age from which on a report does not count any more.
const MAX_REPORT_AGE: Duration = Duration::from_secs(2);
/// Most that a report counts for, relative to what the server finds, and the inverse of the least: whoever reports
/// more or less gains no more by it.
const MAX_REPORTED: f64 = 2.0;

/// Function from a participant's name and a time to the capacity of its channel in IP bytes; `None` where it is not
/// known.
pub type CapacityOf = dyn Fn(&str, Time) -> Option<Rate> + Send + Sync;

/// Source of the capacities of channels.
#[derive(Clone, Default)]
pub enum CapacitySource {
    /// The server finds them.
    #[default]
    Found,
    /// Participants report them, as their radios find them; a report counts for half of what the server finds at
    /// least, and for twice that at most.
    /// Where none came for 2 s it is what the server finds.
    Reported,
    /// They are known beforehand, as to an oracle. What is not known the server finds.
    Known(Arc<CapacityOf>),
}

impl fmt::Debug for CapacitySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Found => "Found",
            Self::Reported => "Reported",
            Self::Known(_) => "Known",
        })
    }
}

/// Capacity of one participant's channel.
pub(super) struct ChannelCapacity {
    source: CapacitySource,
    found: CapacityEstimator,
    reported: Option<(Time, Rate)>,
}

impl ChannelCapacity {
    pub(super) fn new(source: CapacitySource, method: CapacityMethod) -> Self {
        Self { source, found: CapacityEstimator::new(method), reported: None }
    }

    pub(super) fn on_sample(&mut self, now: Time, sample: ChannelSample) {
        self.found.on_sample(now, sample);
    }

    pub(super) fn on_report(&mut self, now: Time, capacity: Rate) {
        self.reported = Some((now, capacity));
    }

    /// Capacity of the channel of the participant with this name; `None` before the first measurement.
    pub(super) fn rate(&self, now: Time, name: &str) -> Option<Rate> {
        let found = self.found.estimate().map(|estimate| estimate.rate);
        match &self.source {
            CapacitySource::Found => found,
            CapacitySource::Known(capacity_of) => capacity_of(name, now).or(found),
            CapacitySource::Reported => {
                let reported = self.reported.filter(|(at, _)| now - *at <= MAX_REPORT_AGE);
                let (min, max) = (found?.scale(1.0 / MAX_REPORTED), found?.scale(MAX_REPORTED));
                reported.map(|(_, capacity)| capacity.clamp(min, max)).or(found)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(source: CapacitySource) -> ChannelCapacity {
        let mut capacity = ChannelCapacity::new(source, CapacityMethod::default());
        let half = Some(Rate::from_bps(5_000_000));
        let sample =
            ChannelSample { up_estimate: half, down_estimate: half, ..ChannelSample::default() };
        capacity.on_sample(Time::ZERO, sample);
        capacity
    }

    #[test]
    fn a_report_counts_while_it_is_fresh_and_for_half_to_twice_what_is_found() {
        let mut capacity = with(CapacitySource::Reported);
        let at = |capacity: &ChannelCapacity, s: u64| {
            capacity.rate(Time::from_millis(1000 * s), "a").map(Rate::bps)
        };
        assert_eq!(at(&capacity, 0), Some(10_000_000));
        capacity.on_report(Time::ZERO, Rate::from_bps(13_000_000));
        assert_eq!(at(&capacity, 2), Some(13_000_000));
        assert_eq!(at(&capacity, 3), Some(10_000_000));
        capacity.on_report(Time::ZERO, Rate::from_bps(1_000_000_000));
        assert_eq!(at(&capacity, 1), Some(20_000_000));
        // A capacity of nothing would be no input of the optimiser, and end the coordination of all.
        capacity.on_report(Time::ZERO, Rate::ZERO);
        assert_eq!(at(&capacity, 1), Some(5_000_000));
    }

    #[test]
    fn nobody_listens_to_reports_unless_asked_to() {
        let mut capacity = with(CapacitySource::Found);
        capacity.on_report(Time::ZERO, Rate::from_bps(13_000_000));
        assert_eq!(capacity.rate(Time::ZERO, "a"), Some(Rate::from_bps(10_000_000)));
    }

    #[test]
    fn what_an_oracle_does_not_know_is_found() {
        let known = |name: &str, _| (name == "a").then(|| Rate::from_bps(7));
        let capacity = with(CapacitySource::Known(Arc::new(known)));
        assert_eq!(capacity.rate(Time::ZERO, "a"), Some(Rate::from_bps(7)));
        assert_eq!(capacity.rate(Time::ZERO, "b"), Some(Rate::from_bps(10_000_000)));
    }
}
