//! The same trace at another mean.

use std::sync::Arc;
use std::time::Duration;

use airlane_base::{InputError, Rate};

use super::Trace;
use crate::link::{OPPORTUNITY_BYTES, Opportunities, RateProfile, Supply};

/// Greatest relative difference between the mean and what was asked for, because rates are whole
/// bits per second.
const TOLERANCE: f64 = 1e-3;

impl Trace {
    /// This trace with every rate times one factor, so that its mean over its length is `mean`.
    /// The name gets `@` and the mean in Mbit/s behind it.
    ///
    /// A profile keeps its steps. Delivery opportunities become a profile of 1 ms steps (equal
    /// neighbours joined): those of a millisecond, times the factor, spread over it. So a packet
    /// no longer leaves at one instant, and what a link leaves unused of a millisecond is not
    /// lost before it ends. (To keep opportunities, some would have to be dropped or doubled, or
    /// the time be stretched, and either changes how the capacity varies.)
    ///
    /// # Errors
    /// If `mean` is so low that rates in whole bits per second do not come within 0.1 % of it.
    pub fn scaled_to(&self, mean: Rate) -> Result<Self, InputError> {
        let profile = match &self.supply {
            Supply::Constant(_) => None,
            Supply::Profile(p) => Some((p.steps().collect::<Vec<_>>(), p.period())),
            Supply::Opportunities(o) => Some((milliseconds(o), Some(o.period()))),
        };
        let supply = match profile {
            None => Supply::Constant(mean),
            Some((steps, period)) => Supply::Profile(Arc::new(scaled(&steps, period, mean)?)),
        };
        Ok(Self { name: format!("{}@{}Mbps", self.name, mean.mbps()), supply })
    }
}

fn scaled(
    steps: &[(Duration, Rate)],
    period: Option<Duration>,
    mean: Rate,
) -> Result<RateProfile, InputError> {
    let too_low = || {
        let found = format!("a mean of {mean}");
        InputError::new(found, "expected one that whole bits per second come within 0.1 % of")
    };
    // Not `RateProfile::mean`, which is rounded.
    let (mut bits, mut seconds) = (0.0, 0.0);
    for (i, (start, rate)) in steps.iter().enumerate() {
        let end = steps.get(i + 1).map(|s| s.0).or(period).unwrap_or(*start);
        let time = (end - *start).as_secs_f64();
        (bits, seconds) = (bits + rate.as_f64() * time, seconds + time);
    }
    let factor = mean.as_f64() * seconds / bits;
    let steps: Vec<_> = steps.iter().map(|(start, rate)| (*start, rate.scale(factor))).collect();
    let profile = RateProfile::new(&steps, period).map_err(|_| too_low())?;
    let off = (profile.mean().as_f64() - mean.as_f64()).abs();
    if off <= TOLERANCE * mean.as_f64() { Ok(profile) } else { Err(too_low()) }
}

/// The capacity of each millisecond, equal neighbours joined. What may leave at the period's end
/// leaves in the first millisecond, where the trace begins again.
fn milliseconds(of: &Opportunities) -> Vec<(Duration, Rate)> {
    let period = of.period().as_millis() as u32;
    let at_end = of.millis().iter().rev().take_while(|ms| **ms == period).count();
    let inner = &of.millis()[..of.count() - at_end];
    let rate = |n: usize| Rate::from_bps(n as u64 * u64::from(OPPORTUNITY_BYTES) * 8 * 1_000);
    let mut steps: Vec<(Duration, Rate)> = Vec::new();
    let mut push = |ms: u32, rate: Rate| {
        if steps.last().is_none_or(|(_, last)| *last != rate) {
            steps.push((Duration::from_millis(u64::from(ms)), rate));
        }
    };
    let mut next = 0;
    if inner.first() != Some(&0) {
        push(0, rate(at_end));
        next = 1;
    }
    for same in inner.chunk_by(|a, b| a == b) {
        let ms = same[0];
        if ms > next {
            push(next, Rate::ZERO);
        }
        push(ms, rate(same.len() + if ms == 0 { at_end } else { 0 }));
        next = ms + 1;
    }
    if next < period {
        push(next, Rate::ZERO);
    }
    steps
}
