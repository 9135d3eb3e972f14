//! The shape of Minerva's value function, video by video: figure 4 as claims have it.

use airlane_abr::TitleModel;
use airlane_minerva::curve::sustaining_rate_bps;
use airlane_minerva::value::Ahead;
use airlane_minerva::{Blend, ValueFunction};

use super::super::{Cache, Value, Viewers, abr_of, minerva_of, spread, value_function};
use airlane_sim::plan::Plan;
use airlane_sim::workload::{ByMetric, Caches, Metric, Sense, Unit};

/// The name of the measure in claims.
pub(super) const NAME: &str = "value-function";

/// Its metrics, in the order of [`shape`]: name and sense. The first two are shares of steps, the
/// others points.
const METRICS: [(&str, Sense); 6] = [
    ("rising_in_rate", Sense::Higher),
    ("rising_in_buffer", Sense::Higher),
    ("fall_in_rate", Sense::Lower),
    ("fall_in_buffer", Sense::Lower),
    ("low_buffer_gain", Sense::Neutral),
    ("high_buffer_gain", Sense::Neutral),
];

/// The metrics of the measure.
pub(super) fn metrics(traffic: &Viewers) -> Vec<Metric> {
    let unit = |name: &str| if name.starts_with("rising") { Unit::ONE } else { traffic.unit() };
    METRICS.iter().map(|&(name, sense)| Metric::of_run(name, unit(name), sense)).collect()
}

/// Of every so many chunks one is looked at.
const EVERY: usize = 10;
/// Steps of rate, bits per second.
const RATE_STEP: f64 = 1e5;
/// Buffers, seconds, in steps of one.
const BUFFERS: usize = 40;
/// Maximum decrease that does not count as a fall.
const EQUAL: f64 = 1e-3;

/// Steps of one kind.
#[derive(Default)]
struct Steps {
    all: u64,
    falls: u64,
    fallen: f64,
}

impl Steps {
    fn add(&mut self, from: f64, to: f64) {
        self.all += 1;
        // What is no number does not rise either, and leaves no mean fall.
        let rises = to >= from - EQUAL;
        if !rises {
            self.falls += 1;
            self.fallen += from - to;
        }
    }

    /// The share that does not fall; no number without a step.
    fn rising(&self) -> f64 {
        (self.all - self.falls) as f64 / self.all as f64
    }

    /// By how much those fall that do, on the mean.
    fn fall(&self) -> f64 {
        self.fallen / self.falls.max(1) as f64
    }
}

/// Sums over the steps of one video.
#[derive(Default)]
struct Shape {
    rate: Steps,
    buffer: Steps,
    to_4: f64,
    to_20: f64,
    curves: u64,
}

/// The samples: a pair per video, as many as the plan has cases, in the order of the corpus. The
/// value function and its horizon are those of the first scheme that has any.
pub(super) fn samples(plan: &Plan, caches: &Caches) -> ByMetric {
    let scenario = &plan.scenario;
    let traffic = Viewers::of(scenario);
    let (Some(viewer), Some(cache)) = (traffic.viewers.first(), Cache::of(caches)) else {
        return ByMetric::new();
    };
    let abr = abr_of(traffic, viewer);
    let minerva = scenario.schemes.iter().find_map(minerva_of);
    let kind = minerva.and_then(|m| m.value).unwrap_or(Value::OnDemand);
    let horizon = minerva.and_then(|m| m.horizon).unwrap_or(Blend::default().horizon);
    let settings = cache.settings(traffic.metric_of(viewer));
    let settings: Vec<_> = settings.take(plan.cases.len()).enumerate().collect();
    let shapes = spread(settings, |(_, setting)| {
        let v = value_function(kind, setting, abr, horizon);
        shape(setting, &*v, horizon)
    });
    let metric = |i: usize| shapes.values().map(|s| vec![s[i]]).collect();
    METRICS.iter().enumerate().map(|(i, (name, _))| ((*name).to_owned(), metric(i))).collect()
}

/// The figures of one video, in the order of [`METRICS`].
fn shape(setting: &TitleModel, v: &dyn ValueFunction, horizon: usize) -> [f64; METRICS.len()] {
    let lowest = setting.mean_rate_bps()[0];
    let top = sustaining_rate_bps(setting, setting.rungs() - 1);
    let rates: Vec<f64> =
        (0..).map(|i| lowest + RATE_STEP * f64::from(i)).take_while(|r| *r <= top).collect();
    let mut sum = Shape::default();
    for chunk in (EVERY / 2..setting.chunks().saturating_sub(horizon)).step_by(EVERY) {
        for rung in 0..setting.rungs() {
            let curve = |rate: f64| -> Vec<f64> {
                let value = |b: usize| {
                    let at = Ahead { next_chunk: chunk, last_rung: rung, buffer_s: b as f64 };
                    v.value(at, rate).unwrap_or(f64::NAN)
                };
                (0..=BUFFERS).map(value).collect()
            };
            let curves: Vec<Vec<f64>> = rates.iter().map(|r| curve(*r)).collect();
            sum.add(&curves);
        }
    }
    let Shape { rate, buffer, to_4, to_20, curves } = sum;
    let curves = curves as f64;
    let [to_4, to_20] = [to_4 / curves, to_20 / curves];
    [rate.rising(), buffer.rising(), rate.fall(), buffer.fall(), to_4, to_20]
}

impl Shape {
    /// Adds V by rate, then buffer in seconds.
    fn add(&mut self, curves: &[Vec<f64>]) {
        for pair in curves.windows(2) {
            for (from, to) in pair[0].iter().zip(&pair[1]).skip(4) {
                self.rate.add(*from, *to);
            }
        }
        for curve in curves {
            for step in curve.windows(2) {
                self.buffer.add(step[0], step[1]);
            }
            self.to_4 += curve[4] - curve[0];
            self.to_20 += curve[20] - curve[4];
            self.curves += 1;
        }
    }
}
