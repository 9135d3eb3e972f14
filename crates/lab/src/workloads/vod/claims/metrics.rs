//! The metrics of claims about viewers: a table for each kind, with unit, sense and formula.
//!
//! A metric is of one run, of a mix under a scheme and its baseline, or of the groups in a run.
//! `samples` applies the tables to the runs of a claim.

use airlane_quality::stats;

use super::super::Viewers;
use super::figures::{Figures, ViewerFigures, lowest};
use super::samples::Mix;
use airlane_sim::workload::{Metric, Sense, Unit};

/// A step from 720p to 1080p, the paper's measure of a gain worth having (section 8.2).
pub(super) const STEP: f64 = 7.65;

/// Mixes whose optimum is closer to the baseline have no gap to close.
pub(super) const MIN_GAP: f64 = 3.0;

/// Slack of the bounds on rates.
pub(super) const SLACK: f64 = 1.1;

/// The metrics of a run that only claims use.
pub(crate) fn run_metrics(traffic: &Viewers) -> Vec<Metric> {
    let metric = |&(name, unit, sense, _): &(_, UnitKind, _, _)| {
        Metric::of_run(name, unit.unit(traffic), sense)
    };
    OF_A_RUN.iter().map(metric).collect()
}

/// The value of one of these; `None` if there is no such metric.
pub(super) fn of_run(metric: &str, figures: &Figures) -> Option<f64> {
    let found = OF_A_RUN.iter().find(|(name, ..)| *name == metric);
    found.map(|(_, _, _, of)| of(figures))
}

