//! One stream of bytes from a server to a client with several radios, over all of them at once.

mod claims;
mod figures;
mod read;
mod report;
mod roles;
mod samples;
mod transfer;

use std::sync::Arc;
use std::time::Duration;

use airlane_base::{Histogram, InputError, Time};
use serde::Serialize;

use crate::multipath::{FbdtAblation, Scheduler};
use airlane_judge::Demo;
use airlane_scenario::Place;
use airlane_scenario::SchemePart;
use airlane_scenario::{ControllerConfig, Frame, Reader, Scenario};
use airlane_sim::Common;
use airlane_sim::LabError;
use airlane_sim::Results;
use airlane_sim::plan::{Plan, Sources};
use airlane_sim::workload::{
    ByMetric, CachedMetrics, Caches, ClaimContext, ClaimRun, Draws, EndedRun, Flow, Headline,
    Metric, NoDraws, OverTime, Part, PartResult, ReportSection, Running, SceneRuns, Sense, Traffic,
    TrafficClaims, TrafficDescription, TrafficReport, Unit, Workload,
};
use airlane_sim::world::{FlowSample, RunContext};

use samples::Sample;

/// The name of the workload.
const NAME: &str = "tunnel";

/// The workload.
#[derive(Debug)]
pub(crate) struct Tunnel;

impl Workload for Tunnel {
    fn table(&self) -> &'static str {
        NAME
    }

    fn read(&self, tables: &mut Reader<'_>, frame: &Frame<'_>) -> Arc<dyn Traffic> {
        Arc::new(read::tables(tables, frame))
    }

    fn read_scheme(
        &self,
        keys: &mut Reader<'_>,
        _: &ControllerConfig,
    ) -> Option<Arc<dyn SchemePart>> {
        Some(Arc::new(read::of_scheme(keys)?))
    }

    fn scenarios(&self) -> &'static [(&'static str, &'static str)] {
        &[("fbdt", include_str!("../../../../../scenarios/fbdt.toml"))]
    }
}

impl airlane_judge::Workload for Tunnel {
    fn claims(&self) -> &'static [(&'static str, &'static str)] {
        &[("fbdt", include_str!("../../../../../claims/fbdt.toml"))]
    }

    fn demo(&self) -> Option<Demo> {
        Some(Demo { scenario: "fbdt", duration_s: None })
    }
}

/// Settings of a scheme for tunnels.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
struct SchemeOptions {
    /// Scheduler: chooses the access that sends each piece.
    scheduler: Scheduler,
    /// The name of the one access that is used.
    only: Option<String>,
    /// Bytes of a window of FBDT at most.
    window: Option<u64>,
    /// Parts of FBDT that are left out.
    without: Vec<FbdtAblation>,
}

impl SchemePart for SchemeOptions {
    fn note(&self) -> Vec<String> {
        vec![match &self.only {
            Some(only) => format!("Over {only} alone."),
            None => self.scheduler.sentence().to_owned(),
        }]
    }
}

/// The tunnels of a scenario.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Tunnels(Vec<Entry>);

/// A tunnel.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Entry {
    /// Name, of rows; distinct.
    name: String,
    /// Its controller. `None`: that of the scheme, with its weight.
    control: Option<ControllerConfig>,
    /// Start time.
    start: Duration,
    /// Time from then until its goodput begins to count.
    skip: Duration,
    /// After so many bytes it ends. `None`: with the run.
    bytes: Option<u64>,
    /// Bytes that each end holds of what it receives, and of what it sends.
    memory: u64,
    /// The numbers of the accesses that its client is on: distinct, at least one.
    at: Vec<usize>,
    /// Its round trip in the core, if it is not the network's.
    rtt: Option<Duration>,
}

impl Traffic for Tunnels {
    fn workload(&self) -> &'static str {
        NAME
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn names(&self) -> Vec<String> {
        self.0.iter().map(|tunnel| tunnel.name.clone()).collect()
    }

    fn places(&self) -> Vec<Place> {
        self.0
            .iter()
            .map(|tunnel| Place { at: tunnel.at.clone(), rtt: tunnel.rtt, server: None })
            .collect()
    }

    fn offered_bps(&self) -> Option<f64> {
        self.is_empty().then_some(0.0)
    }

