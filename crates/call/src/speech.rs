//! Model of a person who speaks: talk spurts and silences.

use std::time::Duration;

use airlane_base::{Rng, Time};
use rand_distr::{Distribution, Exp};

/// Talk spurts of a participant: both durations are exponential.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpeechConfig {
    /// Mean duration of a talk spurt.
    pub mean_spurt: Duration,
    /// Mean duration of a silence.
    pub mean_silence: Duration,
}

/// Talk spurts over time. Whoever has them is silent at first.
#[derive(Clone, Debug)]
pub struct Spurts {
    config: SpeechConfig,
    rng: Rng,
    speaks: bool,
    /// End of the spurt or silence.
    until: Time,
}

impl Spurts {
    /// Spurts from `now` on.
    pub fn new(config: SpeechConfig, rng: Rng, now: Time) -> Self {
        let mut spurts = Self { config, rng, speaks: false, until: now };
        spurts.until = now + spurts.duration();
        spurts
    }

    fn duration(&mut self) -> Duration {
        let SpeechConfig { mean_spurt, mean_silence } = self.config;
        let mean = if self.speaks { mean_spurt } else { mean_silence };
        let law = Exp::new(1.0 / mean.as_secs_f64().max(1e-3));
        // At least a frame of audio, so that every spurt ends.
        let s = law.map_or(0.0, |law| law.sample(&mut self.rng)).max(0.02);
        Duration::from_secs_f64(s)
    }

    /// True if there is speech at `now`, which does not lie before that of the last call.
    pub fn speaks(&mut self, now: Time) -> bool {
        while self.until <= now {
            self.speaks = !self.speaks;
            let duration = self.duration();
            self.until += duration;
        }
        self.speaks
    }
}