/// The metrics of draws, of a claim that compares schemes of these names.
pub(crate) fn metrics(traffic: &Viewers, names: &[String]) -> Vec<Metric> {
    fn listed<F>(traffic: &Viewers, table: &[(&'static str, UnitKind, Sense, F)]) -> Vec<Metric> {
        let metric = |(name, unit, sense, _): &(&'static str, UnitKind, Sense, F)| {
            Metric::of_run(*name, unit.unit(traffic), *sense)
        };
        table.iter().map(metric).collect()
    }
    let mut all = listed(traffic, GAINS);
    for gain in listed(traffic, GAINS) {
        let over = |baseline: &String| Metric {
            name: format!("{}_over_{baseline}", gain.name).into(),
            ..gain.clone()
        };
        all.extend(names.iter().skip(1).map(over));
    }
    all.extend(listed(traffic, OF_GROUPS));
    all.extend(listed(traffic, OF_A_GAP));
    all.extend(listed(traffic, OF_A_MIX));
    all.extend(listed(traffic, OF_TWO));
    all
}

/// The unit of a metric.
#[derive(Clone, Copy)]
pub(super) enum UnitKind {
    /// That of QoE, which depends on the content.
    Qoe,
    /// One that does not.
    Fixed(Unit),
}

impl UnitKind {
    fn unit(self, traffic: &Viewers) -> Unit {
        match self {
            Self::Qoe => traffic.unit(),
            Self::Fixed(unit) => unit,
        }
    }
}

/// Seconds.
const S: UnitKind = UnitKind::Fixed(Unit::SECONDS);
/// Bytes.
const B: UnitKind = UnitKind::Fixed(Unit::BYTES);
/// A count, a share, a ratio or a logarithm.
const ONE: UnitKind = UnitKind::Fixed(Unit::ONE);

pub(super) type RunMetric = fn(&Figures) -> f64;

/// Metrics of one run. The kernel derives those of the baseline and the change from them.
pub(super) const OF_A_RUN: &[(&str, UnitKind, Sense, RunMetric)] = &[
    ("minimum_qoe", UnitKind::Qoe, Sense::Higher, worst),
    ("stall_s", S, Sense::Lower, |f| mean(f, |v| Some(v.stall_s))),
    ("stalls", ONE, Sense::Lower, |f| mean(f, |v| Some(v.stalls as f64))),
    ("startup_s", S, Sense::Lower, |f| mean(f, |v| Some(v.wait_s))),
    ("waiting_s", S, Sense::Lower, |f| mean(f, |v| Some(v.wait_s + v.stall_s))),
    ("quality", UnitKind::Qoe, Sense::Higher, |f| mean(f, |v| v.quality)),
    ("video_bytes", B, Sense::Neutral, |f| f.viewers.iter().map(|v| v.bytes as f64).sum()),
    ("settling_s", S, Sense::Lower, |f| f.settling_s.unwrap_or(f64::NAN)),
    ("first_bytes", B, Sense::Neutral, |f| f.viewers.first().map_or(f64::NAN, |v| v.bytes as f64)),
    ("first_qoe", UnitKind::Qoe, Sense::Higher, |f| {
        f.viewers.first().and_then(|v| v.qoe).unwrap_or(f64::NAN)
    }),
    ("qoe_gap", UnitKind::Qoe, Sense::Lower, |f| range(f, |_| true)),
    ("rate_high", ONE, Sense::Neutral, |f| {
        rates(f).map_or(f64::NAN, |r| r.into_iter().fold(f64::NAN, f64::max))
    }),
    ("rate_low", ONE, Sense::Neutral, |f| {
        rates(f).map_or(f64::NAN, |r| r.into_iter().fold(f64::NAN, f64::min))
    }),
    ("rate_within", ONE, Sense::Higher, |f| {
        within(f, f.viewers.iter().map(|v| v.over_bulk.as_slice()))
    }),
    ("bulk_within", ONE, Sense::Higher, |f| {
        within(f, std::iter::once(f.bulk_over_bulk.as_slice()))
    }),
    ("group_gain", UnitKind::Qoe, Sense::Higher, |f| group(f, 0, worst_of) - group(f, 1, worst_of)),
    ("group_gain_at_least_7_65", ONE, Sense::Higher, |f| {
        at_least_step(group(f, 0, worst_of) - group(f, 1, worst_of))
    }),
    ("group_range_change", UnitKind::Qoe, Sense::Lower, |f| {
        group(f, 0, range_of) - group(f, 1, range_of)
    }),
    ("group_share", ONE, Sense::Neutral, |f| {
        let bytes = |i| group(f, i, |all| all.iter().map(|v| v.bytes as f64).sum());
        bytes(0) / (bytes(0) + bytes(1))
    }),
    ("group_stall_change_s", S, Sense::Lower, |f| group(f, 0, stall_of) - group(f, 1, stall_of)),
];

/// Metrics of a run, as the difference to each of several baselines.
pub(super) const GAINS: &[(&str, UnitKind, Sense, RunMetric)] = &[
    ("minimum_qoe_gain", UnitKind::Qoe, Sense::Higher, worst),
    ("log_qoe_gain", ONE, Sense::Higher, log_qoe),
];

pub(super) type MixMetric = fn(&Mix<'_>, &Figures, &Figures) -> f64;

/// Metrics of a mix under the scheme and the first baseline.
pub(super) const OF_A_MIX: &[(&str, UnitKind, Sense, MixMetric)] = &[
    ("gain_at_least_7_65", ONE, Sense::Higher, |_, a, b| at_least_step(worst(a) - worst(b))),
    ("optimum_gain", UnitKind::Qoe, Sense::Higher, |mix, _, b| mix.optimum - worst(b)),
    ("bound_gain", UnitKind::Qoe, Sense::Higher, |mix, _, b| mix.bound - worst(b)),
    ("optimum_gain_at_least_7_65", ONE, Sense::Higher, |mix, _, b| {
        at_least_step(mix.optimum - worst(b))
    }),
    ("bound_gain_at_least_7_65", ONE, Sense::Higher, |mix, _, b| {
        at_least_step(mix.bound - worst(b))
    }),
    ("first_group_gain", UnitKind::Qoe, Sense::Higher, |_, a, b| {
        group(a, 0, worst_of) - group(b, 0, worst_of)
    }),
    ("second_group_gain", UnitKind::Qoe, Sense::Higher, |_, a, b| {
        group(a, 1, worst_of) - group(b, 1, worst_of)
    }),
];

/// A metric of mixes with a gap between baseline and optimum; 0 in others.
pub(super) struct GapMetric {
    /// The upper end of the gap.
    pub(super) to: fn(&Mix<'_>) -> f64,
    /// The figure, under the scheme and the first baseline.
    pub(super) figure: MixMetric,
}

pub(super) const OF_A_GAP: &[(&str, UnitKind, Sense, GapMetric)] = &[
    (
        "gap",
        UnitKind::Qoe,
        Sense::Neutral,
        GapMetric { to: |mix| mix.optimum, figure: |mix, _, b| mix.optimum - worst(b) },
    ),
    (
        "gap_closed",
        UnitKind::Qoe,
        Sense::Higher,
        GapMetric { to: |mix| mix.optimum, figure: |_, a, b| worst(a) - worst(b) },
    ),
    (
        "bound_gap",
        UnitKind::Qoe,
        Sense::Neutral,
        GapMetric { to: |mix| mix.bound, figure: |mix, _, b| mix.bound - worst(b) },
    ),
    (
        "bound_gap_closed",
        UnitKind::Qoe,
        Sense::Higher,
        GapMetric { to: |mix| mix.bound, figure: |_, a, b| worst(a) - worst(b) },
    ),
];

pub(super) type GroupMetric = fn(&Mix<'_>, &Figures) -> f64;

/// Metrics of the groups of a run, against the optimum of the first group on its even share of the link.
pub(super) const OF_GROUPS: &[(&str, UnitKind, Sense, GroupMetric)] = &[
    ("group_optimum_gain", UnitKind::Qoe, Sense::Higher, |mix, f| {
        mix.optimum - group(f, 1, worst_of)
    }),
    ("group_optimum_gain_at_least_7_65", ONE, Sense::Higher, |mix, f| {
        at_least_step(mix.optimum - group(f, 1, worst_of))
    }),
];

pub(super) type PairMetric = fn(&Figures, &Figures) -> f64;

/// Metrics of the viewer who was there first and of the one who joined.
pub(super) const OF_TWO: &[(&str, UnitKind, Sense, PairMetric)] = &[
    ("second_quality_gain", UnitKind::Qoe, Sense::Higher, |a, b| {
        change(a, b, 1, |v| v.quality_after_join)
    }),
    ("second_qoe_gain", UnitKind::Qoe, Sense::Higher, |a, b| change(a, b, 1, |v| v.qoe)),
    ("second_startup_change_s", S, Sense::Lower, |a, b| change(a, b, 1, |v| Some(v.wait_s))),
    ("second_stall_change_s", S, Sense::Lower, |a, b| {
        change(a, b, 1, |v| Some(v.stall_after_join_s))
    }),
    ("first_buffer_at_join_s", S, Sense::Neutral, |_, b| b.viewers[0].buffer_at_join_s),
    ("first_buffer_change_s", S, Sense::Neutral, |a, b| change(a, b, 0, |v| v.buffer_after_join_s)),
    ("first_quality_change", UnitKind::Qoe, Sense::Higher, |a, b| {
        change(a, b, 0, |v| v.quality_after_join)
    }),
    ("first_stall_change_s", S, Sense::Lower, |a, b| {
        change(a, b, 0, |v| Some(v.stall_after_join_s))
    }),
];

pub(super) fn worst(figures: &Figures) -> f64 {
    figures.min_qoe().unwrap_or(f64::NAN)
}

/// The sum over viewers of the logarithm of QoE; a QoE under one counts as one.
fn log_qoe(figures: &Figures) -> f64 {
    figures.viewers.iter().map(|v| v.qoe.unwrap_or(f64::NAN).max_or_nan(1.0).ln()).sum()
}

/// `f64::max` of NaN and a number is the number; this one stays NaN, as the figure is missing.
trait MaxOrNan {
    fn max_or_nan(self, least: f64) -> f64;
}

impl MaxOrNan for f64 {
    fn max_or_nan(self, least: f64) -> f64 {
        if self.is_nan() { self } else { self.max(least) }
    }
}

fn mean(figures: &Figures, of: impl Fn(&ViewerFigures) -> Option<f64>) -> f64 {
    let sum: f64 = figures.viewers.iter().map(|v| of(v).unwrap_or(f64::NAN)).sum();
    sum / figures.viewers.len() as f64
}

/// A figure of the viewers of the `i`-th group.
fn group(figures: &Figures, i: usize, of: impl Fn(&[&ViewerFigures]) -> f64) -> f64 {
    let Some(name) = figures.groups().get(i).copied() else { return f64::NAN };
    let members: Vec<&ViewerFigures> = figures.viewers.iter().filter(|v| v.group == name).collect();
    of(&members)
}

fn worst_of(viewers: &[&ViewerFigures]) -> f64 {
    lowest(viewers.iter().copied()).unwrap_or(f64::NAN)
}

fn range_of(viewers: &[&ViewerFigures]) -> f64 {
    let all: Option<Vec<f64>> = viewers.iter().map(|v| v.qoe).collect();
    let all = all.unwrap_or_default();
    let most = all.iter().copied().fold(f64::NAN, f64::max);
    most - all.into_iter().fold(f64::NAN, f64::min)
}

fn stall_of(viewers: &[&ViewerFigures]) -> f64 {
    viewers.iter().map(|v| v.stall_s).sum::<f64>() / viewers.len() as f64
}

fn range(figures: &Figures, of: impl Fn(&ViewerFigures) -> bool) -> f64 {
    range_of(&figures.viewers.iter().filter(|v| of(v)).collect::<Vec<_>>())
}

/// The mean rate of each viewer over that of the bulk flows; `None` if one has none.
fn rates(figures: &Figures) -> Option<Vec<f64>> {
    figures.viewers.iter().map(|v| stats::mean(&v.over_bulk)).collect()
}

/// The share of the bins of all `flows` whose rate is within the bounds with slack; NaN without
/// bounds, or if a flow has no bin.
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

/// 1 or 0; NaN stays NaN.
fn at_least_step(gain: f64) -> f64 {
    if gain.is_nan() { gain } else { f64::from(u8::from(gain >= STEP)) }
}

/// The value in a mix with a gap, 0 in others; NaN stays NaN.
pub(super) fn where_a_gap(gap: f64, value: f64) -> f64 {
    if gap < MIN_GAP { 0.0 } else { gap * 0.0 + value }
}

fn change(
    a: &Figures,
    b: &Figures,
    viewer: usize,
    of: impl Fn(&ViewerFigures) -> Option<f64>,
) -> f64 {
    let figure = |f: &Figures| of(&f.viewers[viewer]).unwrap_or(f64::NAN);
    figure(a) - figure(b)
}
