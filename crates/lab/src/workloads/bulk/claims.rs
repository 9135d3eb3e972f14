//! What claims about transfers are measured by: groups of transfers of one name, and all together.

use airlane_net::Direction;
use airlane_quality::stats;
use serde::{Deserialize, Serialize};

use super::roles::{DOWN, UP};
use super::{NAME, Output, Transfer, TransferEnd, TransferOutput, Transfers};
use airlane_sim::workload::{CachedMetrics, ClaimContext, ClaimRun, Metric, Sense, Unit};
use airlane_sim::world::{AirStep, FlowSample};

/// From so long after a start on all shall be equal.
const SETTLES_S: f64 = 1.0;
/// Rates are means over so long.
const WINDOW_S: f64 = 1.0;

/// Air is idle if less than this is used: eta, 0.8, less 5 %.
const USED: f64 = 0.75;
/// Part of the later rate: while less arrives, the transfers that stay have not come to more yet.
const OF_LATER: f64 = 0.95;
/// Time from the change to the beginning of what counts as later.
const LATER_S: f64 = 1.0;
/// The use of the air is counted over so many steps at once: 80 ms.
const STEPS: usize = 4;

/// Values of a run that claims need, by metric.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct RunMetrics(Vec<(String, Option<f64>)>);

/// The metrics of a group of transfers: its name in front.
const OF_GROUP: [(&str, Unit, Sense); 5] = [
    ("goodput_bps", Unit::BITS_PER_SECOND, Sense::Higher),
    ("rtt_p95_s", Unit::SECONDS, Sense::Lower),
    ("queue_p99_s", Unit::SECONDS, Sense::Lower),
    ("air_share", Unit::ONE, Sense::Neutral),
    ("least_air_share", Unit::ONE, Sense::Higher),
];

/// The metrics of all transfers together.
const OF_ALL: [(&str, Unit, Sense); 7] = [
    ("least_goodput_bps", Unit::BITS_PER_SECOND, Sense::Higher),
    ("air_most_over_least", Unit::ONE, Sense::Lower),
    ("air_used_share", Unit::ONE, Sense::Neutral),
    ("least_jain", Unit::ONE, Sense::Higher),
    ("last_share", Unit::ONE, Sense::Neutral),
    ("idle_longest_s", Unit::SECONDS, Sense::Lower),
    ("short_longest_s", Unit::SECONDS, Sense::Lower),
];

