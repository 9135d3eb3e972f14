//! The process: a Gaussian one with memory, mapped onto the capacities of a medium, with outages.

use std::time::Duration;

use airlane_base::{InputError, Rate, Rng, Seed};
use rand_distr::{Distribution, Exp1, StandardNormal};

use crate::link::RateProfile;

/// Sampling interval of generated traces. In recordings of LTE, means over 20 ms have the same
/// autocorrelation at a lag of 20 ms as at one of 200 ms, so a shorter step would add nothing. Recordings
/// of WiFi are constant over 200 ms.
pub const STEP: Duration = Duration::from_millis(20);
/// Number of levels of the Gaussian process that a capacity is given for.
pub const LEVELS: usize = 29;

/// The lowest and highest level, in standard deviations.
const LEVEL_END: f64 = 3.5;
const LEVEL_STEP: f64 = 0.25;
const MIN_TRACE_DURATION: Duration = Duration::from_secs(1);
const MAX_TRACE_DURATION: Duration = Duration::from_secs(24 * 3_600);

/// The Gaussian level that stands at place `i` of [`CapacityModel::capacity`]: -3.5 to 3.5 in
/// steps of 0.25 standard deviations.
pub fn level(i: usize) -> f64 {
    i as f64 * LEVEL_STEP - LEVEL_END
}

/// A stationary part of the process with exponential memory: an Ornstein-Uhlenbeck process of
/// mean 0, variance `share` and autocorrelation exp(-lag / `time_s`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Component {
    /// Share of the trace's variance that this component has, 0 to 1.
    pub share: f64,
    /// Its time constant in seconds.
    pub time_s: f64,
}

/// Outages that come on top: alternately capacity for an exponential time and none for a
/// log-normal time, redrawn until it lies within its bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outages {
    /// Mean time from the end of an outage to the next, in seconds.
    pub gap_s: f64,
    /// Mean of the natural logarithm of the length in seconds, before the bounds.
    pub log_mean: f64,
    /// Standard deviation of it.
    pub log_sd: f64,
    /// The shortest, in seconds.
    pub min_s: f64,
    /// The longest, in seconds.
    pub max_s: f64,
}

/// A stochastic model of a link's capacity over time; equations in `docs/reference/traces.md`.
#[derive(Clone, Debug, PartialEq)]
pub struct CapacityModel {
    /// The scale: bits per second that 1 in `capacity` stands for, in the median trace.
    pub scale_bps: f64,
    /// Standard deviation of the logarithm of the factor on the scale that a trace draws once.
    pub scale_log_sd: f64,
    /// Share of the Gaussian variance that a trace draws once and keeps: places that are good or
    /// bad throughout.
    pub place: f64,
    /// Slow variation.
    pub slow: Component,
    /// Fast variation. What the shares leave of 1 is independent from knot to knot.
    pub fast: Component,
    /// Time from one value of the process to the next; straight lines between. At least one step
    /// and a whole number of them.
    pub knot: Duration,
    /// The quantile function: capacity over the scale at each [`level`]; straight lines between,
    /// the ends hold beyond.
    pub capacity: [f64; LEVELS],
    /// Outages, if the process above does not have enough of them.
    pub outages: Option<Outages>,
}

impl CapacityModel {
    /// The capacity in bits per second of each step of 20 ms for at least `length`. Each random
    /// part draws from its own part of the seed, so more length adds to the end only.
    pub fn steps_bps(&self, seed: Seed, length: Duration) -> Vec<f64> {
        let steps = length.as_nanos().div_ceil(STEP.as_nanos()) as usize;
        let per_knot = (self.knot.as_nanos() / STEP.as_nanos()).max(1) as usize;
        let once = |name: &str| -> f64 { StandardNormal.sample(&mut seed.split(name).rng()) };
        let scale = self.scale_bps * (self.scale_log_sd * once("scale")).exp();
        let place = self.place.sqrt() * once("place");
        let rest = (1.0 - self.place - self.slow.share - self.fast.share).max(0.0).sqrt();
        let mut slow = Memory::new(self.slow, self.knot, seed.split("slow"));
        let mut fast = Memory::new(self.fast, self.knot, seed.split("fast"));
        let mut white = seed.split("white").rng();
        let mut knot = || {
            let white: f64 = StandardNormal.sample(&mut white);
            place + slow.next() + fast.next() + rest * white
        };
        let mut out = Vec::with_capacity(steps + per_knot);
        let mut from = knot();
        while out.len() < steps {
            let to = knot();
            for i in 0..per_knot {
                let part = i as f64 / per_knot as f64;
                out.push(scale * self.at_level(from + part * (to - from)));
            }
            from = to;
        }
        out.truncate(steps);
        if let Some(outages) = self.outages {
            outages.cut(&mut out, &mut seed.split("outages").rng());
        }
        out
    }

