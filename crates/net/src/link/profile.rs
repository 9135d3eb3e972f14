//! A capacity that is constant piece by piece, integrated exactly.

use std::sync::Arc;
use std::time::Duration;

use airlane_base::{InputError, Rate, Time};

/// Bits times nanoseconds-per-second in a byte: work and capacity are counted in bit nanoseconds
/// per second, so that rate times time is exact in integers.
const UNITS_PER_BYTE: u64 = 8_000_000_000;

/// Rates over time: each holds from its start until the next. With a period it repeats, without
/// one the last rate holds for ever.
#[derive(Clone, Debug, PartialEq)]
pub struct RateProfile {
    /// Starts in nanoseconds, the first zero, strictly ascending.
    starts: Vec<u64>,
    rates: Vec<u64>,
    /// Work done before each start.
    before: Vec<u128>,
    /// Length in nanoseconds; `u64::MAX` for a profile that does not repeat.
    period: u64,
    /// Work done in a whole period.
    whole: u128,
}

impl RateProfile {
    /// A rate that never changes.
    pub fn constant(rate: Rate) -> Self {
        let whole = u128::from(u64::MAX) * u128::from(rate.bps());
        Self { starts: vec![0], rates: vec![rate.bps()], before: vec![0], period: u64::MAX, whole }
    }

    /// Rates from their starts on; the first start must be zero. With a period, which must lie
    /// after the last start, the profile repeats.
    ///
    /// # Errors
    /// If it is empty, does not ascend, or never carries anything.
    pub fn new(steps: &[(Duration, Rate)], period: Option<Duration>) -> Result<Self, InputError> {
        let expected = "expected start times that begin at zero and ascend";
        let Some((first, _)) = steps.first() else {
            return Err(InputError::new("no rate at all", expected));
        };
        if !first.is_zero() {
            return Err(InputError::new(format!("the first rate starts at {first:?}"), expected));
        }
        let nanos = |d: Duration| {
            u64::try_from(d.as_nanos())
                .ok()
                .filter(|n| *n < u64::MAX / 4)
                .ok_or_else(|| InputError::new(format!("{d:?} is too late"), "below 146 years"))
        };
        let (mut starts, mut rates, mut before) = (Vec::new(), Vec::new(), Vec::new());
        let mut work = 0;
        for (start, rate) in steps {
            let start = nanos(*start)?;
            if let (Some(last), Some(last_rate)) = (starts.last(), rates.last()) {
                if start <= *last {
                    return Err(InputError::new("start times that do not ascend", expected));
                }
                work += u128::from(start - last) * u128::from(*last_rate);
            }
            starts.push(start);
            rates.push(rate.bps());
            before.push(work);
        }
        let period = match period {
            None => u64::MAX,
            Some(p) if nanos(p)? > starts[starts.len() - 1] => nanos(p)?,
            Some(p) => {
                let found = format!("the period {p:?} ends before the last rate starts");
                return Err(InputError::new(found, expected));
            }
        };
        if rates.iter().all(|r| *r == 0) {
            return Err(InputError::new("a capacity of zero for ever", "expected some capacity"));
        }
        let last = starts.len() - 1;
        let whole = before[last] + u128::from(period - starts[last]) * u128::from(rates[last]);
        Ok(Self { starts, rates, before, period, whole })
    }

    /// Length of what repeats; `None` if it does not.
    pub fn period(&self) -> Option<Duration> {
        (self.period != u64::MAX).then(|| Duration::from_nanos(self.period))
    }

    /// IP bytes that fit into the time from the profile's start until `t`.
    pub fn bytes_until(&self, t: Duration) -> f64 {
        let t = t.as_nanos().min(u128::from(u64::MAX - 1)) as u64;
        let (cycles, t) = (t / self.period, t % self.period);
        let i = self.piece(t);
        let work = |t: u64| self.before[i] + u128::from(t - self.starts[i]) * self.rate(i);
        (cycles as f64 * self.whole as f64 + work(t) as f64) / UNITS_PER_BYTE as f64
    }

