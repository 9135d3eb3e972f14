//! Metrics of claims about tunnels: of the first tunnel of a run, and Jain's index over all of them.

use std::time::Duration;

use airlane_base::Time;
use airlane_net::Direction;
use airlane_quality::stats;
use serde::{Deserialize, Serialize};

use super::{NAME, Output, SchemeOptions, TunnelOutput};
use airlane_sim::workload::{
    ByMetric, CachedMetrics, ClaimContext, ClaimRun, Metric, SceneRuns, Sense, Unit,
};
use airlane_sim::world::{DirectionOutput, LinkSampleRow};

/// The span of a window of the least share, and by how much windows are apart.
const WINDOW: Duration = Duration::from_secs(5);
const APART: Duration = Duration::from_secs(1);
/// After a path's capacity has halved, so long or three round trips do not count.
const GRACE: Duration = Duration::from_secs(1);
const GRACE_ROUND_TRIPS: u32 = 3;

/// Span over which goodput is taken for percentiles.
const SECOND: Duration = Duration::from_secs(1);
/// Percentiles of goodput over whole seconds that claims may use.
const PERCENTILES: [(&str, f64); 3] =
    [("second_p10_bps", 0.1), ("second_p50_bps", 0.5), ("second_p90_bps", 0.9)];

/// Figures of a run that claims need.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Figures {
    completion_s: Option<f64>,
    first_radio_share: Option<f64>,
    /// Bytes in order in each window, and whether it counts.
    windows: Vec<(u64, bool)>,
    /// Goodput of each whole second that counts, bits/s.
    second_bps: Vec<f64>,
    /// Jain's index of the goodput of all tunnels.
    jain: Option<f64>,
}

pub(super) fn run_metrics() -> Vec<Metric> {
    let percentiles = PERCENTILES.map(|(name, _)| name);
    let mut metrics = vec![
        Metric::of_run("completion_s", Unit::SECONDS, Sense::Lower),
        Metric::of_run("first_radio_share", Unit::ONE, Sense::Neutral),
        Metric::of_run("tunnels_jain", Unit::ONE, Sense::Higher),
    ];
    metrics
        .extend(percentiles.map(|name| Metric::of_run(name, Unit::BITS_PER_SECOND, Sense::Higher)));
    metrics
}

pub(super) fn figure(metric: &str, run: &ClaimRun) -> Option<f64> {
    let figures = run.kept.of::<Figures>()?;
    match metric {
        "completion_s" => figures.completion_s,
        "first_radio_share" => figures.first_radio_share,
        "tunnels_jain" => figures.jain,
        _ => {
            let (_, share) = PERCENTILES.iter().find(|(name, _)| *name == metric)?;
            stats::quantile(&figures.second_bps, *share)
        }
    }
}

/// Metrics of a draw: the judged scheme beside those that use one radio alone.
pub(super) fn metrics() -> Vec<Metric> {
    vec![
        Metric::of_run("share_of_sum", Unit::ONE, Sense::Higher),
        Metric::of_run("share_of_best_radio", Unit::ONE, Sense::Higher),
        Metric::of_run("worst_window_share", Unit::ONE, Sense::Higher),
    ]
}

pub(super) fn keep(output: &Output, run: &ClaimContext<'_>) -> Option<CachedMetrics> {
    let tunnel = output.0.first()?;
    let all: u64 = tunnel.radios.iter().map(|radio| radio.first_bytes).sum();
    let first = tunnel.radios.first().filter(|_| all > 0);
    let has_ended = tunnel.failure.is_none() && tunnel.end < run.at;
    let begun = tunnel.written.first().map(|(_, at)| *at);
    let figures = Figures {
        completion_s: begun.filter(|_| has_ended).map(|at| (tunnel.end - at).as_secs_f64()),
        first_radio_share: first.map(|radio| radio.first_bytes as f64 / all as f64),
        windows: windows(
            (tunnel.counted_from, tunnel.end),
            |from, to| tunnel.read_by(to) - tunnel.read_by(from),
            &halvings(run.ways),
            GRACE.max(GRACE_ROUND_TRIPS * run.plan.scenario.network.rtt),
        ),
        second_bps: seconds((tunnel.counted_from, tunnel.end), |at| tunnel.read_by(at)),
        jain: output
            .0
            .iter()
            .map(TunnelOutput::goodput_bps)
            .collect::<Option<Vec<f64>>>()
            .and_then(|all| stats::jain(&all)),
    };
    Some(CachedMetrics::new(NAME, figures))
}

/// Times at which the capacity of a way down fell to half of what it had been, from one sample to
/// the next.
fn halvings(ways: &[DirectionOutput]) -> Vec<Time> {
    let down = ways.iter().filter(|way| way.direction == Direction::Down);
    down.flat_map(|way| halvings_of(&way.rows)).collect()
}

fn halvings_of(rows: &[LinkSampleRow]) -> Vec<Time> {
    let mut halvings = Vec::new();
    for rows in rows.windows(3) {
        let [before, between, after] = rows else { continue };
        let was = between.capacity_bytes - before.capacity_bytes;
        let is = after.capacity_bytes - between.capacity_bytes;
        // A link that is dark already does not halve again.
        if was > 0.0 && is <= was / 2.0 {
            halvings.push(between.at);
        }
    }
    halvings
}

