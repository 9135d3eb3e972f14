//! Multipath fading: several ways of the same signal.

use std::f64::consts::TAU;

use airlane_base::{Seed, Time};
use rand::RngExt;

use super::loss::LIGHT;

/// Sinusoids of a branch: its power varies, and remembers, by 1/16 less than that of very many.
const SINUSOIDS: usize = 16;
/// More branches than this change nothing.
const MAX_BRANCHES: u32 = 64;
/// No fade is deeper, dB: a receiver's own faults end it.
const DEEPEST_DB: f64 = -60.0;

/// Rayleigh or Rician fading with the Doppler spectrum of Clarke, as a function of time: sums of sinusoids
/// (Xiao, Zheng, Beaulieu: "Novel sum-of-sinusoids simulation models for Rayleigh and Rician fading
/// channels", IEEE Trans. Wireless Comm. 5, 2006). The mean power gain is 1.
///
/// A wide channel does not fade as one: it is taken as several branches that fade apart, as many as
/// coherence bandwidths (1 / (5 delay spread)) in it, and its SNR as their mean.
#[derive(Clone, Debug)]
pub struct Fading {
    /// By branch.
    branches: Vec<Branch>,
    /// Share of the power that goes straight, and that which is scattered.
    straight: f64,
    scattered: f64,
}

#[derive(Clone, Debug)]
struct Branch {
    sinusoids: [Sinusoid; SINUSOIDS],
    straight: Sinusoid,
}

#[derive(Clone, Copy, Debug)]
struct Sinusoid {
    /// Turns to the second.
    hz: f64,
    /// Turns.
    phase: f64,
}

impl Fading {
    /// Rayleigh: nothing goes straight.
    pub fn rayleigh(seed: Seed, doppler_hz: f64, branches: u32) -> Self {
        Self::new(seed, doppler_hz, branches, 0.0)
    }

    /// Rician: what goes straight has `k_db` dB more power than what is scattered.
    pub fn rician(seed: Seed, doppler_hz: f64, branches: u32, k_db: f64) -> Self {
        Self::new(seed, doppler_hz, branches, 10_f64.powf(k_db / 10.0))
    }

    fn new(seed: Seed, doppler_hz: f64, branches: u32, k: f64) -> Self {
        let seed = seed.split("fading");
        let mut branches: Vec<_> = (0..branches.clamp(1, MAX_BRANCHES))
            .map(|branch| Branch::new(seed.index(u64::from(branch)), doppler_hz))
            .collect();
        // What goes straight comes from one place for all of them.
        let straight = branches[0].straight;
        branches.iter_mut().for_each(|branch| branch.straight.hz = straight.hz);
        Self { branches, straight: k / (1.0 + k), scattered: 1.0 / (1.0 + k) }
    }

    /// The gain at a time, dB: 0 on average of the power.
    pub fn gain_db(&self, at: Time) -> f64 {
        let time = at.as_secs_f64();
        let (straight, scattered) = (self.straight.sqrt(), self.scattered.sqrt());
        let sum: f64 =
            self.branches.iter().map(|branch| branch.power(time, straight, scattered)).sum();
        (10.0 * (sum / self.branches.len() as f64).log10()).max(DEEPEST_DB)
    }
}

impl Branch {
    fn new(seed: Seed, doppler_hz: f64) -> Self {
        let mut rng = seed.rng();
        let mut turns = || rng.random::<f64>();
        let sinusoids = std::array::from_fn(|n| {
            // Angles of arrival, one in each sector.
            let angle = TAU * (n as f64 + turns() - 0.5) / SINUSOIDS as f64;
            Sinusoid { hz: doppler_hz * angle.cos(), phase: turns() }
        });
        let straight = Sinusoid { hz: doppler_hz * (TAU * turns()).cos(), phase: turns() };
        Self { sinusoids, straight }
    }

    fn power(&self, time: f64, straight: f64, scattered: f64) -> f64 {
        let scale = scattered / (SINUSOIDS as f64).sqrt();
        let (mut re, mut im) = (0.0, 0.0);
        for sinusoid in &self.sinusoids {
            let (sin, cos) = sinusoid.at(time);
            re += cos;
            im += sin;
        }
        let (sin, cos) = self.straight.at(time);
        (re * scale + cos * straight).powi(2) + (im * scale + sin * straight).powi(2)
    }
}

impl Sinusoid {
    fn at(&self, time: f64) -> (f64, f64) {
        // Whole turns are taken off first: hours of them lose nothing that way.
        (TAU * ((self.hz * time).fract() + self.phase)).sin_cos()
    }
}

/// The Doppler shift of something that moves at this speed, Hz: a walk of 1.2 m/s at 5.2 GHz has 21. What
/// moves in a room around stations that stand still has 6 there (TGn, 11-03/940r4: 1.2 km/h).
pub fn doppler_hz(metres_per_s: f64, frequency_hz: f64) -> f64 {
    metres_per_s * frequency_hz / LIGHT
}
