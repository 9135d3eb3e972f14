//! Rates in bits per second.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A rate in whole bits per second.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Rate(u64);

impl Rate {
    /// No bits at all.
    pub const ZERO: Self = Self(0);

    /// `bps` bits per second.
    pub const fn from_bps(bps: u64) -> Self {
        Self(bps)
    }

    /// `bps` bits per second, rounded; negative and NaN become zero.
    pub fn from_bps_f64(bps: f64) -> Self {
        Self(bps.round().max(0.0) as u64)
    }

    /// `mbps` megabits (10^6) per second.
    pub fn from_mbps(mbps: f64) -> Self {
        Self::from_bps_f64(mbps * 1e6)
    }

    /// `bytes` in `time`, zero if `time` is.
    pub fn of(bytes: u64, time: Duration) -> Self {
        if time.is_zero() {
            return Self::ZERO;
        }
        Self::from_bps_f64(bytes as f64 * 8.0 / time.as_secs_f64())
    }

    /// Bits per second.
    pub const fn bps(self) -> u64 {
        self.0
    }

    /// Bits per second as a float.
    pub fn as_f64(self) -> f64 {
        self.0 as f64
    }

    /// Megabits per second.
    pub fn mbps(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// Time that `bytes` take at this rate, rounded up to the nanosecond; [`Duration::MAX`] at
    /// zero.
    pub fn time_for(self, bytes: u64) -> Duration {
        if self.0 == 0 {
            return Duration::MAX;
        }
        let nanos = (u128::from(bytes) * 8_000_000_000).div_ceil(u128::from(self.0));
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// Whole bytes that fit into `time`.
    pub fn bytes_in(self, time: Duration) -> u64 {
        let bytes = u128::from(self.0) * time.as_nanos() / 8_000_000_000;
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }

    /// The rate times `factor`, rounded.
    #[must_use]
    pub fn scale(self, factor: f64) -> Self {
        Self::from_bps_f64(self.0 as f64 * factor)
    }
}

impl fmt::Debug for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3} Mbit/s", self.mbps())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serialisation_time_is_exact_to_the_nanosecond() {
        let r = Rate::from_mbps(10.0);
        assert_eq!(r.time_for(1_250), Duration::from_millis(1));
        assert_eq!(Rate::from_bps(3).time_for(1), Duration::from_nanos(2_666_666_667));
        assert_eq!(Rate::ZERO.time_for(1), Duration::MAX);
        assert_eq!(r.bytes_in(Duration::from_millis(1)), 1_250);
        assert_eq!(Rate::of(1_250, Duration::from_millis(1)), r);
        assert_eq!(Rate::of(1, Duration::ZERO), Rate::ZERO);
    }
}