    /// The mean rate over a period; of a profile that does not repeat, its last rate.
    pub fn mean(&self) -> Rate {
        match self.period() {
            None => Rate::from_bps(self.rates[self.rates.len() - 1]),
            Some(p) => Rate::from_bps_f64(self.whole as f64 / p.as_nanos() as f64),
        }
    }

    /// The rates and their starts.
    pub fn steps(&self) -> impl Iterator<Item = (Duration, Rate)> {
        let starts = self.starts.iter().map(|s| Duration::from_nanos(*s));
        starts.zip(self.rates.iter().map(|r| Rate::from_bps(*r)))
    }

    fn rate(&self, i: usize) -> u128 {
        u128::from(self.rates[i])
    }

    /// The piece that holds at `t` within a period.
    fn piece(&self, t: u64) -> usize {
        self.starts.partition_point(|s| *s <= t) - 1
    }
}

/// A place in a profile that only moves forward.
#[derive(Clone, Debug)]
pub(crate) struct ProfileCursor {
    profile: Arc<RateProfile>,
    /// Position in the profile at which the world starts, in nanoseconds.
    offset: u64,
    /// Start of the current repetition.
    base: u64,
    piece: usize,
}

impl ProfileCursor {
    pub(crate) fn new(profile: Arc<RateProfile>, offset: Duration) -> Self {
        let nanos = offset.as_nanos() as u64;
        let offset = if profile.period == u64::MAX { nanos } else { nanos % profile.period };
        Self { profile, offset, base: 0, piece: 0 }
    }

    /// IP bytes that could have been carried until `now`.
    pub(crate) fn bytes_until(&self, now: Time) -> f64 {
        let offset = Duration::from_nanos(self.offset);
        self.profile.bytes_until(now.since_start() + offset) - self.profile.bytes_until(offset)
    }

    /// End of the current piece; `u64::MAX` if it has none.
    #[inline]
    fn end(&self) -> u64 {
        match self.profile.starts.get(self.piece + 1) {
            Some(start) => self.base + start,
            None => self.base.saturating_add(self.profile.period),
        }
    }

    fn step(&mut self) {
        if self.piece + 1 < self.profile.starts.len() {
            self.piece += 1;
        } else {
            self.base = self.end();
            self.piece = 0;
        }
    }

    fn seek(&mut self, t: u64) {
        if self.end() > t {
            return;
        }
        self.step();
        if self.end() <= t {
            self.base = t - t % self.profile.period;
            self.piece = self.profile.piece(t - self.base);
        }
    }

    /// Time at which the last of `bytes` leaves if the first begins at `start`, rounded up to the
    /// nanosecond; far in the future if the capacity ends before.
    #[inline]
    pub(crate) fn serve(&mut self, start: Time, bytes: u32) -> Time {
        let mut t = start.as_nanos() + self.offset;
        self.seek(t);
        let mut work = u64::from(bytes) * UNITS_PER_BYTE;
        loop {
            let (rate, end) = (self.profile.rates[self.piece], self.end());
            if rate > 0 {
                let needed = work.div_ceil(rate);
                if needed <= end - t {
                    return Time::from_nanos(t + needed - self.offset);
                }
                // Less than `work`, so it fits.
                work -= rate * (end - t);
            }
            if end == u64::MAX {
                return Time::FAR_FUTURE;
            }
            t = end;
            self.step();
            let whole = self.profile.whole;
            if self.piece == 0 && u128::from(work) > whole {
                // Many repetitions at once, so that a slow profile with a short period does not
                // take a step for each.
                let times = (u128::from(work) - 1) / whole;
                let skip = u64::try_from(times * u128::from(self.profile.period));
                let Some(later) = skip.ok().and_then(|skip| t.checked_add(skip)) else {
                    return Time::FAR_FUTURE;
                };
                work -= (times * whole) as u64;
                self.base += later - t;
                t = later;
            }
        }
    }
}
