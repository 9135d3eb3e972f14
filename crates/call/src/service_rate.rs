//! Rate at which a queue of frames is served.

use std::collections::VecDeque;
use std::time::Duration;

use airlane_base::{Rate, Time};

/// Time over which the rate is measured: some frames.
const WINDOW: Duration = Duration::from_millis(250);
/// Time for which frames must have waited before there is a rate.
const MIN_TIME: Duration = Duration::from_millis(100);

/// Rate at which frames left while others waited. A frame is in service from the time at which it leaves the queue
/// until the next one does, so a service that slows down shows before that.
#[derive(Clone, Debug, Default)]
pub(crate) struct ServiceRate {
    /// Frames that left within the window, and the last one before it: time and bytes.
    left: VecDeque<(Time, u32)>,
}

impl ServiceRate {
    /// Notes that a frame leaves.
    pub(crate) fn leaves(&mut self, now: Time, bytes: u32) {
        self.left.push_back((now, bytes));
        self.trim(now);
    }

    /// Notes that a frame waits behind none: only the frame that left last is still in service.
    pub(crate) fn begins_to_wait(&mut self, now: Time) {
        let last = self.left.pop_back();
        self.left.clear();
        self.left.extend(last.filter(|(at, _)| now - *at < WINDOW));
    }

    /// Rate of the service while frames wait; `None` if they have not waited for long enough.
    pub(crate) fn rate(&self, now: Time) -> Option<Rate> {
        let within = |at: Time| now - at < WINDOW;
        let first = self.left.iter().rposition(|(at, _)| !within(*at)).unwrap_or(0);
        let (since, _) = *self.left.get(first)?;
        let time = now - since;
        let bytes: u64 = self.left.range(first..).map(|(_, bytes)| u64::from(*bytes)).sum();
        (time >= MIN_TIME).then(|| Rate::of(bytes, time))
    }

    fn trim(&mut self, now: Time) {
        while self.left.get(1).is_some_and(|(at, _)| now - *at >= WINDOW) {
            self.left.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn a_service_that_slows_down_shows_before_the_next_frame_leaves() {
        let mut service = ServiceRate::default();
        assert_eq!(service.rate(at(0)), None);
        for n in 0..10 {
            service.leaves(at(n * 50), 6_250);
        }
        let mbps = |service: &ServiceRate, ms| service.rate(at(ms)).map(|rate| rate.as_f64() / 1e6);
        let steady = mbps(&service, 500).unwrap();
        assert!((0.9..1.3).contains(&steady), "{steady}");
        // Nothing leaves any more.
        let slow = mbps(&service, 1450).unwrap();
        assert!((slow - 0.05).abs() < 1e-9, "{slow}");
    }

    #[test]
    fn what_left_before_frames_waited_does_not_count() {
        let mut service = ServiceRate::default();
        service.leaves(at(0), 1_000_000);
        service.leaves(at(900), 12_500);
        service.begins_to_wait(at(950));
        assert_eq!(service.rate(at(950)), None);
        assert_eq!(service.rate(at(1000)), Some(Rate::from_mbps(1.0)));
        service.begins_to_wait(at(2000));
        assert_eq!(service.rate(at(2500)), None);
    }
}
