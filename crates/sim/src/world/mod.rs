//! One run: a world built from a plan, run to its end, and what came out of it.

mod air;
mod air_capture;
mod caches;
mod network;
mod oracle;
mod output;
mod run_context;
mod tap;
mod wifi;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use airlane_base::{Seed, Time};
use airlane_cupid::Feedback;
use airlane_net::LinkStats;
use airlane_quic::ControlHandle;
use airlane_runtime::RuntimeHandle;
use airlane_runtime::virtual_time::{World, WorldError};

pub use air::{AirDirection, AirOutput, AirStep, BinAirtime};
pub use caches::Caches;
pub use caches::SharedCaches;
pub use network::of_way;
pub use oracle::OracleLink;
pub use output::{DirectionAirtime, DirectionOutput, FlowSample, LinkSampleRow, RunOutput};
pub use run_context::{Pair, RunContext, WifiStation};
pub use tap::Tap;

use crate::common::Captures;
use crate::error::{Fault, LabError};
use crate::plan::{Plan, RunKey};
use crate::pool::Ticket;
use crate::workload::{Parts, Running, traffic_of};
use air::AirWatch;
use air_capture::AirCaptures;

/// Interval at which flows and links are sampled.
pub const SAMPLE_EVERY: Duration = Duration::from_millis(500);

/// Virtual time between two reports of progress.
const PROGRESS_EVERY: Duration = Duration::from_secs(1);

/// Options for what is written beside a run's results.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Captures of the connections.
    pub captures: Captures,
    /// Moves the base of the clock that QUIC computes with: for tests that nothing depends on it.
    pub clock_shift: Duration,
    /// Time at the start that the reports of the links leave out, until flows have settled.
    pub settle: Duration,
    /// Sees the sender of each greedy flow.
    pub on_sender: Option<SenderHook>,
    /// Sees what agents of Cupid report.
    pub on_report: Option<ReportHook>,
}

/// The number of a greedy flow in the order of the scenario, its sending host, its controller.
type OnSender = dyn Fn(usize, &RuntimeHandle, &ControlHandle) + Send + Sync;

/// Function that is called when the sender of a flow that always has data to send has its
/// connection: for measurements that change a weight or a rate while a world runs.
#[derive(Clone)]
pub struct SenderHook(Arc<OnSender>);

impl SenderHook {
    /// Calls `act` with the number of the flow in the order of the scenario, the host that sends,
    /// and the sender's controller.
    pub fn new(
        act: impl Fn(usize, &RuntimeHandle, &ControlHandle) + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(act))
    }

    fn invoke(&self, number: usize, host: &RuntimeHandle, control: &ControlHandle) {
        (self.0)(number, host, control);
    }
}

impl fmt::Debug for SenderHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SenderHook")
    }
}

/// The number of a place over all workloads, when, and what the agent on its client reports.
type OnReport = dyn Fn(usize, Time, &Feedback) + Send + Sync;

/// Function that is called with each report that an agent of Cupid makes, whoever takes it: for
/// measurements of what agents grant.
#[derive(Clone)]
pub struct ReportHook(Arc<OnReport>);

impl ReportHook {
    /// Calls `act` with the number of the place whose client the agent is on, in the order of the scenario
    /// over all workloads, the time, and the report.
    pub fn new(act: impl Fn(usize, Time, &Feedback) + Send + Sync + 'static) -> Self {
        Self(Arc::new(act))
    }

    fn invoke(&self, place: usize, now: Time, report: &Feedback) {
        (self.0)(place, now, report);
    }
}

impl fmt::Debug for ReportHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReportHook")
    }
}