/// A name as part of a metric.
fn word(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

pub(super) fn run_metrics(traffic: &Transfers) -> Vec<Metric> {
    if traffic.0.is_empty() {
        return Vec::new();
    }
    let of_groups = traffic.0.iter().flat_map(|transfer| {
        let group = word(&transfer.name);
        OF_GROUP
            .map(|(metric, unit, sense)| Metric::of_run(format!("{group}_{metric}"), unit, sense))
    });
    let both_ways = traffic.0.iter().filter(|transfer| transfer.other_way.is_some());
    let of_ways = both_ways.flat_map(|transfer| {
        [DOWN, UP].map(|way| {
            let name = way_metric(transfer, way);
            Metric::of_run(name, Unit::BITS_PER_SECOND, Sense::Higher)
        })
    });
    let of_all = OF_ALL.map(|(metric, unit, sense)| Metric::of_run(metric, unit, sense));
    of_groups.chain(of_ways).chain(of_all).collect()
}

/// The name of the goodput of one way of a transfer that goes both ways.
fn way_metric(transfer: &Transfer, way: &str) -> String {
    format!("{}_{way}_goodput_bps", word(&transfer.name))
}

pub(super) fn figure(metric: &str, run: &ClaimRun) -> Option<f64> {
    let of = run.kept.of::<RunMetrics>()?;
    of.0.iter().find(|(name, _)| name == metric)?.1
}

pub(super) fn keep(
    groups: &[Transfer],
    output: &Output,
    run: &ClaimContext<'_>,
) -> Option<CachedMetrics> {
    let mut figures = Vec::new();
    for transfer in groups {
        let group = word(&transfer.name);
        let is_of = |t: &&TransferOutput| {
            t.name == transfer.name || t.name.strip_prefix(&transfer.name).is_some_and(is_number)
        };
        let members: Vec<&TransferOutput> = output.0.iter().filter(is_of).collect();
        for (metric, _, _) in OF_GROUP {
            if metric == "queue_p99_s" {
                figures.push((format!("{group}_{metric}"), queue_p99_s(transfer, run)));
                continue;
            }
            let of = |t: &&TransferOutput| match metric {
                "goodput_bps" => t.goodput_bps(),
                "rtt_p95_s" => t.rtt_p95_s(),
                _ => t.air_share(),
            };
            let all: Option<Vec<f64>> = members.iter().map(of).collect();
            let of_all = |all: Vec<f64>| match metric {
                "least_air_share" => all.into_iter().reduce(f64::min),
                _ => stats::mean(&all),
            };
            figures.push((format!("{group}_{metric}"), all.and_then(of_all)));
        }
        for way in [DOWN, UP].into_iter().filter(|_| transfer.other_way.is_some()) {
            let of = |t: &&TransferOutput| {
                let name = format!("{}.{way}", t.name);
                t.parts.iter().find(|part| part.name == name)?.goodput_bps()
            };
            let all: Option<Vec<f64>> = members.iter().map(of).collect();
            figures.push((way_metric(transfer, way), all.and_then(|all| stats::mean(&all))));
        }
    }
    let (idle, short) = idle(groups, run).unzip();
    for (metric, _, _) in OF_ALL {
        let figure = match metric {
            "idle_longest_s" => idle,
            "short_longest_s" => short,
            _ => of_all(metric, &output.0),
        };
        figures.push((metric.to_owned(), figure));
    }
    Some(CachedMetrics::new(NAME, RunMetrics(figures)))
}

/// 99th percentile of the time that packets wait on the access of a transfer, in the direction that it goes;
/// of several accesses the longest.
fn queue_p99_s(transfer: &Transfer, run: &ClaimContext<'_>) -> Option<f64> {
    let direction = if transfer.is_upload { Direction::Up } else { Direction::Down };
    let accesses = &run.plan.scenario.network.accesses;
    let names: Vec<&str> =
        transfer.at.iter().filter_map(|at| Some(accesses.get(*at)?.name.as_str())).collect();
    let of_transfer = run
        .ways
        .iter()
        .filter(|way| way.direction == direction && names.contains(&way.access.as_str()));
    of_transfer.map(|way| way.report.sojourn_quantile(0.99).as_secs_f64()).reduce(f64::max)
}

/// True for the suffix that one of several transfers has behind their name: `.2`.
fn is_number(rest: &str) -> bool {
    rest.strip_prefix('.').is_some_and(|n| n.parse::<u32>().is_ok())
}

fn of_all(metric: &str, transfers: &[TransferOutput]) -> Option<f64> {
    let goodputs = || transfers.iter().map(TransferOutput::goodput_bps).collect::<Option<Vec<_>>>();
    let air = || transfers.iter().map(TransferOutput::air_share).collect::<Option<Vec<_>>>();
    let least = |xs: &[f64]| xs.iter().copied().reduce(f64::min);
    match metric {
        "least_goodput_bps" => least(&goodputs()?),
        "air_most_over_least" => {
            let air = air()?;
            let most = air.iter().copied().reduce(f64::max)?;
            Some(most / least(&air)?)
        }
        "air_used_share" => Some(air()?.iter().sum()),
        "least_jain" => min_jain(transfers),
        _ => last_share(transfers),
    }
}

/// Bytes acknowledged until a time.
fn acked(samples: &[FlowSample], at: f64) -> u64 {
    let known = samples.partition_point(|s| s.at.as_secs_f64() <= at + 1e-9);
    known.checked_sub(1).map_or(0, |last| samples[last].acked_bytes)
}

/// The rates of transfers between two times, bits/s.
fn rates(transfers: &[&TransferOutput], from: f64, until: f64) -> Vec<f64> {
    let bytes = |t: &TransferOutput| acked(&t.samples, until) - acked(&t.samples, from);
    transfers.iter().map(|t| 8.0 * bytes(t) as f64 / (until - from)).collect()
}

/// Times at which transfers start or end, in order, each once; seconds.
fn changes(transfers: &[TransferOutput]) -> Vec<f64> {
    let both = |t: &TransferOutput| [t.start.as_secs_f64(), t.end.as_secs_f64()];
    let mut times: Vec<f64> = transfers.iter().flat_map(both).collect();
    times.sort_by(f64::total_cmp);
    times.dedup();
    times
}

/// The least of Jain's index over windows in which several transfers run, all of them for long enough.
fn min_jain(transfers: &[TransferOutput]) -> Option<f64> {
    let changes = changes(transfers);
    let mut least: Option<f64> = None;
    for stretch in changes.windows(2) {
        let (begin, end) = (stretch[0], stretch[1]);
        let runs =
            |t: &&TransferOutput| t.start.as_secs_f64() <= begin && t.end.as_secs_f64() >= end;
        let running: Vec<&TransferOutput> = transfers.iter().filter(runs).collect();
        let mut from = begin + SETTLES_S;
        while running.len() > 1 && from + WINDOW_S <= end {
            let index = stats::jain(&rates(&running, from, from + WINDOW_S));
            least = [least, index].into_iter().flatten().reduce(f64::min);
            from += WINDOW_S;
        }
    }
    least
}

/// The share of the transfer that started last in what all brought from then on.
fn last_share(transfers: &[TransferOutput]) -> Option<f64> {
    let last = transfers.iter().max_by_key(|t| t.start)?;
    let (from, until) = (last.start.as_secs_f64(), last.end.as_secs_f64());
    if until <= from {
        return None;
    }
    let all: Vec<&TransferOutput> = transfers.iter().collect();
    let total: f64 = rates(&all, from, until).iter().sum();
    Some(rates(&[last], from, until)[0] / total)
}

/// After the only transfer that ends or becomes limited before the run's end has: for how long at most
/// the air was idle, and for how long at most less came than comes later; seconds. `None` where that is
/// not what happens, or the run has not one air.
fn idle(groups: &[Transfer], run: &ClaimContext<'_>) -> Option<(f64, f64)> {
    let [air] = run.airs else { return None };
    let ends = groups.iter().filter_map(|transfer| match transfer.until {
        TransferEnd::At(at) => Some(at),
        TransferEnd::Run | TransferEnd::Bytes(_) => None,
    });
    let limits = groups.iter().filter_map(|transfer| transfer.limit.map(|(from, _)| from));
    let changes: Vec<f64> = ends.chain(limits).map(|at| at.as_secs_f64()).collect();
    let [change] = changes[..] else { return None };
    let step_s = AirStep::LENGTH.as_secs_f64();
    let after = air.steps.get((change / step_s) as usize..)?;
    let later = after.get((LATER_S / step_s) as usize..)?;
    let mean = |steps: &[AirStep], of: fn(&AirStep) -> f32| {
        steps.iter().map(|step| f64::from(of(step))).sum::<f64>() / steps.len() as f64
    };
    let first = &after[..after.len().min((LATER_S / step_s) as usize)];
    let longest = |of: fn(&AirStep) -> f32, least: f64| {
        let below: Vec<bool> = first.windows(STEPS).map(|steps| mean(steps, of) < least).collect();
        let runs = below.split(|is_below| !is_below).map(<[bool]>::len);
        runs.max().unwrap_or(0) as f64 * step_s
    };
    let enough = OF_LATER * mean(later, |step| step.came);
    Some((longest(|step| step.charged, USED), longest(|step| step.came, enough)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_groups_are_words() {
        assert_eq!(word("far-1 b"), "far_1_b");
        assert!(is_number(".12") && !is_number("2") && !is_number(".x"));
    }
}
