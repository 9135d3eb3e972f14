//! Target of the queue delay, which rises beside flows that fill the queue (section 4.5.4).

use std::collections::VecDeque;
use std::time::Duration;

use airlane_base::Time;

/// The least target and the highest one, seconds (QDELAY_TARGET_LO, QDELAY_TARGET_HI).
pub(super) const MIN_TARGET: f64 = 0.06;
const MAX_TARGET: f64 = 0.4;

/// Time between two delays that are kept. The draft gives none; its implementation has this one.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(50);

/// Delays whose variance counts, and those of them whose average counts.
const VARIANCE_SAMPLES: usize = 200;
const AVERAGE_SAMPLES: usize = 50;

/// Variance of delays in units of [`MIN_TARGET`] below which the delay is stable.
const MAX_STABLE_VARIANCE: f64 = 0.2;

/// Share of round trips with losses above which others are taken to fill the queue, and the margin
/// over their delay then.
const MIN_LOSSY_ROUNDS: f64 = 0.002;
const LOSS_MARGIN: f64 = 1.5;

/// Share of the target kept with each sample where the delay is not stable, and the least one where
/// it is low.
const SLOW_DECAY: f64 = 0.9;
const FAST_DECAY: f64 = 0.5;

/// The target and the delays that it follows.
#[derive(Clone, Debug)]
pub(super) struct DelayTarget {
    /// qdelay_target, seconds.
    target: f64,
    /// The last delays in units of [`MIN_TARGET`], the newest at the back.
    history: VecDeque<f64>,
    sampled_at: Option<Time>,
}

impl Default for DelayTarget {
    fn default() -> Self {
        let history = VecDeque::with_capacity(VARIANCE_SAMPLES);
        Self { target: MIN_TARGET, history, sampled_at: None }
    }
}

impl DelayTarget {
    /// Takes a queue delay in seconds, if one is due. `lossy_rounds`: share of round trips with losses.
    pub fn update(&mut self, now: Time, delay: f64, lossy_rounds: f64) {
        if self.sampled_at.is_some_and(|at| now.since(at) < SAMPLE_INTERVAL) {
            return;
        }
        self.sampled_at = Some(now);
        if self.history.len() == VARIANCE_SAMPLES {
            self.history.pop_front();
        }
        self.history.push_back(delay / MIN_TARGET);
        let variance = variance(&self.history);
        let recent = self.history.iter().rev().take(AVERAGE_SAMPLES).copied();
        let average = recent.sum::<f64>() / self.history.len().min(AVERAGE_SAMPLES) as f64;
        let bound = (average + variance.sqrt()) * MIN_TARGET;
        let target = if lossy_rounds > MIN_LOSSY_ROUNDS {
            LOSS_MARGIN * bound
        } else if variance < MAX_STABLE_VARIANCE {
            bound
        } else if bound < MIN_TARGET {
            (self.target * FAST_DECAY).max(bound)
        } else {
            self.target * SLOW_DECAY
        };
        self.target = target.clamp(MIN_TARGET, MAX_TARGET);
    }

    /// qdelay_target, seconds.
    pub fn target(&self) -> f64 {
        self.target
    }
}

fn variance(samples: &VecDeque<f64>) -> f64 {
    let count = samples.len().max(1) as f64;
    let mean = samples.iter().sum::<f64>() / count;
    samples.iter().map(|sample| (sample - mean).powi(2)).sum::<f64>() / count
}
