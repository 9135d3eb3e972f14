//! What a path does to packets besides queueing them: delay, jitter, loss.

mod delay;
mod loss;

use std::time::Duration;

use airlane_base::{Rng, Seed};
use rand::RngExt;
use rand_distr::{Distribution, Normal};

pub use delay::{Delay, Jitter};
pub use loss::{GilbertElliott, Loss, PeriodicLoss};

use crate::node::Node;

/// Law of the time that jitter adds to each packet, independently.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum JitterLaw {
    /// Evenly between zero and the maximum.
    Uniform(Duration),
    /// Normal with a mean and a standard deviation, negative values cut to zero.
    Normal(Duration, Duration),
}

impl JitterLaw {
    fn draw(&self, rng: &mut Rng) -> Duration {
        match *self {
            Self::Uniform(most) => most.mul_f64(rng.random::<f64>()),
            Self::Normal(mean, sd) => {
                let (mean, sd) = (mean.as_secs_f64(), sd.as_secs_f64());
                // A standard deviation from a `Duration` is finite and not negative.
                let seconds = Normal::new(mean, sd).map_or(mean, |d| d.sample(rng));
                Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::ZERO)
            }
        }
    }
}

/// An impairment, as a scenario says it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Impairment {
    /// The same time for every packet.
    Delay(Duration),
    /// A random time for each packet.
    Jitter {
        /// Distribution of the time.
        law: JitterLaw,
        /// True if a packet may overtake another.
        reorder: bool,
    },
    /// Loses each packet with this probability.
    Bernoulli(f64),
    /// Loses packets in bursts.
    GilbertElliott(GilbertElliott),
    /// Loses every so many packets.
    PeriodicLoss(PeriodicLoss),
}

impl Impairment {
    /// The node that does it, drawing from `seed`.
    pub fn build(&self, seed: Seed) -> Box<dyn Node> {
        match *self {
            Self::Delay(d) => Box::new(Delay::new(d)),
            Self::Jitter { law, reorder } => Box::new(Jitter::new(law, reorder, seed.rng())),
            Self::Bernoulli(p) => Box::new(Loss::bernoulli(p, seed.rng())),
            Self::GilbertElliott(law) => Box::new(Loss::gilbert_elliott(law, seed.rng())),
            Self::PeriodicLoss(law) => Box::new(Loss::periodic(law)),
        }
    }
}
