//! Highest rate that a channel has carried of late.

use std::collections::VecDeque;
use std::time::Duration;

use airlane_base::Time;

/// Time over which a rate is the mean: bytes of one round trip more or less change it by little.
const RATE_TIME: Duration = Duration::from_secs(2);
/// Time after which a rate is forgotten, and the time that one entry stands for.
const MEMORY: Duration = Duration::from_secs(30);
const STEP: Duration = Duration::from_secs(1);

/// Highest rate of both directions together that was delivered within the last half minute.
#[derive(Clone, Debug, Default)]
pub(super) struct PeakRate {
    /// Counts of delivered bytes over the last moments, the latest last.
    counts: VecDeque<(Time, u64)>,
    /// Highest rates, each of one step, the latest last: the time of the beginning and bit/s.
    peaks: VecDeque<(Time, f64)>,
}

impl PeakRate {
    /// Takes the bytes that both directions have delivered up to now. Rates from before the time `from` are forgotten:
    /// since then the channel has been full, so it carries no more than what was delivered.
    pub(super) fn sample(&mut self, now: Time, bytes: u64, from: Option<Time>) {
        self.counts.push_back((now, bytes));
        while self.counts.get(1).is_some_and(|(at, _)| now.since(*at) >= RATE_TIME) {
            self.counts.pop_front();
        }
        let is_old =
            |at: Time| now.since(at) > MEMORY || from.is_some_and(|from| at < from + RATE_TIME);
        while self.peaks.front().is_some_and(|(at, _)| is_old(*at)) {
            self.peaks.pop_front();
        }
        let Some(bps) = self.mean() else { return };
        match self.peaks.back_mut() {
            Some((at, peak)) if now.since(*at) < STEP => *peak = peak.max(bps),
            _ => self.peaks.push_back((now, bps)),
        }
    }

    /// Mean rate of the last moments, bit/s; `None` as long as they are too short.
    fn mean(&self) -> Option<f64> {
        let ((first, before), (last, bytes)) = self.counts.front().zip(self.counts.back())?;
        let time = last.since(*first);
        let bytes = bytes.saturating_sub(*before) as f64;
        (time >= RATE_TIME).then(|| bytes * 8.0 / time.as_secs_f64())
    }

    /// Rate of the last moments, bit/s.
    pub(super) fn last_bps(&self) -> f64 {
        self.mean().unwrap_or(0.0)
    }

    /// The highest rate, bit/s; 0 as long as none is known.
    pub(super) fn max_bps(&self) -> f64 {
        self.peaks.iter().map(|(_, bps)| *bps).fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(peak: &mut PeakRate, from: (u64, u64), seconds: u64, mbps: f64) -> (u64, u64) {
        let (mut ms, mut bytes) = from;
        for _ in 0..seconds * 10 {
            ms += 100;
            bytes += (mbps * 12_500.0) as u64;
            peak.sample(Time::from_millis(ms), bytes, None);
        }
        (ms, bytes)
    }

    #[test]
    fn the_highest_rate_stays_for_half_a_minute_in_bounded_room() {
        let mut peak = PeakRate::default();
        let mbps = |peak: &PeakRate| (peak.max_bps() / 1e4).round() / 100.0;
        let at = run(&mut peak, (0, 0), 5, 2.0);
        let at = run(&mut peak, at, 28, 1.0);
        assert_eq!(mbps(&peak), 2.0);
        let at = run(&mut peak, at, 6, 1.0);
        assert_eq!((mbps(&peak), peak.last_bps().round()), (1.0, 1e6));
        run(&mut peak, at, 300, 1.0);
        assert!(peak.counts.len() <= 22 && peak.peaks.len() <= 32);
    }
}
