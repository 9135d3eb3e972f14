//! The shape of Minerva's value function, video by video: figure 4 as claims have it.

use std::sync::Arc;

use airlane_abr::{AbrKind, Setting};
use airlane_minerva::curve::sustaining_rate_bps;
use airlane_minerva::value::Ahead;
use airlane_minerva::{OnDemand, ValueFunction};

use crate::claims::Samples;
use crate::plan::Plan;
use crate::world::{Content, abr_of};

/// The metrics of such claims.
pub(super) const METRICS: [&str; 4] =
    ["rising_in_rate", "rising_in_buffer", "gain_to_4_s", "gain_to_20_s"];

/// Chunks looked ahead.
const HORIZON: usize = 5;
/// Of every so many chunks one is looked at.
const EVERY: usize = 10;
/// Steps of rate, bits per second.
const RATE_STEP: f64 = 1e5;
/// Buffers, seconds, in steps of one.
const BUFFERS: usize = 40;
/// What counts as no fall.
const EQUAL: f64 = 1e-3;

/// Sums over the steps of one video.
#[derive(Default)]
struct Shape {
    rate: (u64, u64),
    buffer: (u64, u64),
    to_4: f64,
    to_20: f64,
    curves: u64,
}

/// The samples: a pair per video, as many as the plan has cases, in the order of the corpus.
pub(super) fn samples(plan: &Plan, content: &Content) -> Samples {
    let scenario = &plan.scenario;
    let Some(viewer) = scenario.viewers.first() else { return Samples::new() };
    let abr = abr_of(scenario, viewer);
    let of_video = |(_, setting): (&str, &Arc<Setting>)| shape(setting, abr);
    let settings = content.settings(viewer.metric.unwrap_or(scenario.player.metric));
    let shapes: Vec<[f64; 4]> = settings.take(plan.cases.len()).map(of_video).collect();
    let metric = |i: usize| shapes.iter().map(|s| vec![s[i]]).collect();
    METRICS.iter().enumerate().map(|(i, name)| ((*name).to_owned(), metric(i))).collect()
}

/// The figures of one video, in the order of [`METRICS`].
fn shape(setting: &Arc<Setting>, abr: AbrKind) -> [f64; 4] {
    let v = OnDemand::new(setting.clone(), Arc::new(abr), HORIZON);
    let lowest = setting.mean_rate_bps()[0];
    let top = sustaining_rate_bps(setting, setting.rungs() - 1);
    let rates: Vec<f64> =
        (0..).map(|i| lowest + RATE_STEP * f64::from(i)).take_while(|r| *r <= top).collect();
    let mut sum = Shape::default();
    for chunk in (EVERY / 2..setting.chunks().saturating_sub(HORIZON)).step_by(EVERY) {
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
    let share = |(risen, all): (u64, u64)| risen as f64 / all as f64;
    let curves = sum.curves as f64;
    [share(sum.rate), share(sum.buffer), sum.to_4 / curves, sum.to_20 / curves]
}

impl Shape {
    /// Adds V by rate, then buffer in seconds.
    fn add(&mut self, curves: &[Vec<f64>]) {
        let risen = |from: f64, to: f64| u64::from(to >= from - EQUAL);
        for pair in curves.windows(2) {
            for (from, to) in pair[0].iter().zip(&pair[1]).skip(4) {
                self.rate.0 += risen(*from, *to);
                self.rate.1 += 1;
            }
        }
        for curve in curves {
            for step in curve.windows(2) {
                self.buffer.0 += risen(step[0], step[1]);
                self.buffer.1 += 1;
            }
            self.to_4 += curve[4] - curve[0];
            self.to_20 += curve[20] - curve[4];
            self.curves += 1;
        }
    }
}