    /// The steps as a profile that repeats after `length`.
    ///
    /// # Errors
    /// If `length` is not between 1 s and 24 h, or all steps are zero.
    pub fn profile(&self, seed: Seed, length: Duration) -> Result<RateProfile, InputError> {
        profile(length, || self.steps_bps(seed, length))
    }

    /// The capacity over the scale.
    fn at_level(&self, z: f64) -> f64 {
        let place = ((z + LEVEL_END) / LEVEL_STEP).clamp(0.0, (LEVELS - 1) as f64);
        let i = (place as usize).min(LEVELS - 2);
        let (low, high) = (self.capacity[i], self.capacity[i + 1]);
        low + (place - i as f64) * (high - low)
    }
}

/// A profile of steps of 20 ms that repeats after `length`; the steps are only made if the length
/// is within its bounds.
pub(super) fn profile(
    length: Duration,
    steps_bps: impl FnOnce() -> Vec<f64>,
) -> Result<RateProfile, InputError> {
    if !(MIN_TRACE_DURATION..=MAX_TRACE_DURATION).contains(&length) {
        let found = format!("a trace of {length:?}");
        return Err(InputError::new(found, "expected a length from 1 s to 24 h"));
    }
    let starts = (0_u32..).map(|i| STEP * i);
    let steps: Vec<_> = starts.zip(steps_bps().into_iter().map(Rate::from_bps_f64)).collect();
    RateProfile::new(&steps, Some(length))
}

/// A [`Component`] at the knots.
pub(in crate::trace) struct Memory {
    value: f64,
    keep: f64,
    noise: f64,
    rng: Rng,
}

impl Memory {
    pub(in crate::trace) fn new(of: Component, knot: Duration, seed: Seed) -> Self {
        let mut rng = seed.rng();
        let sd = of.share.sqrt();
        let keep = (-knot.as_secs_f64() / of.time_s).exp();
        // The stationary state, so that no trace begins at a special place.
        let first: f64 = StandardNormal.sample(&mut rng);
        Self { value: sd * first, keep, noise: sd * (1.0 - keep * keep).sqrt(), rng }
    }

    pub(in crate::trace) fn next(&mut self) -> f64 {
        let now = self.value;
        let step: f64 = StandardNormal.sample(&mut self.rng);
        self.value = self.keep * now + self.noise * step;
        now
    }
}

impl Outages {
    /// Sets the steps of outages to zero.
    pub(super) fn cut(&self, steps: &mut [f64], rng: &mut Rng) {
        let step_s = STEP.as_secs_f64();
        let length_s = steps.len() as f64 * step_s;
        let mut at = self.gap(rng);
        while at < length_s {
            let end = at + self.length(rng);
            let first = (at / step_s) as usize;
            let last = ((end / step_s).round() as usize).clamp(first, steps.len());
            steps[first..last].fill(0.0);
            at = end + self.gap(rng);
        }
    }

    fn gap(&self, rng: &mut Rng) -> f64 {
        let gap: f64 = Exp1.sample(rng);
        self.gap_s * gap
    }

    fn length(&self, rng: &mut Rng) -> f64 {
        let mut length = self.min_s;
        // A model whose bounds hold next to nothing gets the nearer bound.
        for _ in 0..100 {
            let normal: f64 = StandardNormal.sample(rng);
            length = (self.log_mean + self.log_sd * normal).exp();
            if (self.min_s..=self.max_s).contains(&length) {
                break;
            }
        }
        length.min(self.max_s).max(self.min_s)
    }
}
