//! From runs to the samples that a rule judges, and to the figures beside them.

use airlane_minerva::{Blend, Config};
use airlane_quality::stats;

use super::super::{CALIBRATED, Viewers};
use super::figures::{Figures, Viewed, lowest};
use super::optimum;
use crate::workload::{ByMetric, ClaimRun, Compared, Metric, Sense};

/// A step from 720p to 1080p, the paper's measure of a gain worth having (section 8.2).
pub(super) const STEP: f64 = 7.65;

/// Mixes whose optimum is closer to the baseline have no gap to close.
const LEAST_GAP: f64 = 3.0;

/// Slack of the bounds on rates.
const SLACK: f64 = 1.1;

/// What figures hang on that no scenario says, as text: the constants above, the defaults of
/// Minerva's controller, and alpha where nobody sets it.
pub(crate) fn defaults() -> String {
    let (config, blend) = (Config::default(), Blend::default());
    format!("{STEP} {LEAST_GAP} {SLACK} {config:?} {blend:?} {CALIBRATED:?}")
}

/// One mix: what was measured with each seed, and what constant rates could have reached.
#[derive(Clone, Debug)]
pub(super) struct Mix<'a> {
    /// Per seed: the scheme that is judged and what it is compared with, in the claim's order.
    pub(super) runs: Vec<Vec<&'a Figures>>,
    /// Lowest QoE at the fixed-rate optimum.
    pub(super) optimum: f64,
    /// Lowest QoE at its bound.
    pub(super) bound: f64,
}

impl Mix<'_> {
    /// Lowest QoE under the first baseline with the seed after the `seed`-th; `None` if there is
    /// only one seed, or no baseline.
    ///
    /// Whether a mix leaves something to gain is asked of it: asked of the same run, mixes in
    /// which the baseline was unlucky would be taken for such, and its luck for a gain.
    fn other_baseline(&self, seed: usize) -> Option<f64> {
        let other = (seed + 1) % self.runs.len();
        (other != seed).then(|| self.runs[other].get(1).map(|b| worst(b))).flatten()
    }
}

/// The mixes of a claim's scene, in order.
pub(super) fn mixes<'a>(compared: &Compared<'a>) -> Option<Vec<Mix<'a>>> {
    let mix = |(case, seeds): (usize, &Vec<Vec<&'a ClaimRun>>)| {
        let figures = |run: &&'a ClaimRun| run.kept.of::<Figures>();
        let runs = seeds.iter().map(|runs| runs.iter().map(figures).collect());
        let (optimum, bound) = optimum::of_mix(compared.plan, compared.stocks, case);
        Some(Mix { runs: runs.collect::<Option<_>>()?, optimum, bound })
    };
    compared.runs.iter().enumerate().map(mix).collect()
}

/// The samples of draws by metric, one entry per mix, one figure per seed. `compare` has the names
/// of the schemes.
///
/// What could not be measured (a viewer that saw nothing) is a NaN: no rule holds on it.
pub(super) fn samples(mixes: &[Mix<'_>], compare: &[String]) -> ByMetric {
    let mut out = ByMetric::new();
    let mut add = |name: String, of: &dyn Fn(&Mix<'_>, &[&Figures], usize) -> f64| {
        let per_mix = |mix: &Mix<'_>| {
            mix.runs.iter().enumerate().map(|(seed, run)| of(mix, run, seed)).collect()
        };
        out.insert(name, mixes.iter().map(per_mix).collect());
    };
    for (i, baseline) in compare.iter().enumerate().skip(1) {
        for (name, _, _, of) in GAINS {
            if i == 1 {
                add((*name).to_owned(), &|_, run, _| of(run[0]) - of(run[1]));
            }
            add(format!("{name}_over_{baseline}"), &|_, run, _| of(run[0]) - of(run[i]));
        }
    }
    for (name, _, _, of) in OF_GROUPS {
        add((*name).to_owned(), &|mix, run, _| of(mix, run[0]));
    }
    if compare.len() > 1 {
        for (name, _, _, of) in OF_A_GAP {
            let gap =
                |mix: &Mix<'_>, seed: usize| mix.other_baseline(seed).map(|b| (of.to)(mix) - b);
            add((*name).to_owned(), &|mix, run, seed| {
                where_a_gap(gap(mix, seed).unwrap_or(f64::NAN), (of.figure)(mix, run[0], run[1]))
            });
        }
        for (name, _, _, of) in OF_A_MIX {
            add((*name).to_owned(), &|mix, run, _| of(mix, run[0], run[1]));
        }
        if mixes.iter().flat_map(|m| &m.runs).flatten().all(|f| f.viewers.len() > 1) {
            for (name, _, _, of) in OF_TWO {
                add((*name).to_owned(), &|_, run, _| of(run[0], run[1]));
            }
        }
    }
    out
}

