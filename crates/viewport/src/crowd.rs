//! Heads of several viewers of one title, drawn at random: where recordings are not at hand or their
//! licence forbids to ship them.
//!
//! A title has **attractors**: places that move along the horizon and whose pull rises and falls. A
//! viewer looks at a target for a while and then turns to the next one: an attractor that pulls and
//! is not far, missed by an offset of the viewer's own, or, exploring, any place further along. That
//! all viewers of a title have the same attractors is what makes P(t) tell something; that they
//! explore is why it does not tell all. A turn has the speed profile of least jerk (Flash and Hogan,
//! Journal of Neuroscience 1985), at a mean speed that is lognormal over turns.
//!
//! [`CrowdModel::FITTED`] comes near the statistics of two sets of recordings ([`CrowdStatistics`]
//! (crate::CrowdStatistics); the table is in `docs/design/viewport.md`). Nothing of the recordings
//! is in it but these few numbers.

use std::f64::consts::TAU;
use std::time::Duration;

use airlane_base::{Rng, Seed};
use rand::RngExt;
use serde::Serialize;

use crate::head::HeadTrace;
use crate::orientation::Orientation;
use crate::synthetic::{exponential, normal};

/// Samples of a trace per second.
pub const SAMPLES_PER_S: u32 = 30;

/// Model of a crowd that looks around. Angles in degrees.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CrowdModel {
    /// Attractors of a title; at least 1.
    pub attractors: usize,
    /// The n-th attractor's pull is this to the n-th power, before it rises and falls.
    pub pull_ratio: f64,
    /// Amplitude with which a pull rises and falls, in natural logarithms.
    pub pull_swing: f64,
    /// The angle at which an attractor's pull on a viewer has fallen to 1/e.
    pub reach_deg: f64,
    /// Mean probability that a viewer's next target is an attractor; the rest explores.
    pub follow: f64,
    /// Titles differ: theirs are spread evenly over so much to both sides of `follow`.
    pub title_spread: f64,
    /// Viewers of one title differ: theirs are spread evenly over so much to both sides of the
    /// title's. What comes out is held between 0 and 1.
    pub follow_spread: f64,
    /// Standard deviation of where a viewer looks around an attractor.
    pub offset_deg: f64,
    /// Mean time on a target, in seconds; exponential.
    pub dwell_s: f64,
    /// Median of a turn's mean speed, in degrees per second.
    pub speed_deg_s: f64,
    /// Standard deviation of the natural logarithm of that speed.
    pub speed_sigma: f64,
    /// Mean of how far exploring goes in one turn; exponential.
    pub explore_deg: f64,
    /// Probability that exploring goes on in the direction of before.
    pub onward: f64,
    /// Standard deviation of the latitude of targets.
    pub pitch_deg: f64,
    /// Standard deviation of roll, which wanders within a second.
    pub roll_deg: f64,
    /// Standard deviation of the tremor of a head at rest, which wanders within half a second.
    pub tremor_deg: f64,
}

impl CrowdModel {
    /// Fitted to the recordings that `docs/design/viewport.md` names.
    pub const FITTED: Self = Self {
        attractors: 7,
        pull_ratio: 0.4,
        pull_swing: 0.62,
        reach_deg: 31.5,
        follow: 0.63,
        title_spread: 0.29,
        follow_spread: 0.04,
        offset_deg: 11.0,
        dwell_s: 0.28,
        speed_deg_s: 42.5,
        speed_sigma: 0.6,
        explore_deg: 73.0,
        onward: 0.08,
        pitch_deg: 22.4,
        roll_deg: 6.0,
        tremor_deg: 0.6,
    };
}

/// A direction: yaw and pitch, in degrees. Yaw is not bounded.
type Gaze = [f64; 2];

/// The smaller turn from one yaw to another, in degrees.
fn turn(from: f64, to: f64) -> f64 {
    (to - from + 180.0).rem_euclid(360.0) - 180.0
}

