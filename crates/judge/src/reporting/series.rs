//! A run over time, as the report draws it.

use std::borrow::Cow;

use airlane_base::Time;
use airlane_net::Direction;
use airlane_report::model::{Actor, Draw, Panel, Run, Series};

use super::air;
use airlane_scenario::Capacity;
use airlane_sim::plan::Plan;
use airlane_sim::workload::{EndedRun, Flow, OverTime};
use airlane_sim::world::{DirectionOutput, FlowSample, LinkSampleRow, RunOutput};

/// Window over which the charts of links show means, seconds: short enough to show how queues
/// swing.
const LINK_WINDOW_S: f64 = 2.0;

/// Rates of connections are means over so many seconds, about as long as a chunk: over less, the
/// pauses between chunks hide who gets how much.
const RATE_WINDOW_S: f64 = 4.0;

/// The run over time: the rates of all actors, and the panels of their workloads.
pub fn run(plan: &Plan, output: &RunOutput) -> Run {
    let scenario = &plan.scenario;
    let case = &plan.cases[output.key.case];
    let scheme = &scenario.schemes[output.key.scheme];
    let flows = output.flows();
    let ended = EndedRun { plan, at: output.ended };
    let mut of_workloads: Vec<OverTime> =
        output.parts.iter().map(|p| p.over_time(&ended)).collect();
    let grids = of_workloads.iter_mut().flat_map(|of| std::mem::take(&mut of.grids)).collect();
    let (panels, spans): (Vec<_>, Vec<_>) =
        of_workloads.into_iter().map(|over_time| (over_time.panels, over_time.spans)).unzip();
    let mut panels: Vec<Panel> =
        std::iter::once(rates(&flows)).chain(panels.into_iter().flatten()).collect();
    // Weights are shown if some scheme sets weights and this one's controller has them.
    let weighted = scenario.schemes.iter().flat_map(|s| s.parts.iter()).any(|p| p.sets_weights());
    if weighted && scheme.control.has_weight() {
        panels.push(weights(&flows));
    }
    let stations = air::stations(plan, output);
    panels.extend(links(plan, output, &stations));
    let of_flows = flows.iter().map(|f| Actor::new(f.title.clone(), f.note.clone()));
    // The only link is drawn in a neutral colour.
    let ways = if output.bottleneck().is_some() { &[] } else { output.ways.as_slice() };
    let of_links = ways.iter().filter(|way| way.air.is_none());
    let of_ways = of_links.map(|way| Actor::new(way_name(way), "access"));
    let mut actors: Vec<Actor> = of_flows.chain(of_ways).collect();
    for name in stations.iter().flatten() {
        if !actors.iter().any(|actor| actor.name == *name) {
            actors.push(Actor::new(name.clone(), "station"));
        }
    }
    Run {
        case: if plan.cases.len() > 1 { format!("case {}", case.name) } else { String::new() },
        scheme: scheme.name.clone(),
        seed: output.key.seed,
        label: String::new(),
        actors,
        panels,
        spans: spans.into_iter().flatten().collect(),
        grids,
        occupancies: air::occupancies(output, &stations),
    }
}

