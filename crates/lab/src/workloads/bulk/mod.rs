//! Bulk transfers: data that is sent as fast as the network takes it, from a server each.

mod check;
mod claims;
mod constant;
mod datagram;
mod oracle;
mod over_time;
mod read;
mod report;
mod roles;
mod sprout;
mod sum;

use std::sync::Arc;
use std::time::Duration;

use airlane_base::{InputError, Rate, Time};
use airlane_quality::stats;
use serde::Serialize;

use airlane_judge::Demo;
use airlane_scenario::Place;
use airlane_scenario::SchemePart;
use airlane_scenario::{ControllerConfig, Frame, Reader, Scenario, Scheme};
use airlane_sim::Common;
use airlane_sim::LabError;
use airlane_sim::Results;
use airlane_sim::plan::{Plan, Sources};
use airlane_sim::workload::{
    ActorResult, CachedMetrics, Caches, ClaimContext, ClaimRun, Draws, EndedRun, Figures, Flow,
    Headline, Metric, NoDraws, Part, PartResult, ReportSection, Running, Sense, Traffic,
    TrafficClaims, TrafficDescription, TrafficReport, Unit, Workload,
};
use airlane_sim::world::{FlowSample, RunContext, RunOutput};

pub use report::on_transfers;

/// The name of the workload.
const NAME: &str = "bulk";

/// The workload.
#[derive(Debug)]
pub(crate) struct Bulk;

impl Workload for Bulk {
    fn table(&self) -> &'static str {
        "bulk"
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
        &[
            ("bulk", include_str!("../../../../../scenarios/bulk.toml")),
            ("chain", include_str!("../../../../../scenarios/chain.toml")),
            ("half-duplex", include_str!("../../../../../scenarios/half-duplex.toml")),
            ("motivation", include_str!("../../../../../scenarios/motivation.toml")),
            ("two-radios", include_str!("../../../../../scenarios/two-radios.toml")),
            ("wifi", include_str!("../../../../../scenarios/wifi.toml")),
        ]
    }
}

impl airlane_judge::Workload for Bulk {
    fn claims(&self) -> &'static [(&'static str, &'static str)] {
        &[("cupid", include_str!("../../../../../claims/cupid.toml"))]
    }

    fn demo(&self) -> Option<Demo> {
        // Cupid has converged by then.
        Some(Demo { scenario: "wifi", duration_s: Some(6) })
    }
}

/// Keys of a scheme that concern transfers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
struct SchemeOptions {
    transport: Transport,
}

/// Transport of transfers: the protocol, and what sets the sending rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
enum Transport {
    /// Streams of QUIC, under the scheme's controller.
    #[default]
    Quic,
    /// Datagrams, each acknowledged by itself, under the scheme's controller; nothing is sent again.
    Datagrams,
    /// Datagrams by Sprout's forecast, as published.
    Sprout,
    /// Datagrams at the rate of the transfer's limit, whatever becomes of them.
    Constant,
    /// Datagrams, in each period as many as the link can carry in it: nobody can know that.
    Oracle,
    /// The same a period late.
    OracleStale,
}

impl Transport {
    /// That of a scheme.
    fn of(scheme: &Scheme) -> Self {
        scheme.parts.of::<SchemeOptions>().map(|of| of.transport).unwrap_or_default()
    }
}

impl SchemePart for SchemeOptions {
    fn note(&self) -> Vec<String> {
        let note = match self.transport {
            Transport::Quic => return Vec::new(),
            Transport::Datagrams => {
                "Transfers are datagrams, each acknowledged by itself; nothing is sent again."
            }
            Transport::Constant => {
                "Transfers are datagrams at a constant rate, which nobody acknowledges."
            }
            Transport::Sprout => "Transfers send what Sprout forecasts to arrive within 100 ms.",
            Transport::Oracle => {
                "Transfers know what the link will carry in each 5 ms, and send that."
            }
            Transport::OracleStale => {
                "Transfers know what the link will carry in each 5 ms, and send that 5 ms late."
            }
        };
        vec![note.to_owned()]
    }
}

/// The transfers of a scenario.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Transfers(pub Vec<Transfer>);

