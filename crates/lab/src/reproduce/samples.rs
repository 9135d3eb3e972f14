//! From pairs of runs to the samples that a rule judges, and to the figures beside them.

use airlane_quality::stats::{mean, median};

use super::figures::{Figures, Viewed};
use crate::claims::Samples;

/// A step from 720p to 1080p, the paper's measure of a gain worth having (section 8.2).
pub(super) const STEP: f64 = 7.65;

/// Mixes whose optimum is closer to the baseline have no gap to close.
const LEAST_GAP: f64 = 3.0;

/// One mix: what was measured with each seed, and what constant rates could have reached.
#[derive(Clone, Debug)]
pub(super) struct Mix<'a> {
    /// Per seed: the treatment and the baseline, both with the same seed.
    pub(super) runs: Vec<(&'a Figures, &'a Figures)>,
    /// Lowest QoE at the fixed-rate optimum.
    pub(super) optimum: f64,
    /// Lowest QoE at its bound.
    pub(super) bound: f64,
}

/// The samples of a claim by metric, one entry per mix, one figure per seed.
///
/// What could not be measured (a viewer that saw nothing) is a NaN: no rule holds on it.
pub(super) fn samples(mixes: &[Mix<'_>], baseline: &str) -> Samples {
    let mut out = Samples::new();
    for (name, of) in METRICS {
        out.insert((*name).to_owned(), per_run(mixes, of));
    }
    // Claims name the gain over anything but Cubic after what it is over.
    out.insert(format!("minimum_qoe_gain_over_{baseline}"), per_run(mixes, &gain));
    let joined =
        mixes.iter().flat_map(|m| &m.runs).all(|(a, b)| a.viewers.len() > 1 && b.viewers.len() > 1);
    if joined {
        for (name, of) in METRICS_OF_TWO {
            out.insert((*name).to_owned(), per_run(mixes, of));
        }
    }
    out
}

type Metric = dyn Fn(&Mix<'_>, &Figures, &Figures) -> f64 + Sync;

const METRICS: &[(&str, &Metric)] = &[
    ("minimum_qoe_gain", &gain),
    ("optimum_gain", &|mix, _, b| mix.optimum - worst(b)),
    ("bound_gain", &|mix, _, b| mix.bound - worst(b)),
    ("gain_at_least_7_65", &|mix, a, b| at_least_step(gain(mix, a, b))),
    ("optimum_gain_at_least_7_65", &|mix, _, b| at_least_step(mix.optimum - worst(b))),
    ("bound_gain_at_least_7_65", &|mix, _, b| at_least_step(mix.bound - worst(b))),
];

/// Of the viewer who was there first and the one who joined.
const METRICS_OF_TWO: &[(&str, &Metric)] = &[
    ("second_quality_gain", &|_, a, b| change(a, b, 1, |v| v.quality_after_join)),
    ("second_qoe_gain", &|_, a, b| change(a, b, 1, |v| v.qoe)),
    ("second_startup_change_s", &|_, a, b| change(a, b, 1, |v| v.startup_s)),
    ("second_stall_change_s", &|_, a, b| change(a, b, 1, |v| Some(v.stall_after_join_s))),
    ("first_buffer_at_join_s", &|_, _, b| b.viewers[0].buffer_at_join_s),
    ("first_buffer_change_s", &|_, a, b| change(a, b, 0, |v| v.buffer_after_join_s)),
    ("first_quality_change", &|_, a, b| change(a, b, 0, |v| v.quality_after_join)),
    ("first_stall_change_s", &|_, a, b| change(a, b, 0, |v| Some(v.stall_after_join_s))),
];

fn per_run(mixes: &[Mix<'_>], of: &Metric) -> Vec<Vec<f64>> {
    mixes.iter().map(|mix| mix.runs.iter().map(|(a, b)| of(mix, a, b)).collect()).collect()
}

fn worst(figures: &Figures) -> f64 {
    figures.min_qoe().unwrap_or(f64::NAN)
}

fn gain(_: &Mix<'_>, a: &Figures, b: &Figures) -> f64 {
    worst(a) - worst(b)
}

/// 1 or 0; no number stays none.
fn at_least_step(gain: f64) -> f64 {
    if gain.is_nan() { gain } else { f64::from(u8::from(gain >= STEP)) }
}

fn change(a: &Figures, b: &Figures, viewer: usize, of: impl Fn(&Viewed) -> Option<f64>) -> f64 {
    let figure = |f: &Figures| of(&f.viewers[viewer]).unwrap_or(f64::NAN);
    figure(a) - figure(b)
}

/// The figures over all mixes that are no plain mean of a metric.
const OVER_ALL: &[&str] = &["gain_mean", "gain_median", "gap_closed_optimum", "gap_closed_bound"];

/// Whether [`beside`] can say something about `name`.
pub(super) fn is_known(name: &str) -> bool {
    let metrics = METRICS.iter().chain(METRICS_OF_TWO);
    OVER_ALL.contains(&name) || metrics.into_iter().any(|(known, _)| *known == name)
}

/// The figures over all mixes that claims list under `beside`, by name; those of which nothing
/// can be said are left out.
pub(super) fn beside(name: &str, samples: &Samples) -> Option<f64> {
    let means = |metric: &str| -> Option<Vec<f64>> {
        samples.get(metric)?.iter().map(|seeds| mean(seeds)).collect()
    };
    match name {
        "gain_mean" => mean(&means("minimum_qoe_gain")?),
        "gain_median" => median(&means("minimum_qoe_gain")?),
        "gap_closed_optimum" => gap_closed(&means("minimum_qoe_gain")?, &means("optimum_gain")?),
        "gap_closed_bound" => gap_closed(&means("minimum_qoe_gain")?, &means("bound_gain")?),
        metric => mean(&means(metric)?),
    }
    .filter(|x| x.is_finite())
}

/// One minus the gap left over the gap there was, both summed over the mixes with a gap.
fn gap_closed(gains: &[f64], best: &[f64]) -> Option<f64> {
    let (mut left, mut there) = (0.0, 0.0);
    for (gain, best) in gains.iter().zip(best).filter(|(_, best)| **best >= LEAST_GAP) {
        left += best - gain;
        there += best;
    }
    (there > 0.0).then(|| 1.0 - left / there)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(qoe: [f64; 2]) -> Figures {
        let viewer = |qoe: f64| Viewed {
            name: String::new(),
            video: String::new(),
            qoe: Some(qoe),
            quality: Some(qoe),
            quality_after_join: Some(qoe),
            buffer_at_join_s: qoe / 5.0,
            buffer_after_join_s: Some(qoe / 10.0),
            stall_after_join_s: 0.0,
            stall_s: 0.0,
            startup_s: Some(0.5),
            weight: None,
            failure: None,
        };
        Figures { packet_hash: 0, utilisation: None, viewers: qoe.map(viewer).to_vec() }
    }

    #[test]
    fn gains_are_of_the_worst_viewers_whoever_they_are() {
        let (minerva, cubic) = (run([60.0, 58.0]), run([50.0, 90.0]));
        let mix = Mix { runs: vec![(&minerva, &cubic)], optimum: 62.0, bound: 57.0 };
        let s = samples(&[mix], "cubic");
        let one = |name: &str| s[name][0][0];
        assert_eq!(one("minimum_qoe_gain"), 8.0);
        assert_eq!(one("minimum_qoe_gain_over_cubic"), 8.0);
        assert_eq!((one("optimum_gain"), one("bound_gain")), (12.0, 7.0));
        assert_eq!(one("gain_at_least_7_65"), 1.0);
        assert_eq!(one("bound_gain_at_least_7_65"), 0.0);
        assert_eq!((one("second_quality_gain"), one("first_buffer_change_s")), (-32.0, 1.0));
        assert_eq!(one("first_buffer_at_join_s"), 10.0);
    }

    #[test]
    fn the_gap_closed_is_over_mixes_with_a_gap() {
        let runs = [(run([58.0; 2]), run([50.0; 2])), (run([40.0; 2]), run([50.0; 2]))];
        let mix = |i: usize, optimum| Mix {
            runs: vec![(&runs[i].0, &runs[i].1)],
            optimum,
            bound: optimum + 6.0,
        };
        let s = samples(&[mix(0, 60.0), mix(1, 52.0)], "cubic");
        assert_eq!(beside("gap_closed_optimum", &s), Some(0.8));
        assert_eq!(beside("gap_closed_bound", &s), Some(1.0 - (8.0 + 18.0) / (16.0 + 8.0)));
        assert_eq!(beside("gain_mean", &s), Some(-1.0));
    }

    #[test]
    fn a_viewer_who_saw_nothing_leaves_no_number() {
        let (mut minerva, cubic) = (run([60.0, 58.0]), run([50.0, 90.0]));
        minerva.viewers[1].qoe = None;
        let mix = Mix { runs: vec![(&minerva, &cubic)], optimum: 62.0, bound: 57.0 };
        let s = samples(&[mix], "cubic");
        assert!(s["minimum_qoe_gain"][0][0].is_nan() && s["gain_at_least_7_65"][0][0].is_nan());
        assert_eq!(beside("gain_mean", &s), None);
    }
}
