//! Viewers of 360-degree videos: each gets the tiles of one GoP after another over all radios that
//! it has.

mod content;
mod content_draws;
mod figures;
mod over_time;
mod read;
mod report;
mod roles;

use std::sync::Arc;
use std::time::Duration;

use airlane_base::{InputError, Time};
use airlane_tiles::Method;
use airlane_viewport::LossKind;
use serde::Serialize;

use crate::multipath::Scheduler;
use airlane_judge::Demo;
use airlane_scenario::Place;
use airlane_scenario::SchemePart;
use airlane_scenario::{ControllerConfig, Frame, Reader, Scenario};
use airlane_sim::Common;
use airlane_sim::LabError;
use airlane_sim::Results;
use airlane_sim::identity;
use airlane_sim::plan::{Plan, Sources};
use airlane_sim::workload::{
    Caches, Draws, EndedRun, Flow, Headline, Metric, OverTime, Part, PartResult, ReportSection,
    Running, Sense, Traffic, TrafficClaims, TrafficDescription, TrafficReport, Unit, Workload,
};
use airlane_sim::world::{FlowSample, RunContext};

/// The name of the workload.
const NAME: &str = "tiles";

/// The workload.
#[derive(Debug)]
pub(crate) struct Tiles;

impl Workload for Tiles {
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
        &[("tiles", include_str!("../../../../../scenarios/tiles.toml"))]
    }
}

impl airlane_judge::Workload for Tiles {
    fn claims(&self) -> &'static [(&'static str, &'static str)] {
        &[("ows", include_str!("../../../../../claims/ows.toml"))]
    }

    fn demo(&self) -> Option<Demo> {
        Some(Demo { scenario: "tiles", duration_s: None })
    }

    fn defaults(&self) -> String {
        format!("{} {}", identity::text(&SchemeOptions::default()), content::defaults())
    }
}

/// Source of the rates by which GoPs are planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
enum Rates {
    /// Reports of the client on the past.
    Reported,
    /// The rates that the accesses will have.
    Known,
}

/// Settings of a scheme for sessions.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct SchemeOptions {
    /// Method that chooses levels and order.
    planner: Method,
    /// C_agg as a factor on the mean of past throughput.
    margin: f64,
    /// Reports that throughput is known from.
    history: u64,
    /// Source of the rates by which GoPs are planned.
    rates: Rates,
    /// Scheduler: chooses the access that sends each piece.
    scheduler: Scheduler,
    /// Bytes of a window of FBDT at most.
    window: u64,
}

impl Default for SchemeOptions {
    fn default() -> Self {
        Self {
            planner: Method::Ows(LossKind::Corrected),
            margin: 1.0,
            history: 30,
            rates: Rates::Reported,
            scheduler: Scheduler::Fbdt,
            window: 32 << 10,
        }
    }
}

impl SchemePart for SchemeOptions {
    fn note(&self) -> Vec<String> {
        let planner = match self.planner {
            Method::Ows(LossKind::Corrected) => {
                "Tiles that are likely to be seen get more bits, and those come first that are \
                 worth most per bit."
            }
            Method::Ows(LossKind::Literal) => "Tiles come in the order that the paper prints.",
            Method::Ows(LossKind::Descending) => {
                "Tiles come in the reverse of the order that the paper prints."
            }
            Method::Fix => {
                "Tiles that are likely to be seen get more bits, but they come row by row."
            }
            Method::Likelihood => {
                "Tiles that are likely to be seen get more bits, and the likeliest come first."
            }
            Method::Joint => "Levels and order are chosen together.",
        };
        vec![planner.to_owned(), self.scheduler.sentence().to_owned()]
    }
}

/// The sessions of a scenario.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Sessions(Vec<Entry>);