/// Goodput of each whole second, bits/s.
fn seconds((from, to): (Time, Time), read_by: impl Fn(Time) -> u64) -> Vec<f64> {
    let mut seconds = Vec::new();
    let mut begin = from;
    while begin + SECOND <= to {
        let bytes = read_by(begin + SECOND) - read_by(begin);
        seconds.push(bytes as f64 * 8.0 / SECOND.as_secs_f64());
        begin += SECOND;
    }
    seconds
}

/// Bytes that arrived in each window, and a flag that is true if the window counts: not if it
/// begins soon after a halving.
fn windows(
    (from, to): (Time, Time),
    between: impl Fn(Time, Time) -> u64,
    halvings: &[Time],
    grace: Duration,
) -> Vec<(u64, bool)> {
    let mut windows = Vec::new();
    let mut begin = from;
    while begin + WINDOW <= to {
        let counts = !halvings.iter().any(|at| (*at..*at + grace).contains(&begin));
        windows.push((between(begin, begin + WINDOW), counts));
        begin += APART;
    }
    windows
}

/// The figures of draws, of a claim that compares with schemes that use one radio alone.
pub(super) fn of_draws(compared: &SceneRuns<'_>) -> ByMetric {
    let schemes = &compared.plan.scenario.schemes;
    let is_alone = |name: &String| {
        let scheme = schemes.iter().find(|scheme| scheme.name == *name);
        let of = scheme.and_then(|scheme| scheme.parts.of::<SchemeOptions>());
        of.is_some_and(|of| of.only.is_some())
    };
    let alone: Vec<usize> =
        (0..compared.names.len()).filter(|i| is_alone(&compared.names[*i])).collect();
    if alone.is_empty() {
        return ByMetric::new();
    }
    let goodput = |run: &ClaimRun| {
        let whole = run.result.of(NAME).find(|actor| !actor.part);
        whole.and_then(|tunnel| tunnel.value("goodput_bps")).unwrap_or(f64::NAN)
    };
    let share = |of: &dyn Fn(&[f64]) -> f64| {
        compared.each(|runs| {
            let radios: Vec<f64> = alone.iter().map(|i| goodput(runs[*i])).collect();
            goodput(runs[0]) / of(&radios)
        })
    };
    // NaN is the greatest of all: what was not measured is not left out.
    let best = |radios: &[f64]| radios.iter().copied().max_by(f64::total_cmp).unwrap_or(f64::NAN);
    let worst = compared.each(|runs| {
        let radios: Vec<&ClaimRun> = alone.iter().map(|i| runs[*i]).collect();
        worst_window(runs[0], &radios).unwrap_or(f64::NAN)
    });
    ByMetric::from([
        ("share_of_sum".to_owned(), share(&|radios| radios.iter().sum())),
        ("share_of_best_radio".to_owned(), share(&best)),
        ("worst_window_share".to_owned(), worst),
    ])
}

/// The least share of what the better radio had alone, over the windows that count and in which one
/// had anything.
fn worst_window(run: &ClaimRun, radios: &[&ClaimRun]) -> Option<f64> {
    let windows = |run: &ClaimRun| run.kept.of::<Figures>().map(|figures| figures.windows.clone());
    let own = windows(run)?;
    let alone: Vec<_> = radios.iter().map(|radio| windows(radio)).collect::<Option<_>>()?;
    let share = |i: usize| {
        let (bytes, counts) = own[i];
        let best = alone.iter().map(|radio| radio.get(i).map_or(0, |(bytes, _)| *bytes)).max()?;
        (counts && best > 0).then(|| bytes as f64 / best as f64)
    };
    (0..own.len()).filter_map(share).min_by(f64::total_cmp)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_halves_when_it_goes_dark_and_not_while_it_is() {
        let mut capacity_bytes = 0.0;
        let row = |(i, bytes): (u64, &f64)| {
            capacity_bytes += bytes;
            LinkSampleRow {
                at: Time::from_millis(500 * i),
                queue_packets: 0,
                queue_bytes: 0,
                carried_bytes: 0,
                capacity_bytes,
                dropped_packets: 0,
            }
        };
        let rows: Vec<_> =
            (0..).zip(&[0.0, 8.0, 8.0, 5.0, 2.5, 0.0, 0.0, 0.0, 8.0]).map(row).collect();
        let at: Vec<Time> = [1500, 2000].map(Time::from_millis).to_vec();
        assert_eq!(halvings_of(&rows), at);
    }

    #[test]
    fn seconds_are_whole() {
        let at = |ms: u64| Time::from_millis(ms);
        // A megabyte in the first second, two in the next, and half a second that is left out.
        let read_by = |to: Time| if to <= at(2000) { 1_000_000 } else { 3_000_000 };
        let rates =
            seconds((at(1000), at(3500)), |to| if to <= at(1000) { 0 } else { read_by(to) });
        assert_eq!(rates, [8e6, 16e6]);
    }

    #[test]
    fn windows_that_begin_soon_after_a_halving_do_not_count() {
        let second = |s: u64| Time::from_millis(1000 * s);
        let bytes = |from: Time, to: Time| (to - from).as_millis() as u64;
        let all = windows((second(5), second(13)), bytes, &[second(7)], Duration::from_secs(1));
        let counted: Vec<bool> = all.iter().map(|(_, counts)| *counts).collect();
        assert_eq!(counted, [true, true, false, true]);
        assert!(all.iter().all(|(bytes, _)| *bytes == 5000));
    }
}