fn rates(flows: &[Flow<'_>]) -> Panel {
    let mut panel = Panel::new("rate", "Delivery rate", "Mbit/s", Draw::Line, 2).help(
        "What each connection got from the link, over the last four seconds. One whose \
         application waits between requests falls meanwhile.",
    );
    for Flow { title, samples, .. } in flows {
        let bits = |s: &FlowSample| s.acked_bytes as f64 * 8.0;
        let points = over_window(
            RATE_WINDOW_S,
            samples,
            |s| s.at,
            |then, now, s| (bits(now) - bits(then)) / s,
        );
        panel.series.push(series(title, points.map(|(t, bps)| (t, bps / 1e6))));
    }
    panel
}

fn weights(flows: &[Flow<'_>]) -> Panel {
    let mut panel = Panel::new("weight", "Weight", "connections", Draw::Step, 2).help(
        "How many ordinary connections each one counts for when they compete: twice the weight, \
         twice the rate.",
    );
    for Flow { title, samples, .. } in flows {
        let points = samples.iter().map(|s| (s.at.as_secs_f64(), s.weight));
        panel.series.push(series(title, points));
    }
    panel
}

/// Panels of the links: of the only access's way down, or of every way that was used if there are
/// several. Of air, which has no capacity that is known beforehand, the share of it; `stations`
/// names who is on air.
fn links(plan: &Plan, output: &RunOutput, stations: &[Option<String>]) -> Vec<Panel> {
    let ways: Vec<(String, &DirectionOutput)> = match output.bottleneck() {
        Some(only) => vec![("Link".to_owned(), only)],
        None => output.ways.iter().map(|way| (way_name(way), way)).collect(),
    };
    if ways.iter().all(|(_, way)| way.rows.len() < 2) {
        return Vec::new();
    }
    let has_air = !output.airs.is_empty();
    let ways: Vec<_> = ways.into_iter().filter(|(_, way)| way.air.is_none()).collect();
    let capacity =
        |then: &LinkSampleRow, now: &LinkSampleRow| now.capacity_bytes - then.capacity_bytes;
    let carried = |then: &LinkSampleRow, now: &LinkSampleRow| {
        now.carried_bytes.saturating_sub(then.carried_bytes) as f64
    };
    let mut varying = Panel::new("capacity", "Link capacity", "Mbit/s", Draw::Line, 2)
        .help("What the link could carry, over the last two seconds.");
    let mut used = Panel::new("link", "Link use", "%", Draw::Line, 1)
        .range(0.0, 100.0)
        .help("What the link carried of what it could carry, over the last two seconds.");
    let mut waits = Panel::new("queue", "Queueing delay", "ms", Draw::Line, 1).help(
        "How long what waits at the link takes to leave: every packet behind it comes so \
               much later.",
    );
    if ways.iter().any(|(_, way)| way.is_half_duplex) {
        used.help.push_str(
            " The directions of a half-duplex link share what it can carry: their use adds up.",
        );
    }
    for (name, way) in ways {
        let over = |rows, value: &dyn Fn(&LinkSampleRow, &LinkSampleRow, f64) -> f64| {
            series(name.clone(), over_window(LINK_WINDOW_S, rows, |r: &LinkSampleRow| r.at, value))
        };
        // What both directions share is drawn once.
        let is_shared = way.is_half_duplex && way.direction == Direction::Up;
        if varies(plan, way) && !is_shared {
            let both = over(&way.rows, &|then, now, s| capacity(then, now) * 8e-6 / s);
            let name = format!("{}, both directions", way.access);
            varying.series.push(if way.is_half_duplex { Series { name, ..both } } else { both });
        }
        used.series.push(over(&way.rows, &|then, now, _| {
            100.0 * carried(then, now) / capacity(then, now)
        }));
        // What waits now, at the rate of the last two seconds.
        waits.series.push(over(&left_by_other(way, output), &|then, now, s| {
            1e3 * now.queue_bytes as f64 * s / capacity(then, now)
        }));
    }
    let mut panels = vec![varying, used];
    if has_air {
        panels.push(air::shares_over_time(output, stations));
        waits.series.extend(air::waits(output, stations, LINK_WINDOW_S));
    }
    panels.push(waits);
    if has_air {
        panels.push(air::round_trips(output));
    }
    panels.retain(|panel| !panel.series.is_empty());
    panels
}

/// The samples of a way; of a half-duplex link with what the other direction left of the capacity, no
/// less than half of it.
fn left_by_other<'a>(way: &'a DirectionOutput, output: &RunOutput) -> Cow<'a, [LinkSampleRow]> {
    let is_other = |of: &&DirectionOutput| of.access == way.access && of.direction != way.direction;
    let Some(other) = output.ways.iter().find(is_other).filter(|_| way.is_half_duplex) else {
        return Cow::Borrowed(&way.rows);
    };
    let mut rows = way.rows.clone();
    let mut left = 0.0;
    for (i, row) in rows.iter_mut().enumerate().skip(1) {
        let more = way.rows[i].capacity_bytes - way.rows[i - 1].capacity_bytes;
        let taken = match (other.rows.get(i - 1), other.rows.get(i)) {
            (Some(then), Some(now)) => (now.carried_bytes - then.carried_bytes) as f64,
            _ => 0.0,
        };
        left += (more - taken).max(more / 2.0);
        row.capacity_bytes = left;
    }
    Cow::Owned(rows)
}

/// The name of a way, for people.
fn way_name(way: &DirectionOutput) -> String {
    format!("{}, {}", way.access, way.direction.name())
}

/// True if the capacity of a way is not constant.
fn varies(plan: &Plan, way: &DirectionOutput) -> bool {
    let constant = plan.scenario.network.ways().any(|(_, access, direction, of)| {
        access.name == way.access
            && direction == way.direction
            && matches!(of.capacity, Capacity::Constant(_))
    });
    !constant
}

/// A line through points of time and value.
pub fn series(name: impl Into<String>, points: impl Iterator<Item = (f64, f64)>) -> Series {
    let mut series = Series::new(name);
    for (t, value) in points {
        series.push(t, value);
    }
    series
}

/// For every sample but the first: its time in seconds, and `value` of the latest sample at least
/// `window_s` before (else the first), of itself and of the seconds between them. What is no
/// number becomes a gap.
pub(super) fn over_window<'a, S>(
    window_s: f64,
    samples: &'a [S],
    at: impl Fn(&S) -> Time + 'a,
    value: impl Fn(&S, &S, f64) -> f64 + 'a,
) -> impl Iterator<Item = (f64, f64)> + 'a {
    let mut then = 0;
    (1..samples.len()).map(move |i| {
        let now = at(&samples[i]).as_secs_f64();
        while then + 1 < i && now - at(&samples[then + 1]).as_secs_f64() >= window_s - 1e-9 {
            then += 1;
        }
        let span = now - at(&samples[then]).as_secs_f64();
        (now, value(&samples[then], &samples[i], span))
    })
}
