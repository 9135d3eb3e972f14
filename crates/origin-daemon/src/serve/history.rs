//! The history of a session's figures: a point per second, for ten minutes.
//!
//! With thousands of sessions the histories are most of the server's memory, so points are packed:
//! 12 bytes each.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use airlane_base::Time;

use super::registry::Sample;

/// Points kept, one per second: ten minutes.
const MAX_POINTS: usize = 600;
/// Time between two points, at least: a second, but for how late a look is.
const STEP: Duration = Duration::from_millis(900);
/// Points for which a history begins, and grows at once: what it does not need yet others may have, and
/// who asks for one chunk and goes needs few.
const FIRST: usize = 15;
const GROWTH: usize = 60;

/// A point: time in seconds, rate in bit/s, weight, buffer in seconds, quality, mean QoE.
pub(super) type Point = (f64, Option<f64>, Option<f64>, Option<f64>, Option<f64>, Option<f64>);

/// The last ten minutes of a session.
#[derive(Debug)]
pub(super) struct History {
    /// The number of the session.
    session: u64,
    /// Its connection, and the last known address of the client on it.
    peer: (u64, SocketAddr),
    /// Time of the last point, and the session's bytes then.
    last: (Time, u64),
    /// The rate by the bytes sent between the last two points, for sessions without a measured
    /// rate.
    rate_bps: Option<f64>,
    points: VecDeque<PackedPoint>,
}

/// A point, with the time since the one before it.
#[derive(Clone, Copy, Debug)]
struct PackedPoint {
    rate_bps: Logarithmic<1>,
    weight: Logarithmic<10_000>,
    passed: Fixed<1_000>,
    buffer_s: Fixed<100>,
    quality: Fixed<500>,
    /// Half of how far it is above [`MIN_QOE`].
    qoe: Fixed<100>,
}

/// Means of QoE below this are shown as this: the player stalled for most of the time.
const MIN_QOE: f64 = -1_000.0;

/// A number from 0 on in so many parts of one, or none. What is beyond its range, of some 65 000
/// parts, is shown as the end of it.
#[derive(Clone, Copy, Debug)]
struct Fixed<const PARTS: u16>(u16);

impl<const PARTS: u16> Fixed<PARTS> {
    const NONE: u16 = u16::MAX;

    fn new(value: Option<f64>) -> Self {
        let parts = |v: f64| (v * f64::from(PARTS)).round().clamp(0.0, f64::from(Self::NONE - 1));
        Self(value.filter(|v| !v.is_nan()).map_or(Self::NONE, |v| parts(v) as u16))
    }

    fn get(self) -> Option<f64> {
        (self.0 != Self::NONE).then(|| f64::from(self.0) / f64::from(PARTS))
    }
}

/// A positive number to 0.03 %, or none: so many parts of one are its least value, and 3 * 10^9
/// times that its largest. What is smaller or larger is shown as these.
#[derive(Clone, Copy, Debug)]
struct Logarithmic<const PARTS: u16>(u16);

impl<const PARTS: u16> Logarithmic<PARTS> {
    const NONE: u16 = u16::MAX;
    /// Steps from one number to e times it.
    const STEPS: f64 = 3_000.0;

    fn new(value: Option<f64>) -> Self {
        let steps = |v: f64| {
            let steps = (v * f64::from(PARTS)).max(1.0).ln() * Self::STEPS;
            steps.round().min(f64::from(Self::NONE - 1)) as u16
        };
        Self(value.filter(|v| !v.is_nan()).map_or(Self::NONE, steps))
    }

    fn get(self) -> Option<f64> {
        let value = (f64::from(self.0) / Self::STEPS).exp() / f64::from(PARTS);
        (self.0 != Self::NONE).then_some(value)
    }
}

impl PackedPoint {
    /// A point at `seconds` from its sample.
    fn unpack(&self, seconds: f64) -> Point {
        (
            rounded(seconds),
            // The least rate stands for none at all.
            self.rate_bps.get().map(|v| if v > 1.0 { v.round() } else { 0.0 }),
            self.weight.get().map(rounded),
            self.buffer_s.get(),
            self.quality.get(),
            self.qoe.get().map(|v| rounded(2.0 * v + MIN_QOE)),
        )
    }
}

impl History {
    pub(super) fn new(of: &Sample) -> Self {
        Self {
            session: of.session,
            peer: (of.client.id, of.client.peer),
            last: (of.began, 0),
            rate_bps: None,
            points: VecDeque::new(),
        }
    }

    /// True if the history belongs to the session with this number, and not to an earlier one with
    /// the same key.
    pub(super) fn is_of(&self, session: u64) -> bool {
        self.session == session
    }

    /// The last known address of the session's client, if the session is still on that connection.
    pub(super) fn peer(&self, connection: u64) -> Option<SocketAddr> {
        (self.peer.0 == connection).then_some(self.peer.1)
    }

    pub(super) fn rate_bps(&self) -> Option<f64> {
        self.rate_bps
    }

    /// The newest points, `most` at most, of those after `since_s`; the oldest of them first.
    pub(super) fn points(&self, since_s: f64, most: usize) -> Vec<Point> {
        let mut at = self.last.0.as_secs_f64();
        let mut newest = Vec::new();
        for point in self.points.iter().rev().take(most) {
            if rounded(at) <= since_s {
                break;
            }
            newest.push(point.unpack(at));
            at -= point.passed.get().unwrap_or_default();
        }
        newest.reverse();
        newest
    }