/// A place that draws looks.
struct Attractor {
    start: Gaze,
    drift_deg_s: f64,
    swing_deg: f64,
    swing_hz: f64,
    pull: f64,
    pull_hz: f64,
    phases: [f64; 2],
}

impl Attractor {
    fn new(rng: &mut Rng, number: usize, model: &CrowdModel) -> Self {
        // The first is in front of everybody when the title begins.
        let yaw = if number == 0 { 0.0 } else { rng.random_range(-180.0..180.0) };
        Self {
            start: [yaw, model.pitch_deg * 0.5 * normal(rng)],
            drift_deg_s: 4.0 * normal(rng),
            swing_deg: 15.0 * exponential(rng),
            swing_hz: rng.random_range(0.03..0.15),
            pull: model.pull_ratio.powi(number as i32),
            pull_hz: rng.random_range(0.03..0.12),
            phases: std::array::from_fn(|_| rng.random_range(0.0..TAU)),
        }
    }

    fn at(&self, t: f64) -> Gaze {
        let swing = |t: f64| (TAU * self.swing_hz * t + self.phases[0]).sin();
        let moved = self.drift_deg_s * t + self.swing_deg * (swing(t) - swing(0.0));
        [self.start[0] + moved, self.start[1]]
    }

    fn pull(&self, t: f64, swing: f64) -> f64 {
        self.pull * (swing * (TAU * self.pull_hz * t + self.phases[1]).sin()).exp()
    }
}

/// Target that a viewer looks at.
#[derive(Clone, Copy)]
enum Target {
    /// An attractor, missed by so much.
    Attractor(usize, Gaze),
    /// A place at rest.
    Place(Gaze),
}

/// A wandering value: mean 0, standard deviation 1, correlated over `memory_s` (an
/// Ornstein-Uhlenbeck process).
struct Wander {
    value: f64,
    keep: f64,
}

impl Wander {
    fn new(rng: &mut Rng, memory_s: f64) -> Self {
        let keep = (-1.0 / (memory_s * f64::from(SAMPLES_PER_S))).exp();
        Self { value: normal(rng), keep }
    }

    fn step(&mut self, rng: &mut Rng) -> f64 {
        self.value = self.keep * self.value + (1.0 - self.keep * self.keep).sqrt() * normal(rng);
        self.value
    }
}

struct Viewer<'a> {
    model: &'a CrowdModel,
    attractors: &'a [Attractor],
    rng: Rng,
    follow: f64,
    /// The direction of exploring: 1 or -1.
    sense: f64,
    target: Target,
    /// Beginning of the last turn, in direction and time, and duration of the turn.
    from: Gaze,
    since: f64,
    turning_s: f64,
    until: f64,
}

impl<'a> Viewer<'a> {
    fn new(mut rng: Rng, model: &'a CrowdModel, follow: f64, attractors: &'a [Attractor]) -> Self {
        let spread = model.follow_spread;
        let from = [10.0 * normal(&mut rng), 0.5 * model.pitch_deg * normal(&mut rng)];
        Self {
            model,
            attractors,
            follow: (follow + rng.random_range(-1.0..1.0) * spread).clamp(0.0, 1.0),
            sense: if rng.random_bool(0.5) { 1.0 } else { -1.0 },
            target: Target::Place(from),
            from,
            since: 0.0,
            turning_s: 0.0,
            until: model.dwell_s * exponential(&mut rng),
            rng,
        }
    }

    fn target_at(&self, t: f64) -> Gaze {
        match self.target {
            Target::Place(place) => place,
            Target::Attractor(number, offset) => {
                let at = self.attractors[number].at(t);
                [at[0] + offset[0], at[1] + offset[1]]
            }
        }
    }

    fn gaze(&self, t: f64) -> Gaze {
        let to = self.target_at(t);
        let s = if self.turning_s > 0.0 {
            ((t - self.since) / self.turning_s).clamp(0.0, 1.0)
        } else {
            1.0
        };
        // Least jerk.
        let s = s * s * s * (10.0 - 15.0 * s + 6.0 * s * s);
        [self.from[0] + s * (to[0] - self.from[0]), self.from[1] + s * (to[1] - self.from[1])]
    }

