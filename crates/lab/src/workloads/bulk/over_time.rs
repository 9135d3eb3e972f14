//! A transfer that has the network for itself, over time under every scheme: what came of what the link
//! could carry, and how long its packets waited.

use std::time::Duration;

use airlane_base::Time;
use airlane_report::model::{Axis, XyChart, XyGroup, XyLine};

use super::{NAME, Transfers};
use airlane_sim::Results;
use airlane_sim::workload::ActorResult;
use airlane_sim::world::{FlowSample, OracleLink};

/// Names of the samples that charts take from a transfer.
const AT: &str = "at_s";
const ACKED: &str = "acked_bytes";
const RTT: &str = "rtt_s";

/// The samples of a transfer by metric.
pub(super) fn samples(of: &[FlowSample]) -> Vec<(&'static str, Vec<f64>)> {
    let column = |value: &dyn Fn(&FlowSample) -> f64| of.iter().map(value).collect();
    vec![
        (AT, column(&|s| s.at.as_secs_f64())),
        (ACKED, column(&|s| s.acked_bytes as f64)),
        (RTT, column(&|s| s.rtt_s.unwrap_or(f64::NAN))),
    ]
}

/// The charts: of the first run under each scheme, if one transfer alone uses one access.
pub(super) fn curves(traffic: &Transfers, results: &Results<'_>) -> Vec<XyGroup> {
    let scenario = &results.plan.scenario;
    let users: usize = scenario.participants.iter().map(|traffic| traffic.places().len()).sum();
    let [transfer] = traffic.0.as_slice() else { return Vec::new() };
    let [access] = transfer.at.as_slice() else { return Vec::new() };
    if users != 1 || scenario.network.accesses[*access].behind.is_some() {
        return Vec::new();
    }
    let name = match scenario.network.accesses[*access].is_half_duplex() {
        true => "link, both directions",
        false => "link",
    };
    let core = transfer.rtt.unwrap_or(scenario.network.rtt);
    let rtt = scenario.network.rtt_at(*access) - scenario.network.rtt + core;
    let mut throughput = group(
        "What came of what the link could carry",
        "In each half second, the first run under each scheme.",
        "rate",
        "Mbit/s",
    );
    let mut waits = group(
        "Queueing over time",
        "The round trip that the sender sees less that of propagation, the first run under each scheme.",
        "queueing delay",
        "ms",
    );
    for (number, scheme) in scenario.schemes.iter().enumerate() {
        let Some((key, run)) = results.of_scheme(number).next() else { continue };
        let Some(actor) = run.of(NAME).next() else { continue };
        let Ok(link) = OracleLink::of(results.plan, key, *access, core) else { continue };
        let chart = |lines| XyChart { title: scheme.title.clone(), lines, ..XyChart::default() };
        throughput.charts.push(chart(vec![capacity(name, actor, &link), rate(actor)]));
        waits.charts.push(chart(vec![wait(actor, rtt)]));
    }
    let groups = [throughput, waits].into_iter();
    groups
        .filter(|group| group.charts.iter().any(|c| c.lines.iter().any(|l| !l.x.is_empty())))
        .collect()
}

fn group(title: &str, note: &str, axis: &str, unit: &str) -> XyGroup {
    XyGroup {
        title: title.to_owned(),
        note: note.to_owned(),
        x: Axis::new("time", "s"),
        y: Axis::new(axis, unit),
        charts: Vec::new(),
    }
}

/// A line of one point for each sample but the first, from the one before it and itself.
fn line(name: &str, actor: &ActorResult, of: impl Fn(usize, f64, f64) -> f64) -> XyLine {
    let at = actor.samples_of(AT);
    let points = (1..at.len()).map(|i| (at[i], of(i, at[i - 1], at[i])));
    let (x, y) = points.filter(|(_, y)| y.is_finite()).unzip();
    XyLine { name: name.to_owned(), x, y }
}

fn capacity(name: &str, actor: &ActorResult, link: &OracleLink) -> XyLine {
    let bytes = |s: f64| link.bytes_until(Time::ZERO + Duration::from_secs_f64(s));
    line(name, actor, |_, from, to| (bytes(to) - bytes(from)) * 8e-6 / (to - from))
}

fn rate(actor: &ActorResult) -> XyLine {
    let acked = actor.samples_of(ACKED);
    line("came", actor, |i, from, to| (acked[i] - acked[i - 1]) * 8e-6 / (to - from))
}

fn wait(actor: &ActorResult, rtt: Duration) -> XyLine {
    let rtts = actor.samples_of(RTT);
    line("wait", actor, |i, _, _| 1e3 * (rtts[i] - rtt.as_secs_f64()).max(0.0))
}