/// The metrics of a run that claims have beside its figures.
pub(crate) fn run_metrics(cast: &Viewers) -> Vec<Metric> {
    let metric =
        |&(name, unit, sense, _): &(_, Unit, _, _)| Metric::of_run(name, unit.name(cast), sense);
    OF_A_RUN.iter().map(metric).collect()
}

/// One of these; `None` if there is no such metric.
pub(super) fn of_run(metric: &str, figures: &Figures) -> Option<f64> {
    let found = OF_A_RUN.iter().find(|(name, ..)| *name == metric);
    found.map(|(_, _, _, of)| of(figures))
}

/// The metrics of draws, of a claim that compares schemes of these names.
pub(crate) fn metrics(cast: &Viewers, names: &[String]) -> Vec<Metric> {
    fn listed<F>(cast: &Viewers, table: &[(&'static str, Unit, Sense, F)]) -> Vec<Metric> {
        let metric = |(name, unit, sense, _): &(&'static str, Unit, Sense, F)| {
            Metric::of_run(*name, unit.name(cast), *sense)
        };
        table.iter().map(metric).collect()
    }
    let mut all = listed(cast, GAINS);
    for gain in listed(cast, GAINS) {
        let over = |baseline: &String| Metric {
            name: format!("{}_over_{baseline}", gain.name).into(),
            ..gain.clone()
        };
        all.extend(names.iter().skip(1).map(over));
    }
    all.extend(listed(cast, OF_GROUPS));
    all.extend(listed(cast, OF_A_GAP));
    all.extend(listed(cast, OF_A_MIX));
    all.extend(listed(cast, OF_TWO));
    all
}

/// The unit of a metric.
#[derive(Clone, Copy)]
enum Unit {
    /// That of QoE.
    Qoe,
    /// Seconds.
    S,
    /// Bytes.
    B,
    /// None: a count, a share, a ratio or a logarithm.
    None,
}

impl Unit {
    fn name(self, cast: &Viewers) -> &'static str {
        match self {
            Self::Qoe => cast.unit(),
            Self::S => "s",
            Self::B => "B",
            Self::None => "",
        }
    }
}

type OfRun = fn(&Figures) -> f64;

/// Of one run; those of the baseline and the change go by names made of these.
const OF_A_RUN: &[(&str, Unit, Sense, OfRun)] = &[
    ("minimum_qoe", Unit::Qoe, Sense::Higher, worst),
    ("stall_s", Unit::S, Sense::Lower, |f| mean(f, |v| Some(v.stall_s))),
    ("stalls", Unit::None, Sense::Lower, |f| mean(f, |v| Some(v.stalls as f64))),
    ("startup_s", Unit::S, Sense::Lower, |f| mean(f, |v| Some(v.wait_s))),
    ("waiting_s", Unit::S, Sense::Lower, |f| mean(f, |v| Some(v.wait_s + v.stall_s))),
    ("quality", Unit::Qoe, Sense::Higher, |f| mean(f, |v| v.quality)),
    ("video_bytes", Unit::B, Sense::Neutral, |f| f.viewers.iter().map(|v| v.bytes as f64).sum()),
    ("settling_s", Unit::S, Sense::Lower, |f| f.settling_s.unwrap_or(f64::NAN)),
    ("first_bytes", Unit::B, Sense::Neutral, |f| {
        f.viewers.first().map_or(f64::NAN, |v| v.bytes as f64)
    }),
    ("first_qoe", Unit::Qoe, Sense::Higher, |f| {
        f.viewers.first().and_then(|v| v.qoe).unwrap_or(f64::NAN)
    }),
    ("qoe_gap", Unit::Qoe, Sense::Lower, |f| range(f, |_| true)),
    ("rate_high", Unit::None, Sense::Neutral, |f| {
        rates(f).map_or(f64::NAN, |r| r.into_iter().fold(f64::NAN, f64::max))
    }),
    ("rate_low", Unit::None, Sense::Neutral, |f| {
        rates(f).map_or(f64::NAN, |r| r.into_iter().fold(f64::NAN, f64::min))
    }),
    ("rate_within", Unit::None, Sense::Higher, |f| {
        within(f, f.viewers.iter().map(|v| v.over_bulk.as_slice()))
    }),
    ("bulk_within", Unit::None, Sense::Higher, |f| {
        within(f, std::iter::once(f.bulk_over_bulk.as_slice()))
    }),
    ("group_gain", Unit::Qoe, Sense::Higher, |f| group(f, 0, worst_of) - group(f, 1, worst_of)),
    ("group_gain_at_least_7_65", Unit::None, Sense::Higher, |f| {
        at_least_step(group(f, 0, worst_of) - group(f, 1, worst_of))
    }),
    ("group_range_change", Unit::Qoe, Sense::Lower, |f| {
        group(f, 0, range_of) - group(f, 1, range_of)
    }),
    ("group_share", Unit::None, Sense::Neutral, |f| {
        let bytes = |i| group(f, i, |all| all.iter().map(|v| v.bytes as f64).sum());
        bytes(0) / (bytes(0) + bytes(1))
    }),
    ("group_stall_change_s", Unit::S, Sense::Lower, |f| {
        group(f, 0, stall_of) - group(f, 1, stall_of)
    }),
];

/// Of a run, as the difference to each of several baselines.
const GAINS: &[(&str, Unit, Sense, OfRun)] = &[
    ("minimum_qoe_gain", Unit::Qoe, Sense::Higher, worst),
    ("log_qoe_gain", Unit::None, Sense::Higher, log_qoe),
];

type OfMix = fn(&Mix<'_>, &Figures, &Figures) -> f64;

/// Of a mix under the scheme and the first baseline.
const OF_A_MIX: &[(&str, Unit, Sense, OfMix)] = &[
    ("gain_at_least_7_65", Unit::None, Sense::Higher, |_, a, b| at_least_step(worst(a) - worst(b))),
    ("optimum_gain", Unit::Qoe, Sense::Higher, |mix, _, b| mix.optimum - worst(b)),
    ("bound_gain", Unit::Qoe, Sense::Higher, |mix, _, b| mix.bound - worst(b)),
    ("optimum_gain_at_least_7_65", Unit::None, Sense::Higher, |mix, _, b| {
        at_least_step(mix.optimum - worst(b))
    }),
    ("bound_gain_at_least_7_65", Unit::None, Sense::Higher, |mix, _, b| {
        at_least_step(mix.bound - worst(b))
    }),
    ("first_group_gain", Unit::Qoe, Sense::Higher, |_, a, b| {
        group(a, 0, worst_of) - group(b, 0, worst_of)
    }),
    ("second_group_gain", Unit::Qoe, Sense::Higher, |_, a, b| {
        group(a, 1, worst_of) - group(b, 1, worst_of)
    }),
];

/// A figure of the mixes that leave something to gain, 0 in others.
struct OfGap {
    /// What could be reached.
    to: fn(&Mix<'_>) -> f64,
    /// The figure, under the scheme and the first baseline.
    figure: OfMix,
}

const OF_A_GAP: &[(&str, Unit, Sense, OfGap)] = &[
    (
        "gap",
        Unit::Qoe,
        Sense::Neutral,
        OfGap { to: |mix| mix.optimum, figure: |mix, _, b| mix.optimum - worst(b) },
    ),
    (
        "gap_closed",
        Unit::Qoe,
        Sense::Higher,
        OfGap { to: |mix| mix.optimum, figure: |_, a, b| worst(a) - worst(b) },
    ),
    (
        "bound_gap",
        Unit::Qoe,
        Sense::Neutral,
        OfGap { to: |mix| mix.bound, figure: |mix, _, b| mix.bound - worst(b) },
    ),
    (
        "bound_gap_closed",
        Unit::Qoe,
        Sense::Higher,
        OfGap { to: |mix| mix.bound, figure: |_, a, b| worst(a) - worst(b) },
    ),
];

type OfGroups = fn(&Mix<'_>, &Figures) -> f64;

/// Of the groups of a run, beside what constant rates could have brought the first on its even
/// share of the link.
const OF_GROUPS: &[(&str, Unit, Sense, OfGroups)] = &[
    ("group_optimum_gain", Unit::Qoe, Sense::Higher, |mix, f| mix.optimum - group(f, 1, worst_of)),
    ("group_optimum_gain_at_least_7_65", Unit::None, Sense::Higher, |mix, f| {
        at_least_step(mix.optimum - group(f, 1, worst_of))
    }),
];

type OfTwo = fn(&Figures, &Figures) -> f64;

/// Of the viewer who was there first and the one who joined.
const OF_TWO: &[(&str, Unit, Sense, OfTwo)] = &[
    ("second_quality_gain", Unit::Qoe, Sense::Higher, |a, b| {
        change(a, b, 1, |v| v.quality_after_join)
    }),
    ("second_qoe_gain", Unit::Qoe, Sense::Higher, |a, b| change(a, b, 1, |v| v.qoe)),
    ("second_startup_change_s", Unit::S, Sense::Lower, |a, b| change(a, b, 1, |v| Some(v.wait_s))),
    ("second_stall_change_s", Unit::S, Sense::Lower, |a, b| {
        change(a, b, 1, |v| Some(v.stall_after_join_s))
    }),
    ("first_buffer_at_join_s", Unit::S, Sense::Neutral, |_, b| b.viewers[0].buffer_at_join_s),
    ("first_buffer_change_s", Unit::S, Sense::Neutral, |a, b| {
        change(a, b, 0, |v| v.buffer_after_join_s)
    }),
    ("first_quality_change", Unit::Qoe, Sense::Higher, |a, b| {
        change(a, b, 0, |v| v.quality_after_join)
    }),
    ("first_stall_change_s", Unit::S, Sense::Lower, |a, b| {
        change(a, b, 0, |v| Some(v.stall_after_join_s))
    }),
];

fn worst(figures: &Figures) -> f64 {
    figures.min_qoe().unwrap_or(f64::NAN)
}

/// The sum over viewers of the logarithm of QoE; a QoE under one counts as one.
fn log_qoe(figures: &Figures) -> f64 {
    figures.viewers.iter().map(|v| v.qoe.unwrap_or(f64::NAN).max_or_nan(1.0).ln()).sum()
}

/// `f64::max` takes the number of a NaN and a number; a figure that is missing stays missing.
trait MaxOrNan {
    fn max_or_nan(self, least: f64) -> f64;
}

impl MaxOrNan for f64 {
    fn max_or_nan(self, least: f64) -> f64 {
        if self.is_nan() { self } else { self.max(least) }
    }
}

fn mean(figures: &Figures, of: impl Fn(&Viewed) -> Option<f64>) -> f64 {
    let sum: f64 = figures.viewers.iter().map(|v| of(v).unwrap_or(f64::NAN)).sum();
    sum / figures.viewers.len() as f64
}

/// A figure of the viewers of the `i`-th group.
fn group(figures: &Figures, i: usize, of: impl Fn(&[&Viewed]) -> f64) -> f64 {
    let Some(name) = figures.groups().get(i).copied() else { return f64::NAN };
    let members: Vec<&Viewed> = figures.viewers.iter().filter(|v| v.group == name).collect();
    of(&members)
}

fn worst_of(viewers: &[&Viewed]) -> f64 {
    lowest(viewers.iter().copied()).unwrap_or(f64::NAN)
}

fn range_of(viewers: &[&Viewed]) -> f64 {
    let all: Option<Vec<f64>> = viewers.iter().map(|v| v.qoe).collect();
    let all = all.unwrap_or_default();
    let most = all.iter().copied().fold(f64::NAN, f64::max);
    most - all.into_iter().fold(f64::NAN, f64::min)
}

fn stall_of(viewers: &[&Viewed]) -> f64 {
    viewers.iter().map(|v| v.stall_s).sum::<f64>() / viewers.len() as f64
}

fn range(figures: &Figures, of: impl Fn(&Viewed) -> bool) -> f64 {
    range_of(&figures.viewers.iter().filter(|v| of(v)).collect::<Vec<_>>())
}

/// The mean rate of each viewer over that of the bulk flows; `None` if one has none.
fn rates(figures: &Figures) -> Option<Vec<f64>> {
    figures.viewers.iter().map(|v| stats::mean(&v.over_bulk)).collect()
}

/// The share of the bins of all `flows` whose rate is within the bounds with slack; no number
/// without bounds, or if a flow has no bin.
fn within<'a>(figures: &Figures, flows: impl Iterator<Item = &'a [f64]>) -> f64 {
    let Some(mu) = figures.mu else { return f64::NAN };
    let (mut inside, mut all) = (0, 0);
    for bins in flows {
        if bins.is_empty() {
            return f64::NAN;
        }
        all += bins.len();
        inside += bins.iter().filter(|x| (1.0 / (mu * SLACK)..=mu * SLACK).contains(*x)).count();
    }
    f64::from(inside as u32) / f64::from(all as u32)
}

/// 1 or 0; no number stays none.
fn at_least_step(gain: f64) -> f64 {
    if gain.is_nan() { gain } else { f64::from(u8::from(gain >= STEP)) }
}

/// The value in a mix with a gap, 0 in others; no number stays none.
fn where_a_gap(gap: f64, value: f64) -> f64 {
    if gap < LEAST_GAP { 0.0 } else { gap * 0.0 + value }
}

fn change(a: &Figures, b: &Figures, viewer: usize, of: impl Fn(&Viewed) -> Option<f64>) -> f64 {
    let figure = |f: &Figures| of(&f.viewers[viewer]).unwrap_or(f64::NAN);
    figure(a) - figure(b)
}

#[cfg(test)]
mod tests {
    use super::super::super::Player;
    use super::*;
    use crate::claims::{Samples, Statistic, point_estimate};

    fn run(qoe: [f64; 2]) -> Figures {
        let viewer = |qoe: f64| Viewed {
            qoe: Some(qoe),
            quality: Some(qoe),
            quality_after_join: Some(qoe),
            buffer_at_join_s: qoe / 5.0,
            buffer_after_join_s: Some(qoe / 10.0),
            wait_s: 0.5,
            bytes: 1000 * qoe as u64,
            ..Viewed::default()
        };
        Figures {
            settling_s: None,
            bulk_over_bulk: Vec::new(),
            mu: None,
            viewers: qoe.map(viewer).to_vec(),
        }
    }

    fn against_cubic() -> Vec<String> {
        vec!["minerva".to_owned(), "cubic".to_owned()]
    }

    /// The figures of draws, and those of the runs that are judged.
    fn measured(mixes: &[Mix<'_>], compare: &[String]) -> ByMetric {
        let mut all = samples(mixes, compare);
        for (name, _, _, of) in OF_A_RUN {
            let of_mix = |mix: &Mix<'_>| mix.runs.iter().map(|run| of(run[0])).collect();
            all.insert((*name).to_owned(), mixes.iter().map(of_mix).collect());
        }
        all
    }

    fn statistic(text: &str, s: &ByMetric) -> Option<f64> {
        point_estimate(
            &Statistic::try_from(text.to_owned()).unwrap(),
            &Samples::without_cells(s.clone()),
        )
    }

    #[test]
    fn gains_are_of_the_worst_viewers_whoever_they_are() {
        let (minerva, cubic) = (run([60.0, 58.0]), run([50.0, 90.0]));
        let mix = Mix { runs: vec![vec![&minerva, &cubic]], optimum: 62.0, bound: 57.0 };
        let s = measured(&[mix], &against_cubic());
        let one = |name: &str| s[name][0][0];
        assert_eq!(one("minimum_qoe_gain"), 8.0);
        assert_eq!(one("minimum_qoe_gain_over_cubic"), 8.0);
        assert_eq!((one("optimum_gain"), one("bound_gain")), (12.0, 7.0));
        assert_eq!(one("gain_at_least_7_65"), 1.0);
        assert_eq!(one("bound_gain_at_least_7_65"), 0.0);
        assert_eq!((one("second_quality_gain"), one("first_buffer_change_s")), (-32.0, 1.0));
        assert_eq!(one("first_buffer_at_join_s"), 10.0);
        assert_eq!((one("video_bytes"), one("waiting_s")), (118_000.0, 0.5));
        assert!((one("log_qoe_gain") - (60.0f64 * 58.0 / 50.0 / 90.0).ln()).abs() < 1e-12);
        let cast = Viewers {
            viewers: Vec::new(),
            arrivals: None,
            player: Player::default(),
            min_chunks: 1,
        };
        let listed = [metrics(&cast, &against_cubic()), run_metrics(&cast)].concat();
        for name in s.keys() {
            assert!(listed.iter().any(|m| m.name == *name), "{name}");
        }
        assert!(!listed.iter().any(|m| m.name == "minimum_qoe_gain_over_bbr"));
    }

    #[test]
    fn groups_are_compared_within_a_run() {
        let mut one = run([60.0, 58.0]);
        one.viewers.extend(run([50.0, 90.0]).viewers);
        one.viewers[2..].iter_mut().for_each(|v| v.group = "cubic".to_owned());
        let mix = Mix { runs: vec![vec![&one]], optimum: f64::NAN, bound: f64::NAN };
        let s = measured(&[mix], &["minerva".to_owned()]);
        let of = |name: &str| s[name][0][0];
        assert_eq!((of("group_gain"), of("group_range_change")), (8.0, 2.0 - 40.0));
        assert_eq!(of("group_share"), 118.0 / 258.0);
        assert!(!s.contains_key("minimum_qoe_gain"));
    }

    #[test]
    fn a_mix_has_a_gap_if_it_has_one_under_another_seed() {
        let [ours, lucky, unlucky] = [[58.0; 2], [59.0; 2], [50.0; 2]].map(run);
        let mix = |baselines: [&'static str; 2]| {
            let of = |name| if name == "lucky" { &lucky } else { &unlucky };
            let runs = baselines.map(|name| vec![&ours, of(name)]).to_vec();
            Mix { runs, optimum: 60.0, bound: 66.0 }
        };
        let closed = |mixes: &[Mix<'_>], what: &str| {
            let s = measured(mixes, &against_cubic());
            (s["gap"].clone(), statistic(&format!("sum({what}gap_closed / {what}gap)"), &s))
        };
        // Where the baseline is as far away under both seeds both count.
        assert_eq!(closed(&[mix(["unlucky"; 2])], ""), (vec![vec![10.0, 10.0]], Some(0.8)));
        assert_eq!(closed(&[mix(["unlucky"; 2])], "bound_").1, Some(0.5));
        assert_eq!(closed(&[mix(["lucky"; 2])], "").0, [[0.0, 0.0]]);
        // Where it was unlucky once, the other seed's run counts, and not that one.
        assert_eq!(closed(&[mix(["lucky", "unlucky"])], ""), (vec![vec![1.0, 0.0]], Some(-1.0)));
        // One seed cannot say.
        let mut one = mix(["unlucky"; 2]);
        one.runs.truncate(1);
        assert_eq!(closed(&[one], "").1, None);
    }

    #[test]
    fn what_a_group_could_have_is_compared_with_the_other_group() {
        let mut one = run([60.0, 58.0]);
        one.viewers.extend(run([50.0, 90.0]).viewers);
        one.viewers[2..].iter_mut().for_each(|v| v.group = "cubic".to_owned());
        let mix = Mix { runs: vec![vec![&one]], optimum: 62.0, bound: 57.0 };
        let s = measured(&[mix], &["minerva".to_owned()]);
        assert_eq!((s["group_optimum_gain"][0][0], s["group_gain"][0][0]), (12.0, 8.0));
        assert_eq!(s["group_optimum_gain_at_least_7_65"][0][0], 1.0);
    }

    #[test]
    fn rates_are_judged_bin_by_bin() {
        let mut one = run([60.0, 58.0]);
        one.mu = Some(1.25);
        one.viewers[0].over_bulk = vec![1.0, 1.3, 1.4, 0.8];
        one.viewers[1].over_bulk = vec![0.7, 1.0, 1.0, 1.0];
        one.bulk_over_bulk = vec![1.0, 2.0];
        let of = |one: &Figures, name: &str| {
            let mix = Mix { runs: vec![vec![one]], optimum: f64::NAN, bound: f64::NAN };
            measured(&[mix], &["minerva".to_owned()])[name][0][0]
        };
        assert_eq!((of(&one, "rate_within"), of(&one, "bulk_within")), (6.0 / 8.0, 0.5));
        assert_eq!((of(&one, "rate_high"), of(&one, "rate_low")), (1.125, 0.925));
        // A viewer without a rate does not leave the others to be judged alone.
        one.viewers[1].over_bulk.clear();
        for name in ["rate_within", "rate_high", "rate_low"] {
            assert!(of(&one, name).is_nan(), "{name}");
        }
        one.mu = None;
        assert!(of(&one, "bulk_within").is_nan(), "without bounds there is none to keep");
    }

    #[test]
    fn a_viewer_who_saw_nothing_leaves_no_number() {
        let (mut minerva, cubic) = (run([60.0, 58.0]), run([50.0, 90.0]));
        minerva.viewers[1].qoe = None;
        let mix = Mix { runs: vec![vec![&minerva, &cubic]], optimum: 62.0, bound: 57.0 };
        let s = measured(&[mix], &against_cubic());
        for name in ["minimum_qoe_gain", "gain_at_least_7_65", "log_qoe_gain", "gap_closed"] {
            assert!(s[name][0][0].is_nan(), "{name}");
        }
        assert_eq!(statistic("minimum_qoe_gain", &s), None);
    }
}