/// Transfers of one kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Transfer {
    /// Name, of rows; distinct.
    pub name: String,
    /// Its controller. `None`: that of the scheme, with its weight.
    pub control: Option<ControllerConfig>,
    /// True if it goes from its access to the core, and not the other way.
    pub is_upload: bool,
    /// Time of its start.
    pub start: Duration,
    /// Its end.
    pub until: TransferEnd,
    /// Time from which its application is limited, and the maximum rate that it sends from then on.
    pub limit: Option<(Duration, Rate)>,
    /// The other way, where it goes both ways at once: from the same hosts, up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other_way: Option<ReverseTransfer>,
    /// The numbers of the accesses that its receiver is on: distinct, at least one. Over each of
    /// them it has a connection of its own.
    pub at: Vec<usize>,
    /// Its round trip in the core, if it is not the network's.
    pub rtt: Option<Duration>,
    /// Number of transfers of this kind.
    pub count: usize,
}

/// The way up of a transfer that goes both ways.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ReverseTransfer {
    /// Time from which its application is limited, and the maximum rate that it sends from then on.
    pub limit: Option<(Duration, Rate)>,
}

/// One way of a transfer.
#[derive(Clone, Copy, Debug, PartialEq)]
struct OneWay {
    /// True if it goes up.
    is_up: bool,
    /// Time from which its application is limited, and the maximum rate that it sends from then on.
    limit: Option<(Duration, Rate)>,
}

/// End of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum TransferEnd {
    /// With the run.
    Run,
    /// At this time.
    At(Duration),
    /// After so many bytes.
    Bytes(u64),
}

impl Transfer {
    /// Its ways: one, or down and up.
    fn ways(&self) -> Vec<OneWay> {
        let first = OneWay { is_up: self.is_upload, limit: self.limit };
        let other = self.other_way.map(|other| OneWay { is_up: true, limit: other.limit });
        std::iter::once(first).chain(other).collect()
    }
}

impl Transfers {
    /// The transfers of a scenario.
    pub fn of(scenario: &Scenario) -> &[Transfer] {
        scenario.participants.of::<Self>().map_or(&[], |transfers| &transfers.0)
    }

    /// Each transfer with its name.
    fn each(&self) -> impl Iterator<Item = (&Transfer, String)> {
        self.0.iter().flat_map(|transfer| {
            (1..=transfer.count).map(move |n| match transfer.count {
                1 => (transfer, transfer.name.clone()),
                _ => (transfer, format!("{}.{n}", transfer.name)),
            })
        })
    }

    /// Number of transfers.
    fn count(&self) -> usize {
        self.0.iter().map(|transfer| transfer.count).sum()
    }
}

impl Traffic for Transfers {
    fn workload(&self) -> &'static str {
        NAME
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn names(&self) -> Vec<String> {
        self.0.iter().map(|transfer| transfer.name.clone()).collect()
    }

    fn places(&self) -> Vec<Place> {
        self.each()
            .map(|(transfer, _)| Place { at: transfer.at.clone(), rtt: transfer.rtt, server: None })
            .collect()
    }

    fn offered_bps(&self) -> Option<f64> {
        self.is_empty().then_some(0.0)
    }

    fn metrics(&self) -> Vec<Metric> {
        vec![
            Metric::of_actor("goodput_bps", Unit::BITS_PER_SECOND, Sense::Higher),
            Metric::of_actor("rtt_p95_s", Unit::SECONDS, Sense::Lower),
            Metric::of_actor("air_share", Unit::ONE, Sense::Neutral),
        ]
    }

    fn prepare(
        &self,
        scenario: &Scenario,
        _: &Common<'_>,
        _: &mut Sources,
    ) -> Result<Arc<dyn Draws>, InputError> {
        check::schemes(self, scenario)?;
        Ok(Arc::new(NoDraws))
    }

    fn start(&self, context: &mut RunContext<'_>) -> Result<Box<dyn Running>, LabError> {
        roles::start(self, context)
    }
}

impl TrafficReport for Transfers {
    fn about(&self, _: &Plan) -> TrafficDescription {
        report::about(self)
    }

    fn headlines(&self) -> Vec<Headline> {
        report::headlines()
    }

    fn verdict(&self, results: &Results<'_>) -> Option<String> {
        Some(report::verdict(self, results))
    }

    fn section(&self, results: &Results<'_>, _: &Caches) -> ReportSection {
        let curves = over_time::curves(self, results);
        ReportSection { curves, ..report::section(results) }
    }
}

impl TrafficClaims for Transfers {
    fn claim_run_metrics(&self) -> Vec<Metric> {
        claims::run_metrics(self)
    }

    fn read_cached(&self, json: serde_json::Value) -> Option<CachedMetrics> {
        CachedMetrics::read::<claims::RunMetrics>(NAME, json)
    }

    fn claim_figure(&self, metric: &str, run: &ClaimRun) -> Option<f64> {
        claims::figure(metric, run)
    }
}

