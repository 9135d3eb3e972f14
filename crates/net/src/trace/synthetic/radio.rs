//! The process of radios that recordings of one value per second were made of: phases that follow
//! one another, each with a middle and a spread, and outages of less than a second that leave the
//! seconds' means alone.

use std::borrow::Cow;
use std::time::Duration;

use airlane_base::{InputError, Rng, Seed};
use rand_distr::{Distribution, Exp1, Poisson, StandardUniform};

use super::model::{Component, Memory, Outages, STEP, profile};
use crate::link::RateProfile;

/// Duration of the way from one phase to the next, seconds: a person who steps into a beam of 60
/// GHz takes its power away within 0.1 to 0.3 s.
const RAMP_S: f64 = 0.2;
/// Mean length that outages of less than a second would have, were there room for it.
const DARK_S: f64 = 0.1;
const STEPS_PER_SECOND: usize = (1_000_000_000 / STEP.as_nanos()) as usize;

/// A time during which the link is of one kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Phase {
    /// The median capacity over the peak, within 0 and 1.
    pub level: f64,
    /// Standard deviation of the logit of capacity over the peak.
    pub spread: f64,
    /// Mean length in seconds.
    pub dwell_s: f64,
}

/// A stochastic model of a radio's capacity over time; equations in `docs/reference/traces.md`.
#[derive(Clone, Debug, PartialEq)]
pub struct RadioModel {
    /// Capacity that is never exceeded, in bits per second: a clear channel without any contention.
    pub peak_bps: f64,
    /// The phases, in the order in which they follow one another, round and round.
    pub phases: Cow<'static, [Phase]>,
    /// A phase lasts for the sum of so many exponential times: 1 for phases that end by chance,
    /// many for those of a machine that repeats its way.
    pub erlang: u32,
    /// Slow variation within phases.
    pub slow: Component,
    /// Time constant of the rest of the variance, in seconds.
    pub fast_s: f64,
    /// Losses of the whole link for seconds, which no phase has.
    pub outages: Option<Outages>,
}

impl RadioModel {
    /// The capacity in bits per second of each step of 20 ms for at least `length`. Of what each
    /// second lacks to the peak, the share `dark` is because of outages of less than a second and
    /// the rest because of lower rates; the seconds' means are those without outages. Each random
    /// part draws from its own part of the seed, so more length adds to the end only.
    pub fn steps_bps(&self, seed: Seed, length: Duration, dark: f64) -> Vec<f64> {
        let steps = length.as_nanos().div_ceil(STEP.as_nanos()) as usize;
        let whole = steps.next_multiple_of(STEPS_PER_SECOND);
        let rest = Component { share: 1.0 - self.slow.share, time_s: self.fast_s };
        let mut slow = Memory::new(self.slow, STEP, seed.split("slow"));
        let mut fast = Memory::new(rest, STEP, seed.split("fast"));
        let mut chain = Chain::new(self, seed.split("phases").rng());
        let mut out: Vec<f64> = (0..whole)
            .map(|_| {
                let [middle, spread] = chain.next();
                let z = slow.next() + fast.next();
                self.peak_bps / (1.0 + (-middle - spread * z).exp())
            })
            .collect();
        if dark > 0.0 {
            let seed = seed.split("dark");
            for (i, second) in (0..).zip(out.chunks_exact_mut(STEPS_PER_SECOND)) {
                darken(second, self.peak_bps, dark, &mut seed.index(i).rng());
            }
        }
        if let Some(outages) = self.outages {
            outages.cut(&mut out, &mut seed.split("outages").rng());
        }
        out.truncate(steps);
        out
    }

    /// The steps as a profile that repeats after `length`.
    ///
    /// # Errors
    /// If `length` is not between 1 s and 24 h, or all steps are zero.
    pub fn profile(
        &self,
        seed: Seed,
        length: Duration,
        dark: f64,
    ) -> Result<RateProfile, InputError> {
        profile(length, || self.steps_bps(seed, length, dark))
    }
}