    /// Adds a point, if it is time for one. `peer` is where the client is now.
    pub(super) fn on_tick(&mut self, now: Time, of: &Sample, peer: SocketAddr) {
        self.peer = (of.client.id, peer);
        let (at, bytes) = self.last;
        let passed = now - at;
        if passed < STEP {
            return;
        }
        let delivered = of.bytes.saturating_sub(bytes) as f64;
        self.rate_bps = Some(delivered * 8.0 / passed.as_secs_f64());
        self.last = (now, of.bytes);
        if passed >= Duration::from_secs(60) {
            // Nobody looked for so long, as where the machine slept: points before have no place.
            self.points.clear();
        }
        if self.points.len() == MAX_POINTS {
            self.points.pop_front();
        } else if self.points.len() == self.points.capacity() {
            self.points.reserve_exact(self.points.len().clamp(FIRST, GROWTH));
        }
        let rate = of.update.map(|u| u.smoothed_bps).or(self.rate_bps);
        self.points.push_back(PackedPoint {
            rate_bps: Logarithmic::new(rate),
            weight: Logarithmic::new(of.update.map(|u| u.weight)),
            passed: Fixed::new(Some(passed.as_secs_f64())),
            buffer_s: Fixed::new(of.buffer_s),
            quality: Fixed::new(of.quality),
            qoe: Fixed::new(of.mean_qoe.map(|v| (v - MIN_QOE) / 2.0)),
        });
    }
}

/// Rounds to thousandths.
pub(super) fn rounded(x: f64) -> f64 {
    (x * 1e3).round() / 1e3
}

#[cfg(test)]
mod tests {
    use airlane_origin::{Carrier, ClientConnection};

    use super::*;

    fn sample(bytes: u64, quality: f64, qoe: f64) -> Sample {
        let peer = ([192, 0, 2, 1], 443).into();
        Sample {
            session: 1,
            client: ClientConnection { id: 7, peer, carrier: Carrier::Http3 },
            began: Time::ZERO,
            bytes,
            update: None,
            buffer_s: Some(12.34),
            quality: Some(quality),
            mean_qoe: Some(qoe),
        }
    }

    #[test]
    fn points_are_kept_for_ten_minutes_and_found_by_their_time() {
        let of = sample(0, 93.456, 88.8);
        let mut history = History::new(&of);
        for second in 1..=1000 {
            let late = Duration::from_millis(second % 7);
            let now = Time::ZERO + Duration::from_secs(second) + late;
            let of = Sample { bytes: second * 125_000, ..of.clone() };
            history.on_tick(now, &of, of.client.peer);
        }
        let all = history.points(-1.0, usize::MAX);
        assert_eq!(all.len(), MAX_POINTS);
        let (first, last) = (all[0].0, all[MAX_POINTS - 1].0);
        assert!((first - 401.0).abs() < 0.02 && last == 1000.006, "{first} to {last}");
        let (_, rate, weight, buffer, quality, qoe) = all[MAX_POINTS - 1];
        assert!((rate.unwrap() - 1e6).abs() < 1e4 && weight.is_none());
        assert_eq!((buffer, quality, qoe), (Some(12.34), Some(93.456), Some(88.8)));
        assert_eq!(history.points(998.9, usize::MAX).len(), 2);
        assert_eq!(history.points(last, usize::MAX).len(), 0);
        let few = history.points(-1.0, 3);
        assert_eq!((few.len(), few[2].0), (3, last));
        let bytes = history.points.capacity() * size_of::<PackedPoint>();
        assert!(bytes <= 12 * MAX_POINTS, "{bytes} bytes");
    }

    #[test]
    fn rates_and_weights_are_kept_to_a_part_in_three_thousand() {
        for value in [0.25, 1.0, 3.3, 650.0] {
            let kept = Logarithmic::<10_000>::new(Some(value)).get().unwrap();
            assert!((kept / value - 1.0).abs() < 1.0 / 3000.0, "{kept} for {value}");
        }
        for value in [1.0, 300e3, 4.5e6, 2.5e9] {
            let kept = Logarithmic::<1>::new(Some(value)).get().unwrap();
            assert!((kept / value - 1.0).abs() < 1.0 / 3000.0, "{kept} for {value}");
        }
        assert_eq!(Logarithmic::<1>::new(Some(0.0)).get(), Some(1.0));
        assert!(Logarithmic::<1>::new(Some(f64::INFINITY)).get() > Some(3e9));
        assert_eq!(Logarithmic::<1>::new(None).get(), None);
    }

    #[test]
    fn what_is_out_of_range_is_shown_as_the_end_of_it() {
        let mut history = History::new(&sample(0, 0.0, 0.0));
        let mut shown = |quality, qoe, at| {
            let of = sample(0, quality, qoe);
            history.on_tick(Time::ZERO + Duration::from_secs(at), &of, of.client.peer);
            let points = history.points(-1.0, usize::MAX);
            let last = points[points.len() - 1];
            (points.len(), last.4, last.5)
        };
        assert_eq!(shown(0.98, -123.4, 1), (1, Some(0.98), Some(-123.4)));
        assert_eq!(shown(1e9, -1e9, 2), (2, Some(131.068), Some(MIN_QOE)));
        assert_eq!(shown(f64::NAN, f64::INFINITY, 3), (3, None, Some(310.68)));
        // After a long sleep the history begins anew.
        assert_eq!(shown(50.0, 50.0, 3600).0, 1);
    }
}