/// Results of the transfers of a run.
#[derive(Clone, Debug)]
pub struct Output(pub Vec<TransferOutput>);

/// A transfer that ended.
#[derive(Clone, Debug)]
pub struct TransferOutput {
    /// Name.
    pub name: String,
    /// Time of its start.
    pub start: Time,
    /// Application bytes received and found right.
    pub bytes: u64,
    /// Time of its end: by itself or with the run.
    pub end: Time,
    /// Reason for an early end; `None` if it did not end early.
    pub failure: Option<String>,
    /// The sender's side of the connection over time; of several connections their sum.
    pub samples: Vec<FlowSample>,
    /// The connections that it is the sum of, one per access or way; none if it is one connection.
    pub parts: Vec<TransferOutput>,
    /// The air that its receiver was charged with, if it is on a WiFi.
    pub air: Option<Duration>,
}

impl TransferOutput {
    /// A transfer over these connections.
    fn of(name: String, start: Time, mut parts: Vec<Self>) -> Self {
        if parts.len() == 1 {
            return Self { name, ..parts.remove(0) };
        }
        Self {
            name,
            start,
            bytes: parts.iter().map(|p| p.bytes).sum(),
            end: parts.iter().map(|p| p.end).max().unwrap_or(start),
            failure: parts.iter().find_map(|p| p.failure.clone()),
            samples: sum::of(&parts),
            parts,
            air: None,
        }
    }

    /// The share of the time from its start to its end that its receiver was charged with air for.
    fn air_share(&self) -> Option<f64> {
        let span = (self.end - self.start).as_secs_f64();
        self.air.filter(|_| span > 0.0).map(|air| air.as_secs_f64() / span)
    }

    /// The round trip that nineteen of twenty of its samples have at most; of a sender that was never
    /// answered all the time that it waited, as its first one takes longer.
    fn rtt_p95_s(&self) -> Option<f64> {
        let rtts: Vec<f64> = self.samples.iter().filter_map(|sample| sample.rtt_s).collect();
        let waited = (self.end - self.start).as_secs_f64();
        stats::quantile(&rtts, 0.95).or((waited > 0.0).then_some(waited))
    }

    /// Application bytes received over the time from its start to its end, bits/s.
    fn goodput_bps(&self) -> Option<f64> {
        let span = (self.end - self.start).as_secs_f64();
        (span > 0.0).then(|| self.bytes as f64 * 8.0 / span)
    }
}

impl Output {
    /// The transfers of a run.
    pub fn of(run: &RunOutput) -> &[TransferOutput] {
        run.parts.of::<Self>().map_or(&[], |output| &output.0)
    }
}

impl Part for Output {
    fn flows(&self) -> Vec<Flow<'_>> {
        fn flow(transfer: &TransferOutput, whole: bool) -> Flow<'_> {
            let TransferOutput { name, samples, .. } = transfer;
            let note = if whole { "transfer" } else { "connection" };
            Flow { title: name.clone(), note: note.to_owned(), greedy: whole, samples }
        }
        let flows = self.0.iter().flat_map(|transfer| {
            let parts = transfer.parts.iter().map(|part| flow(part, false));
            std::iter::once(flow(transfer, true)).chain(parts)
        });
        flows.collect()
    }

    fn keep(&self, run: &ClaimContext<'_>) -> Option<CachedMetrics> {
        claims::keep(Transfers::of(&run.plan.scenario), self, run)
    }

    fn result(&self, _: &EndedRun<'_>) -> PartResult {
        let actor = |transfer: &TransferOutput, part: bool| {
            let mut figures = Figures::default();
            let goodput = transfer.goodput_bps();
            figures.add("goodput_bps", Unit::BITS_PER_SECOND, goodput);
            figures.add("rtt_p95_s", Unit::SECONDS, transfer.rtt_p95_s());
            figures.add("air_share", Unit::ONE, transfer.air_share());
            ActorResult {
                workload: NAME.to_owned(),
                name: transfer.name.clone(),
                failure: transfer.failure.clone().filter(|_| !part),
                rate_bps: (!part).then(|| goodput.unwrap_or(0.0)),
                part,
                figures,
                samples: over_time::samples(&transfer.samples),
                ..ActorResult::default()
            }
        };
        let actors = self.0.iter().flat_map(|transfer| {
            let parts = transfer.parts.iter().map(|part| actor(part, true));
            std::iter::once(actor(transfer, false)).chain(parts).collect::<Vec<_>>()
        });
        PartResult { actors: actors.collect(), figures: Figures::default() }
    }
}