/// Chain of phases: the median and spread of the current one as logits, step by step.
struct Chain<'a> {
    model: &'a RadioModel,
    rng: Rng,
    at: usize,
    left_s: f64,
    since_s: f64,
    now: [f64; 2],
    before: [f64; 2],
}

impl<'a> Chain<'a> {
    fn new(model: &'a RadioModel, mut rng: Rng) -> Self {
        // The stationary state: a phase is met as often as it is long, and what is met of it is
        // a uniform part of a length that is drawn as often as it is long.
        let all: f64 = model.phases.iter().map(|p| p.dwell_s).sum();
        let mut met = uniform(&mut rng) * all;
        let longer = |p: &Phase| {
            met -= p.dwell_s;
            met < 0.0
        };
        let at = model.phases.iter().position(longer).unwrap_or(model.phases.len() - 1);
        let now = logit(&model.phases[at]);
        let part = uniform(&mut rng);
        let mut chain = Self { model, rng, at, left_s: 0.0, since_s: RAMP_S, now, before: now };
        chain.left_s = part * chain.dwell(model.erlang + 1);
        chain
    }

    fn next(&mut self) -> [f64; 2] {
        while self.left_s <= 0.0 {
            self.before = self.values();
            self.at = (self.at + 1) % self.model.phases.len();
            self.now = logit(&self.model.phases[self.at]);
            // One of no length at all would be passed over for ever.
            self.left_s += self.dwell(self.model.erlang).max(1e-6);
            self.since_s = 0.0;
        }
        let values = self.values();
        self.left_s -= STEP.as_secs_f64();
        self.since_s += STEP.as_secs_f64();
        values
    }

    fn values(&self) -> [f64; 2] {
        let part = (self.since_s / RAMP_S).min(1.0);
        std::array::from_fn(|i| self.before[i] + part * (self.now[i] - self.before[i]))
    }

    /// The sum of `parts` exponential times, of which the phase has `erlang` on average.
    fn dwell(&mut self, parts: u32) -> f64 {
        let mean_s = self.model.phases[self.at].dwell_s / f64::from(self.model.erlang);
        (0..parts).map(|_| mean_s * exponential(&mut self.rng)).sum()
    }
}

fn logit(phase: &Phase) -> [f64; 2] {
    [(phase.level / (1.0 - phase.level)).ln(), phase.spread]
}

/// Puts outages into a second, at places drawn anew, and raises the rest of it towards the peak,
/// so that the mean stays.
fn darken(second: &mut [f64], peak: f64, share: f64, rng: &mut Rng) {
    let sum: f64 = second.iter().sum();
    let steps = second.len() as f64;
    let dark = share * (1.0 - sum / (peak * steps));
    if sum <= 0.0 || dark <= 0.0 {
        return;
    }
    let more = Poisson::new(dark / DARK_S).map_or(0.0, |p| p.sample(rng));
    let count = 1 + more as usize;
    let parts = |n: usize, of: f64, rng: &mut Rng| -> Vec<f64> {
        let drawn: Vec<f64> = (0..n).map(|_| exponential(rng)).collect();
        let all: f64 = drawn.iter().sum();
        drawn.iter().map(|d| d / all * of).collect()
    };
    let lengths = parts(count, dark, rng);
    let gaps = parts(count + 1, 1.0 - dark, rng);
    for rate in second.iter_mut() {
        *rate /= 1.0 - share * (1.0 - *rate / peak);
    }
    let mut at = 0.0;
    for (gap, length) in gaps.iter().zip(&lengths) {
        let from = (at + gap) * steps;
        at += gap + length;
        let to = at * steps;
        for i in from as usize..(to.ceil() as usize).min(second.len()) {
            let overlap = to.min((i + 1) as f64) - from.max(i as f64);
            second[i] *= (1.0 - overlap).max(0.0);
        }
    }
    let lit: f64 = second.iter().sum();
    if lit > 0.0 {
        second.iter_mut().for_each(|rate| *rate *= sum / lit);
    }
}

fn uniform(rng: &mut Rng) -> f64 {
    StandardUniform.sample(rng)
}

fn exponential(rng: &mut Rng) -> f64 {
    Exp1.sample(rng)
}
