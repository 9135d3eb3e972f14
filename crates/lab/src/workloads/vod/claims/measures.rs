//! Measures of a run that take more than a sum: how soon weights settle, and how a viewer's rate
//! stands to that of bulk flows.

use std::time::Duration;

use airlane_base::Time;

use super::super::ViewerOutput;
use airlane_sim::workload::Flow;
use airlane_sim::world::FlowSample;

/// Weights are settled if they stay near their mean for so long.
const SETTLED_FOR: Duration = Duration::from_secs(20);
/// Maximum distance of settled weights from their mean, as a share of it.
const NEAR: f64 = 0.1;

/// Rates are compared in bins of this length,
const BIN: Duration = Duration::from_secs(5);
/// from here on.
const SETTLE: Duration = Duration::from_secs(20);
/// A bin counts if the viewer had data to send for so much of it.
const MIN_BUSY: f64 = 0.25;

/// Seconds from `join` until, for 20 s, every viewer's weight is updated and stays within 10 % of
/// its mean over these 20 s; to 20 s before `end` if that never happens. `None` without viewers
/// that have weights. A viewer whose weight is never updated has not settled.
pub(super) fn settling(viewers: &[&ViewerOutput], join: Time, end: Time) -> Option<f64> {
    let weights = |v: &&ViewerOutput| v.updates.iter().map(|u| (u.at, u.weight)).collect();
    let weights: Vec<Vec<(Time, f64)>> = viewers.iter().map(weights).collect();
    if weights.is_empty() {
        return None;
    }
    let latest = end - SETTLED_FOR;
    let moments = weights.iter().flatten().map(|(at, _)| *at);
    let mut moments: Vec<Time> = moments.filter(|at| (join..latest).contains(at)).collect();
    moments.push(latest);
    moments.sort_unstable();
    let near = |from: Time| {
        weights.iter().all(|updates| {
            let within = updates.iter().filter(|(at, _)| (from..from + SETTLED_FOR).contains(at));
            let within: Vec<f64> = within.map(|(_, w)| *w).collect();
            let mean = within.iter().sum::<f64>() / within.len().max(1) as f64;
            !within.is_empty() && within.iter().all(|w| (w - mean).abs() <= NEAR * mean)
        })
    };
    let settled = moments.into_iter().find(|at| near(*at)).unwrap_or(latest);
    Some((settled - join).as_secs_f64())
}

/// The rate of the first greedy flow over the mean rate of the other greedy ones, as
/// [`rates_over_greedy`]; empty below two of them.
pub(super) fn greedy_over_greedy(flows: &[Flow<'_>]) -> Vec<f64> {
    let greedy: Vec<&Flow<'_>> = flows.iter().filter(|flow| flow.greedy).collect();
    match greedy.as_slice() {
        [first, others @ ..] if !others.is_empty() => rates_over(first.samples, others),
        _ => Vec::new(),
    }
}

/// A flow's rate while it had data to send over the mean rate of the flows that always have, in
/// bins of 5 s from 20 s on; bins in which it was mostly idle are left out.
pub(super) fn rates_over_greedy(flow: &[FlowSample], flows: &[Flow<'_>]) -> Vec<f64> {
    rates_over(flow, &flows.iter().filter(|flow| flow.greedy).collect::<Vec<_>>())
}

fn rates_over(flow: &[FlowSample], greedy: &[&Flow<'_>]) -> Vec<f64> {
    let last = flow.last().map_or(Time::ZERO, |s| s.at);
    let bins = (last - Time::ZERO).as_nanos() / BIN.as_nanos();
    let ratio = |bin: u32| {
        let (from, to) = (Time::ZERO + BIN * bin, Time::ZERO + BIN * (bin + 1));
        let (bytes, busy) = within(flow, from, to)?;
        let others: Vec<u64> =
            greedy.iter().filter_map(|b| Some(within(b.samples, from, to)?.0)).collect();
        let other = others.iter().sum::<u64>() as f64 / others.len() as f64 / BIN.as_secs_f64();
        let busy_s = busy.as_secs_f64();
        (busy_s >= MIN_BUSY * BIN.as_secs_f64() && other > 0.0)
            .then(|| bytes as f64 / busy_s / other)
    };
    let first = (SETTLE.as_nanos() / BIN.as_nanos()) as u32;
    (first..u32::try_from(bins).unwrap_or(u32::MAX)).filter_map(ratio).collect()
}

/// Bytes acknowledged and time with data to send between two moments that samples were taken at.
fn within(samples: &[FlowSample], from: Time, to: Time) -> Option<(u64, Duration)> {
    let at = |t: Time| samples.iter().find(|s| s.at >= t);
    let (a, b) = (at(from)?, at(to)?);
    Some((b.acked_bytes - a.acked_bytes, b.busy.saturating_sub(a.busy)))
}