    /// Turns to the next target.
    fn choose(&mut self, t: f64) {
        let now = self.gaze(t);
        let model = self.model;
        let rng = &mut self.rng;
        self.target = if rng.random::<f64>() < self.follow {
            let weight = |attractor: &Attractor| {
                let away = turn(now[0], attractor.at(t)[0]).abs();
                attractor.pull(t, model.pull_swing) * (-away / model.reach_deg).exp()
            };
            let weights: Vec<f64> = self.attractors.iter().map(weight).collect();
            let mut left = rng.random::<f64>() * weights.iter().sum::<f64>();
            let number = weights
                .iter()
                .position(|weight| {
                    left -= weight;
                    left < 0.0
                })
                .unwrap_or(0);
            let mut offset = [model.offset_deg * normal(rng), 0.6 * model.offset_deg * normal(rng)];
            // Yaw is not bounded: the turn to the attractor is the smaller one.
            let at = self.attractors[number].at(t)[0] + offset[0];
            offset[0] += now[0] + turn(now[0], at) - at;
            Target::Attractor(number, offset)
        } else {
            if rng.random::<f64>() >= model.onward {
                self.sense = -self.sense;
            }
            let yaw = now[0] + self.sense * model.explore_deg * exponential(rng);
            Target::Place([yaw, model.pitch_deg * normal(rng)])
        };
        let speed = model.speed_deg_s * (model.speed_sigma * normal(rng)).exp();
        let dwell = model.dwell_s * exponential(rng);
        let to = self.target_at(t);
        let angle = (to[0] - now[0]).hypot(to[1] - now[1]);
        self.from = now;
        self.since = t;
        self.turning_s = (angle / speed).max(0.2);
        self.until = t + self.turning_s + dwell;
    }

    fn watch(mut self, duration: Duration) -> HeadTrace {
        let model = *self.model;
        let mut tremor = [0.5, 0.5].map(|memory_s| Wander::new(&mut self.rng, memory_s));
        let mut roll = Wander::new(&mut self.rng, 1.0);
        let mut samples = Vec::new();
        // Of the number, not of the step: thirtieths of a second are no whole nanoseconds.
        let times = (0..).map(|number: u32| Duration::from_secs(1) * number / SAMPLES_PER_S);
        for at in times.take_while(|&at| at <= duration) {
            let t = at.as_secs_f64();
            if t >= self.until {
                self.choose(t);
            }
            let gaze = self.gaze(t);
            let [yaw, pitch] = tremor.each_mut().map(|x| model.tremor_deg * x.step(&mut self.rng));
            let pitch = (gaze[1] + pitch).clamp(-85.0, 85.0);
            let roll = model.roll_deg * roll.step(&mut self.rng);
            samples.push((at, Orientation::from_degrees(gaze[0] + yaw, pitch, roll)));
        }
        HeadTrace::new(samples).expect("at least one sample, finite, at rising times")
    }
}

/// The heads of so many viewers of one title, which the seed stands for: each viewer's is the same
/// however many there are, and the more of a title is watched, the further it goes on.
///
/// # Panics
/// If a field of the model is not finite.
pub fn crowd(seed: Seed, viewers: usize, duration: Duration, model: &CrowdModel) -> Vec<HeadTrace> {
    let mut rng = seed.split("attractors").rng();
    let attractors: Vec<Attractor> =
        (0..model.attractors.max(1)).map(|n| Attractor::new(&mut rng, n, model)).collect();
    let mut rng = seed.split("follow").rng();
    let follow = model.follow + rng.random_range(-1.0..1.0) * model.title_spread;
    (0..viewers)
        .map(|viewer| {
            let rng = seed.split("viewer").index(viewer as u64).rng();
            Viewer::new(rng, model, follow, &attractors).watch(duration)
        })
        .collect()
}