/// Runs one run of a plan. A unit of the ticket is a millisecond of virtual time.
///
/// # Errors
/// If it was stopped, or by a fault of ours: a task that panicked, a world that stands still, a
/// node that loses packets.
pub fn run(
    plan: &Plan,
    caches: &Caches,
    key: RunKey,
    options: &Options,
    ticket: &Ticket<'_>,
) -> Result<RunOutput, LabError> {
    let seed = seed_of(plan, key);
    let network::BuiltNetwork { mut network, hosts, ways } = network::build(plan, key, seed)?;
    network.sample_every(SAMPLE_EVERY);
    let captures = match &options.captures.pcap {
        Some(dir) => {
            let packets = crate::pcap::attach(&mut network, dir, &plan.label(key))?;
            Some((packets, AirCaptures::attach(&ways, dir, &plan.label(key))?))
        }
        None => None,
    };
    let (capture, mut air_captures) = captures.unzip();

    let mut world = World::new(seed, network);
    world.stop_on(ticket.stop.flag());
    let of_run = (plan, caches, key, seed);
    let mut context =
        RunContext::new(of_run, options, &mut world, hosts.as_slice(), air_captures.as_mut())?;
    let Some(clock) = context.clock() else {
        return Err(LabError::fault("a world without hosts"));
    };
    let running: Vec<Box<dyn Running>> =
        traffic_of(&plan.scenario).map(|c| c.start(&mut context)).collect::<Result<_, _>>()?;
    context.limit_uplinks(&mut world.network())?;
    let end = context.end;
    let endpoints = context.into_endpoints();
    let settled = (Time::ZERO + options.settle).min(end);
    let stats = |world: &World, at| -> Vec<Option<LinkStats>> {
        let network = world.network();
        let of =
            |w: &network::MeasuredDirection| network.link_stats(w.carrier.node, w.carrier.port, at);
        ways.iter().map(of).collect()
    };
    let mut watches = AirWatch::of(&ways, plan.scenario.duration);
    let mut charged = vec![Vec::new(); ways.len()];
    note_air(&ways, Time::ZERO, &mut charged);
    let mut before = vec![None; ways.len()];
    let mut ran_to = Time::ZERO;
    while ran_to < end && !running.iter().any(|roles| roles.is_over()) {
        if ran_to == settled {
            before = stats(&world, settled);
        }
        let step = ran_to + PROGRESS_EVERY;
        ran_to = if ran_to < settled { step.min(settled) } else { step.min(end) };
        let clock = clock.clone();
        world
            .run(async move { airlane_runtime::RuntimeExt::sleep_until(&clock, ran_to).await })
            .map_err(|e| lab_error(plan, key, e))?;
        watches.iter_mut().for_each(|watch| watch.take(ran_to));
        note_air(&ways, ran_to, &mut charged);
        ticket.advance(PROGRESS_EVERY.as_millis() as u64);
    }
    let airs = watches.into_iter().map(|watch| watch.finish(ran_to)).collect();
    // Ending may take long where an end does not hear that the other ends.
    let captured = air_captures.map_or(Ok(()), AirCaptures::finish);
    let packets = world.stats().packets_sent;
    let collected = world.run(async move {
        let mut parts = Vec::with_capacity(running.len());
        for roles in running {
            parts.push(roles.end().await);
        }
        drop(endpoints);
        parts
    });
    let parts = Parts::new(collected.map_err(|e| lab_error(plan, key, e))?);

    let after = stats(&world, ran_to);
    let mut network = world.network();
    network.check_conservation().map_err(LabError::fault)?;
    let series = network.take_series(ran_to);
    let ways = ways.into_iter().zip(charged).zip(before.into_iter().zip(after));
    let ways = ways.filter_map(|((way, charged), (before, after))| {
        let (network::MeasuredDirection { access, carrier, is_half_duplex, .. }, after) =
            (way, after?);
        let air = way_air(charged, if before.is_some() { settled } else { Time::ZERO });
        Some(DirectionOutput {
            access,
            direction: carrier.direction,
            is_half_duplex,
            report: before.map_or_else(|| after.report(), |before| after.since(&before)),
            counters: network.node_counters(carrier.node, carrier.port),
            rows: output::link_rows(series.as_ref(), carrier),
            air,
        })
    });
    let ways = ways.collect();
    let output = RunOutput {
        key,
        ended: ran_to,
        parts,
        ways,
        airs,
        packet_hash: Some(network.packet_hash()),
        packets,
    };
    drop(network);
    if let Some(capture) = capture {
        capture.finish()?;
    }
    captured?;
    Ok(output)
}

/// Adds to each way that crosses the air what it has been charged with until `now`.
fn note_air(ways: &[network::MeasuredDirection], now: Time, charged: &mut [Vec<(Time, Duration)>]) {
    for (way, rows) in ways.iter().zip(charged) {
        let airtime = way.on_air.as_ref().map(|on_air| on_air.air.airtime_of(way.carrier.port));
        rows.extend(airtime.map(|airtime| (now, airtime.charged)));
    }
}

/// The air of a way from its rows; what was before `settled` does not count.
fn way_air(rows: Vec<(Time, Duration)>, settled: Time) -> Option<DirectionAirtime> {
    let last = rows.last()?.1;
    let before = rows.iter().rfind(|(at, _)| *at <= settled).map_or(Duration::ZERO, |row| row.1);
    Some(DirectionAirtime { charged: last.saturating_sub(before), rows })
}

/// The seed of a run's world: the same under every scheme.
fn seed_of(plan: &Plan, key: RunKey) -> Seed {
    Seed(key.seed).split("case").split(&plan.cases[key.case].name)
}

fn lab_error(plan: &Plan, key: RunKey, error: WorldError) -> LabError {
    match error {
        WorldError::Stopped { .. } => LabError::Stopped,
        fault => LabError::Fault(Box::new(Fault {
            what: format!("{}: {fault}", plan.label(key)),
            run: None,
        })),
    }
}
