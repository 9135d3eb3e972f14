//! Variation within a second, for traces that were recorded by the second.

use std::sync::Arc;
use std::time::Duration;

use airlane_base::{InputError, Rate, Seed};

use super::synthetic::{Component, Memory, STEP};
use super::{MAX_S, Trace};
use crate::link::{RateProfile, Supply};

/// Time constant of fading, seconds: a person covers 0.14 m in it at walking pace, a few
/// wavelengths of a mid-band 5G cell.
pub const FADING_S: f64 = 0.1;
/// A second's steps.
const STEPS: usize = 50;
/// The greatest coefficient of variation that can be asked for.
pub const MAX_FADING: f64 = 2.0;

impl Trace {
    /// This trace with fading within each second: steps of 20 ms, each the trace's own mean over it times
    /// exp(s F), with F an Ornstein-Uhlenbeck process of variance one and time constant [`FADING_S`], and
    /// s such that the factor's coefficient of variation is `variation`. The mean of each second stays.
    /// The name gets `~` and the variation behind it.
    ///
    /// # Errors
    /// If `variation` is not from 0 to 2, or the trace is longer than 115 days.
    pub fn fading(&self, variation: f64, seed: Seed) -> Result<Self, InputError> {
        if !(0.0..=MAX_FADING).contains(&variation) {
            let found = format!("fading of {variation}");
            return Err(InputError::new(found, format!("expected 0 to {MAX_FADING}")));
        }
        let length = match self.length() {
            // A constant has no length of its own.
            length if length.is_zero() => Duration::from_secs(600),
            length => length,
        };
        if length.as_secs_f64() > MAX_S {
            return Err(InputError::new("a trace that is too long", "expected at most 115 days"));
        }
        let spread = (1.0 + variation * variation).ln().sqrt();
        let mut process =
            Memory::new(Component { share: 1.0, time_s: FADING_S }, STEP, seed.split("fading"));
        let count = length.as_nanos().div_ceil(STEP.as_nanos()) as u32;
        let mut before = 0.0;
        let mut bps: Vec<f64> = (1..=count)
            .map(|i| {
                let (from, to) = (STEP * (i - 1), (STEP * i).min(length));
                let bytes = self.bytes_until(to);
                let own = (bytes - before) * 8.0 / (to - from).as_secs_f64();
                before = bytes;
                own
            })
            .collect();
        for second in bps.chunks_mut(STEPS) {
            let own: f64 = second.iter().sum();
            second.iter_mut().for_each(|rate| *rate *= (spread * process.next()).exp());
            let faded: f64 = second.iter().sum();
            if faded > 0.0 {
                second.iter_mut().for_each(|rate| *rate *= own / faded);
            }
        }
        let steps: Vec<_> =
            (0..count).map(|i| (STEP * i, Rate::from_bps_f64(bps[i as usize]))).collect();
        let supply = Supply::Profile(Arc::new(RateProfile::new(&steps, Some(length))?));
        Ok(Self { name: format!("{}~{variation}", self.name), supply })
    }
}
