//! Web traffic: transfers that begin as a Poisson process, each from a server drawn at random, on a
//! connection of its own. The sizes follow a bounded Pareto distribution
//! (`docs/design/traffic.md`).

mod read;
mod report;
mod roles;
mod sizes;

use std::sync::Arc;
use std::time::Duration;

use airlane_base::Rate;
use airlane_quality::stats;
use serde::Serialize;

use airlane_scenario::Place;
use airlane_scenario::{ControllerConfig, Frame, Reader, Scenario};
use airlane_sim::LabError;
use airlane_sim::Results;
use airlane_sim::plan::Plan;
use airlane_sim::workload::{
    ActorResult, Caches, EndedRun, Figures, Metric, Part, PartResult, ReportSection, Running,
    Sense, Traffic, TrafficClaims, TrafficDescription, TrafficReport, Unit, Workload,
};
use airlane_sim::world::{RunContext, RunOutput};

/// The name of the workload.
const NAME: &str = "web";

/// The workload.
#[derive(Debug)]
pub(crate) struct Web;

impl Workload for Web {
    fn table(&self) -> &'static str {
        "web"
    }

    fn read(&self, tables: &mut Reader<'_>, frame: &Frame<'_>) -> Arc<dyn Traffic> {
        Arc::new(read::tables(tables, frame))
    }
}

impl airlane_judge::Workload for Web {}

/// The web traffic of a scenario.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WebTraffic(pub Vec<Entry>);

/// Short transfers that begin as a Poisson process, each from one of many servers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Entry {
    /// Name, of rows; distinct.
    pub name: String,
    /// Bodies offered per time.
    pub load: Rate,
    /// Number of servers.
    pub servers: usize,
    /// The servers' controller.
    pub control: ControllerConfig,
    /// The number of the access that the clients are on.
    pub at: usize,
    /// Their round trip in the core, if it is not the network's.
    pub rtt: Option<Duration>,
    /// The shape of the sizes' Pareto distribution.
    pub shape: f64,
    /// The least size of a transfer in bytes.
    pub min_bytes: u64,
    /// The greatest.
    pub max_bytes: u64,
}

impl WebTraffic {
    /// The web traffic of a scenario.
    pub fn of(scenario: &Scenario) -> &[Entry] {
        scenario.participants.of::<Self>().map_or(&[], |traffic| &traffic.0)
    }
}

impl Traffic for WebTraffic {
    fn workload(&self) -> &'static str {
        NAME
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn names(&self) -> Vec<String> {
        self.0.iter().map(|entry| entry.name.clone()).collect()
    }

    fn places(&self) -> Vec<Place> {
        let place = |entry: &Entry| {
            let place = Place { at: vec![entry.at], rtt: entry.rtt, server: None };
            std::iter::repeat_n(place, entry.servers)
        };
        self.0.iter().flat_map(place).collect()
    }

    fn offered_bps(&self) -> Option<f64> {
        Some(self.0.iter().map(|entry| entry.load.as_f64()).sum())
    }

    fn metrics(&self) -> Vec<Metric> {
        vec![
            Metric::of_actor("offered_bps", Unit::BITS_PER_SECOND, Sense::Neutral),
            Metric::of_actor("goodput_bps", Unit::BITS_PER_SECOND, Sense::Higher),
            Metric::of_actor("transfers", Unit::ONE, Sense::Neutral),
            Metric::of_actor("finished", Unit::ONE, Sense::Higher),
            Metric::of_actor("took_mean_s", Unit::SECONDS, Sense::Lower),
            Metric::of_actor("took_p95_s", Unit::SECONDS, Sense::Lower),
        ]
    }

    fn start(&self, context: &mut RunContext<'_>) -> Result<Box<dyn Running>, LabError> {
        roles::start(self, context)
    }
}

impl TrafficReport for WebTraffic {
    fn about(&self, _: &Plan) -> TrafficDescription {
        report::about(self)
    }

    fn section(&self, results: &Results<'_>, _: &Caches) -> ReportSection {
        report::section(results)
    }
}

impl TrafficClaims for WebTraffic {}

/// Results of the web traffic of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Output(pub Vec<EntryOutput>);

/// Results of an entry's transfers.
#[derive(Clone, Debug, PartialEq)]
pub struct EntryOutput {
    /// Name.
    pub name: String,
    /// Transfers that were begun.
    pub started: u64,
    /// Bytes of bodies that these are of.
    pub offered_bytes: u64,
    /// Bytes of bodies received and found right.
    pub received_bytes: u64,
    /// Seconds that each finished transfer took, handshake included, in the order of their ends.
    pub took_s: Vec<f64>,
}

impl Output {
    /// The entries of a run.
    pub fn of(run: &RunOutput) -> &[EntryOutput] {
        run.parts.of::<Self>().map_or(&[], |output| &output.0)
    }
}

impl Part for Output {
    fn result(&self, run: &EndedRun<'_>) -> PartResult {
        let span = run.at.since_start().as_secs_f64().max(f64::MIN_POSITIVE);
        let actor = |web: &EntryOutput| {
            let mut figures = Figures::default();
            figures.add(
                "offered_bps",
                Unit::BITS_PER_SECOND,
                Some(web.offered_bytes as f64 * 8.0 / span),
            );
            figures.add(
                "goodput_bps",
                Unit::BITS_PER_SECOND,
                Some(web.received_bytes as f64 * 8.0 / span),
            );
            figures.add("transfers", Unit::ONE, Some(web.started as f64));
            figures.add("finished", Unit::ONE, Some(web.took_s.len() as f64));
            figures.add("took_mean_s", Unit::SECONDS, stats::mean(&web.took_s));
            figures.add("took_p95_s", Unit::SECONDS, stats::quantile(&web.took_s, 0.95));
            ActorResult {
                workload: NAME.to_owned(),
                name: web.name.clone(),
                figures,
                ..ActorResult::default()
            }
        };
        PartResult { actors: self.0.iter().map(actor).collect(), figures: Figures::default() }
    }
}
