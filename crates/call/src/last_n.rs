//! LastN: who of a call sends video (Grozev et al., NOSSDAV 2015), as a baseline of Plum.

use std::time::Duration;

use airlane_base::{Rng, Time};
use rand::RngExt as _;

use crate::wire::ParticipantId;

/// Settings of [`LastN`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LastNConfig {
    /// Participants whose video is forwarded, at least 1.
    pub number: usize,
    /// Probability that a participant without video begins to speak in an interval: 1/3 in the evaluation of
    /// Plum.
    pub resume_probability: f64,
    /// Interval in which participants begin to speak.
    pub interval: Duration,
}

impl LastNConfig {
    /// The last `number` speakers; others begin to speak with a probability of 1/3 each second.
    pub const fn new(number: usize) -> Self {
        Self { number, resume_probability: 1.0 / 3.0, interval: Duration::from_secs(1) }
    }
}

/// Participants in the order in which they spoke last. The video of the last ones is forwarded, that of the
/// others is paused at its source.
///
/// While nobody is heard to speak, who begins to is drawn.
#[derive(Debug)]
pub struct LastN {
    config: LastNConfig,
    rng: Rng,
    /// The latest speaker first.
    order: Vec<ParticipantId>,
    next: Time,
    /// True once somebody was heard: then nobody is drawn.
    hears: bool,
}

impl LastN {
    /// A call without participants.
    pub fn new(config: LastNConfig, rng: Rng, now: Time) -> Self {
        Self { config, rng, order: Vec::new(), next: now + config.interval, hears: false }
    }

    /// Adds a participant, who speaks: everybody who joins is seen.
    pub fn join(&mut self, id: ParticipantId) {
        self.order.insert(0, id);
    }

    /// Forgets a participant.
    pub fn leave(&mut self, id: ParticipantId) {
        self.order.retain(|of| *of != id);
    }

    /// Takes who begins to speak.
    pub fn on_speaker(&mut self, id: ParticipantId) {
        self.hears = true;
        if self.order.contains(&id) {
            self.leave(id);
            self.join(id);
        }
    }

    /// True if the video of a participant is forwarded.
    pub fn is_forwarded(&self, id: ParticipantId) -> bool {
        self.order.iter().take(self.config.number.max(1)).any(|of| *of == id)
    }

    /// Draws who began to speak since the last call. Whether the order may have changed.
    pub fn poll(&mut self, now: Time) -> bool {
        let mut has_changed = false;
        while self.next <= now {
            self.next += self.config.interval;
            if self.hears {
                continue;
            }
            let forwarded = self.config.number.max(1).min(self.order.len());
            let mut paused = self.order.split_off(forwarded);
            // In the order of their numbers, so that who is drawn does not depend on the past.
            paused.sort_unstable();
            let (mut speak, mut silent) = (Vec::new(), Vec::new());
            for id in paused {
                let speaks = self.rng.random::<f64>() < self.config.resume_probability;
                if speaks { speak.push(id) } else { silent.push(id) }
            }
            has_changed |= !speak.is_empty();
            speak.append(&mut self.order);
            speak.append(&mut silent);
            self.order = speak;
        }
        has_changed
    }
}