    fn metrics(&self) -> Vec<Metric> {
        vec![
            Metric::of_actor("goodput_bps", Unit::BITS_PER_SECOND, Sense::Higher),
            Metric::of_actor("delay_ms", Unit::MILLISECONDS, Sense::Lower),
            Metric::of_actor("delay_p99_ms", Unit::MILLISECONDS, Sense::Lower),
            Metric::of_actor("latency_ms", Unit::MILLISECONDS, Sense::Lower),
            Metric::of_actor("latency_p99_ms", Unit::MILLISECONDS, Sense::Lower),
            Metric::of_actor("redundant_share", Unit::ONE, Sense::Lower),
            Metric::of_actor("byte_share", Unit::ONE, Sense::Neutral),
        ]
    }

    fn prepare(
        &self,
        scenario: &Scenario,
        _: &Common<'_>,
        _: &mut Sources,
    ) -> Result<Arc<dyn Draws>, InputError> {
        read::check(self, scenario)?;
        Ok(Arc::new(NoDraws))
    }

    fn start(&self, context: &mut RunContext<'_>) -> Result<Box<dyn Running>, LabError> {
        roles::start(self, context)
    }
}

impl TrafficReport for Tunnels {
    fn about(&self, _: &Plan) -> TrafficDescription {
        report::about(self)
    }

    fn headlines(&self) -> Vec<Headline> {
        report::headlines()
    }

    fn verdict(&self, results: &Results<'_>) -> Option<String> {
        report::verdict(results)
    }

    fn section(&self, results: &Results<'_>, _: &Caches) -> ReportSection {
        report::section(results)
    }
}

impl TrafficClaims for Tunnels {
    fn claim_run_metrics(&self) -> Vec<Metric> {
        claims::run_metrics()
    }

    fn read_cached(&self, json: serde_json::Value) -> Option<CachedMetrics> {
        CachedMetrics::read::<claims::Figures>(NAME, json)
    }

    fn claim_figure(&self, metric: &str, run: &ClaimRun) -> Option<f64> {
        claims::figure(metric, run)
    }

    fn claim_metrics(&self, _: &[String]) -> Vec<Metric> {
        claims::metrics()
    }

    fn claim_samples(&self, compared: &SceneRuns<'_>) -> ByMetric {
        claims::of_draws(compared)
    }
}

/// Results of the tunnels of a run.
#[derive(Clone, Debug)]
struct Output(Vec<TunnelOutput>);

/// A tunnel that ended.
#[derive(Clone, Debug)]
struct TunnelOutput {
    name: String,
    /// Time at which its goodput began to count, and time at which it ended: by itself or with the
    /// run.
    counted_from: Time,
    end: Time,
    /// Positions over time, in bytes: of what was written, and of what was read in order.
    written: Vec<(u64, Time)>,
    read: Vec<(u64, Time)>,
    /// Waiting times of bytes from their arrival over a radio until they are read in order, of the
    /// time that counts.
    waited: Histogram,
    /// Bytes that each end holds at most.
    memory: u64,
    /// Bytes of segments, distinct and sent again.
    distinct_bytes: u64,
    redundant_bytes: u64,
    samples: Vec<Sample>,
    failure: Option<String>,
    radios: Vec<RadioOutput>,
}

/// A radio of a tunnel.
#[derive(Clone, Debug, Default)]
struct RadioOutput {
    /// The tunnel's name and the access's.
    name: String,
    /// Its number in the stream, if the scheme uses it.
    number: Option<u8>,
    /// Bytes that it was first to bring.
    first_bytes: u64,
    samples: Vec<FlowSample>,
}

impl Part for Output {
    fn flows(&self) -> Vec<Flow<'_>> {
        let radios = self.0.iter().flat_map(|tunnel| &tunnel.radios);
        radios
            .map(|radio| Flow {
                title: radio.name.clone(),
                note: "connection".to_owned(),
                greedy: true,
                samples: &radio.samples,
            })
            .collect()
    }

    fn result(&self, _: &EndedRun<'_>) -> PartResult {
        figures::result(self)
    }

    fn over_time(&self, run: &EndedRun<'_>) -> OverTime {
        figures::over_time(self, run.at)
    }

    fn keep(&self, run: &ClaimContext<'_>) -> Option<CachedMetrics> {
        claims::keep(self, run)
    }
}
