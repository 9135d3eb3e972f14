//! Delivery opportunities as the Mahimahi emulator has them.

use std::time::Duration;

use airlane_base::{InputError, Rate, Time};

/// IP bytes that one opportunity carries.
pub const OPPORTUNITY_BYTES: u32 = 1_500;

/// The milliseconds at which 1500 IP bytes may leave. The list repeats; its last entry is the
/// period. Entries may repeat: so many opportunities in that millisecond.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opportunities {
    millis: Vec<u32>,
}

impl Opportunities {
    /// From milliseconds that do not descend and end above zero.
    ///
    /// # Errors
    /// If there are none, they descend, or the last is zero. The error's line is the entry's
    /// number from 1.
    pub fn new(millis: Vec<u32>) -> Result<Self, InputError> {
        let Some(last) = millis.last() else {
            return Err(InputError::new(
                "no delivery opportunity",
                "expected one millisecond per line",
            ));
        };
        if *last == 0 {
            return Err(InputError::new(
                "the last opportunity is at 0 ms",
                "the last line is the period of the trace: it must be above zero",
            )
            .at_line(millis.len()));
        }
        if let Some(i) = millis.windows(2).position(|w| w[1] < w[0]) {
            return Err(InputError::new(
                format!("{} ms after {} ms", millis[i + 1], millis[i]),
                "expected milliseconds that do not descend",
            )
            .at_line(i + 2));
        }
        Ok(Self { millis })
    }

    /// Number of opportunities in a period.
    pub fn count(&self) -> usize {
        self.millis.len()
    }

    /// The milliseconds of a period.
    pub fn millis(&self) -> &[u32] {
        &self.millis
    }

    /// The period.
    pub fn period(&self) -> Duration {
        Duration::from_millis(self.period_ms())
    }

    /// Mean capacity.
    pub fn mean(&self) -> Rate {
        Rate::of(self.millis.len() as u64 * u64::from(OPPORTUNITY_BYTES), self.period())
    }

    /// Number of opportunities in [0, `t`) of the endless repetition.
    pub fn count_before(&self, t: Duration) -> u64 {
        let ms = t.as_nanos().div_ceil(1_000_000).min(u128::from(u64::MAX)) as u64;
        let (cycles, ms) = (ms / self.period_ms(), ms % self.period_ms());
        cycles * self.millis.len() as u64
            + self.millis.partition_point(|m| u64::from(*m) < ms) as u64
            // Those at the period's very end happen at the start of the next.
            - if ms == 0 && cycles > 0 { self.at_period_end() } else { 0 }
    }

    fn at_period_end(&self) -> u64 {
        let last = self.millis[self.millis.len() - 1];
        self.millis.iter().rev().take_while(|m| **m == last).count() as u64
    }

    fn period_ms(&self) -> u64 {
        u64::from(self.millis[self.millis.len() - 1])
    }
}

/// The next opportunity, moving forward only.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpportunityCursor {
    /// Position in the trace at which the world starts, in nanoseconds.
    offset: u64,
    /// Start of the current repetition, in milliseconds.
    base_ms: u64,
    index: usize,
}

impl OpportunityCursor {
    pub(super) fn new(of: &Opportunities, offset: Duration) -> Self {
        let offset = (offset.as_nanos() % of.period().as_nanos()) as u64;
        let mut cursor = Self { offset, base_ms: 0, index: 0 };
        cursor.skip_before(of, Time::ZERO);
        cursor
    }

    /// IP bytes of all opportunities before `now`.
    pub(super) fn bytes_until(&self, of: &Opportunities, now: Time) -> f64 {
        let offset = Duration::from_nanos(self.offset);
        let count = of.count_before(now.since_start() + offset) - of.count_before(offset);
        count as f64 * f64::from(OPPORTUNITY_BYTES)
    }

    /// Time of the opportunity.
    #[inline]
    pub(super) fn time(&self, of: &Opportunities) -> Time {
        let ms = self.base_ms + u64::from(of.millis[self.index]);
        Time::from_nanos((ms * 1_000_000).saturating_sub(self.offset))
    }

    /// Goes on to the next.
    #[inline]
    pub(super) fn advance(&mut self, of: &Opportunities) {
        self.index += 1;
        if self.index == of.millis.len() {
            self.index = 0;
            self.base_ms += of.period_ms();
        }
    }

    /// Lets those before `now` pass unused.
    pub(super) fn skip_before(&mut self, of: &Opportunities, now: Time) {
        let ms = (now.as_nanos() + self.offset).div_ceil(1_000_000);
        if self.base_ms + u64::from(of.millis[self.index]) >= ms {
            return;
        }
        if ms - self.base_ms > of.period_ms() {
            // The one cycle whose (start, end] holds `ms`: its end is the next one's start.
            self.base_ms = (ms - 1) / of.period_ms() * of.period_ms();
            self.index = 0;
        }
        let wanted = ms - self.base_ms;
        let rest = &of.millis[self.index..];
        self.index += rest.partition_point(|m| u64::from(*m) < wanted);
    }
}
