//! One run: a world built from a plan, run to its end, and what came out of it.

mod alpha;
mod contents;
mod flows;
mod network;
mod output;
mod provider;
mod tap;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use airlane_base::{Seed, Time};
use airlane_net::Port;
use airlane_quic::ControlHandle;
use airlane_runtime::RuntimeHandle;
use airlane_runtime::virtual_time::{World, WorldError};

pub(crate) use alpha::per_connection as alpha_per_connection;
pub use contents::Contents;
pub use output::{BulkOutput, FlowSample, LinkSampleRow, RunOutput, ViewerOutput, WebOutput};
pub use provider::{Content, settings_of};
pub(crate) use provider::{SESSION, abr_kind, abr_of, spread, value_function};

use crate::error::{Fault, LabError};
use crate::plan::{Plan, RunKey};
use crate::pool::Ticket;
use crate::request::Captures;
use flows::Collected;

/// How often flows and links are sampled.
pub const SAMPLE_EVERY: Duration = Duration::from_millis(500);

/// Virtual time between two reports of progress.
const PROGRESS_EVERY: Duration = Duration::from_secs(1);

/// What is written beside a run's results.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Captures of the connections.
    pub captures: Captures,
    /// Moves the base of the clock that QUIC computes with: for tests that nothing depends on it.
    pub clock_shift: Duration,
    /// What the report of the bottleneck leaves out at the start: until flows have settled.
    pub settle: Duration,
    /// Sees the sender of each bulk transfer.
    pub on_bulk: Option<BulkHook>,
}

/// The number of a transfer in the order of the scenario, its sending host, its controller.
type OnBulk = dyn Fn(usize, &RuntimeHandle, &ControlHandle) + Send + Sync;

/// What is done when the sender of a bulk transfer has its connection: for measurements that
/// change a weight or a rate while a world runs.
#[derive(Clone)]
pub struct BulkHook(Arc<OnBulk>);

impl BulkHook {
    /// Calls `act` with the number of the transfer in the order of the scenario, the host that
    /// sends, and the sender's controller.
    pub fn new(
        act: impl Fn(usize, &RuntimeHandle, &ControlHandle) + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(act))
    }

    fn call(&self, number: usize, host: &RuntimeHandle, control: &ControlHandle) {
        (self.0)(number, host, control);
    }
}

impl fmt::Debug for BulkHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BulkHook")
    }
}

/// Runs one run of a plan. A unit of the ticket is a millisecond of virtual time.
///
/// # Errors
/// If it was stopped, or by a fault of ours: a task that panicked, a world that stands still, a
/// node that loses packets.
pub fn run(
    plan: &Plan,
    content: &Content,
    key: RunKey,
    options: &Options,
    ticket: &Ticket<'_>,
) -> Result<RunOutput, LabError> {
    let seed = Seed(key.seed).split("case").split(&plan.cases[key.case].name);
    let built = network::build(plan, key, seed)?;
    let (servers, clients) = (built.servers, built.clients);
    let bottleneck = built.downlink;
    let addresses: Vec<_> = servers
        .iter()
        .zip(&clients)
        .map(|(s, c)| (built.network.addresses(*s)[0], built.network.addresses(*c)[0]))
        .collect();
    let mut network = built.network;
    network.sample_every(SAMPLE_EVERY);
    let capture = match &options.captures.pcap {
        Some(dir) => Some(crate::pcap::attach(&mut network, dir, &plan.label(key))?),
        None => None,
    };

    let mut world = World::new(seed, network);
    world.stop_on(ticket.stop.flag());
    let roles = (addresses.as_slice(), seed);
    let flows = flows::spawn(plan, content, key, options, &mut world, roles)?;
    let end = Time::ZERO + plan.scenario.duration;
    let clock = flows.clock.clone();
    let settled = (Time::ZERO + options.settle).min(end);
    let mut before = None;
    let mut ran_to = Time::ZERO;
    // Where viewers come one by one, the run ends with the last of them.
    let arriving = plan.scenario.arrivals.is_some();
    while ran_to < end && !(arriving && flows.all_watched()) {
        if ran_to == settled {
            before = world.network().link_stats(bottleneck, Port::ONLY, settled);
        }
        let step = ran_to + PROGRESS_EVERY;
        ran_to = if ran_to < settled { step.min(settled) } else { step.min(end) };
        let clock = clock.clone();
        world
            .run(async move { airlane_runtime::RuntimeExt::sleep_until(&clock, ran_to).await })
            .map_err(|e| lab_error(plan, key, e))?;
        ticket.advance(PROGRESS_EVERY.as_millis() as u64);
    }
    let stats = world.stats();
    let Collected { viewers, bulk, web } =
        world.run(flows.collect()).map_err(|e| lab_error(plan, key, e))?;

    let mut network = world.network();
    network.check_conservation().map_err(LabError::fault)?;
    let link = network.link_stats(bottleneck, Port::ONLY, ran_to).map(|s| match &before {
        Some(before) => s.since(before),
        None => s.report(),
    });
    let series = network.take_series(ran_to);
    let output = RunOutput {
        key,
        ended: ran_to,
        viewers,
        bulk,
        web,
        link_rows: output::link_rows(series, bottleneck),
        drops: Some(network.node_counters(bottleneck, Port::ONLY)),
        link,
        packet_hash: network.packet_hash(),
        packets: stats.packets_sent,
    };
    drop(network);
    if let Some(capture) = capture {
        capture.finish()?;
    }
    Ok(output)
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