/// A session.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Entry {
    /// Name, of rows; distinct.
    name: String,
    /// Its controller. `None`: that of the scheme, with its weight.
    control: Option<ControllerConfig>,
    /// Start time.
    start: Duration,
    /// GoPs that are shown so soon after its start do not count.
    skip: Duration,
    /// Bytes that each end holds of what it receives, and of what it sends.
    memory: u64,
    /// Bytes of a segment at most.
    segment: u64,
    /// Levels of each tile that its server does not have, from the lowest.
    left_out: u64,
    /// The title; drawn for each case if it is not given.
    title: Option<String>,
    /// The number, from 1, of the recorded head; drawn for each case if it is not given.
    head: Option<u64>,
    /// The numbers of the accesses that its client is on: distinct, at least one.
    at: Vec<usize>,
    /// Its round trip in the core, if it is not the network's.
    rtt: Option<Duration>,
}

impl Traffic for Sessions {
    fn workload(&self) -> &'static str {
        NAME
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn names(&self) -> Vec<String> {
        self.0.iter().map(|session| session.name.clone()).collect()
    }

    fn places(&self) -> Vec<Place> {
        self.0
            .iter()
            .map(|session| Place { at: session.at.clone(), rtt: session.rtt, server: None })
            .collect()
    }

    fn adapts(&self) -> bool {
        true
    }

    fn offered_bps(&self) -> Option<f64> {
        self.is_empty().then_some(0.0)
    }

    fn metrics(&self) -> Vec<Metric> {
        vec![
            Metric::of_actor("viewport_psnr_db", Unit::DECIBELS, Sense::Higher),
            Metric::of_actor("viewport_psnr_grey_db", Unit::DECIBELS, Sense::Higher),
            Metric::of_actor("viewport_psnr_p10_db", Unit::DECIBELS, Sense::Higher),
            Metric::of_actor("viewport_psnr_sd_db", Unit::DECIBELS, Sense::Lower),
            Metric::of_actor("ws_psnr_db", Unit::DECIBELS, Sense::Higher),
            Metric::of_actor("late_share", Unit::ONE, Sense::Lower),
            Metric::of_actor("used_bps", Unit::BITS_PER_SECOND, Sense::Neutral),
            Metric::of_actor("throughput_bps", Unit::BITS_PER_SECOND, Sense::Higher),
            Metric::of_actor("byte_share", Unit::ONE, Sense::Neutral),
        ]
    }

    fn prepare(
        &self,
        scenario: &Scenario,
        common: &Common<'_>,
        sources: &mut Sources,
    ) -> Result<Arc<dyn Draws>, InputError> {
        Ok(Arc::new(content_draws::ContentDraws::read(self, scenario, common, sources)?))
    }

    fn start(&self, context: &mut RunContext<'_>) -> Result<Box<dyn Running>, LabError> {
        roles::start(self, context)
    }
}

impl TrafficReport for Sessions {
    fn about(&self, plan: &Plan) -> TrafficDescription {
        report::about(self, plan)
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

impl TrafficClaims for Sessions {}

/// Results of the sessions of a run.
#[derive(Clone, Debug)]
struct Output(Vec<SessionOutput>);

/// A session that ended.
#[derive(Clone, Debug)]
struct SessionOutput {
    name: String,
    /// GoPs that are shown earlier do not count.
    counted_from: Time,
    /// Content that was watched, as seen by one head.
    watched: Arc<content::HeadView>,
    /// Each GoP with the time at which it was shown.
    shown: Vec<(Time, airlane_tiles::ShownGop)>,
    /// Each GoP as the server sent it.
    sent: Vec<airlane_tiles::SentGop>,
    failure: Option<String>,
    radios: Vec<RadioOutput>,
}

/// A radio of a session.
#[derive(Clone, Debug)]
struct RadioOutput {
    /// The session's name and the access's.
    name: String,
    /// Bytes that it was first to bring.
    first_bytes: u64,
    samples: Vec<FlowSample>,
}

impl Part for Output {
    fn flows(&self) -> Vec<Flow<'_>> {
        let radios = self.0.iter().flat_map(|session| &session.radios);
        radios
            .map(|radio| Flow {
                title: radio.name.clone(),
                note: "connection".to_owned(),
                greedy: false,
                samples: &radio.samples,
            })
            .collect()
    }

    fn result(&self, _: &EndedRun<'_>) -> PartResult {
        figures::result(self)
    }

    fn over_time(&self, _: &EndedRun<'_>) -> OverTime {
        over_time::of(self)
    }
}
