//! Real-time video in layers, which the network may thin out (Octopus), from a server each.

mod age;
mod claims;
mod content_draws;
mod figures;
mod over_time;
mod read;
mod records;
mod report;
mod roles;

use std::sync::Arc;
use std::time::Duration;

use airlane_base::{InputError, Time};
use airlane_live::Video;
use serde::Serialize;

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
    Caches, ClaimRun, Draws, EndedRun, Flow, Headline, Metric, OverTime, Part, PartResult,
    ReportSection, Running, Sense, Traffic, TrafficClaims, TrafficDescription, TrafficReport, Unit,
    Workload,
};
use airlane_sim::world::{FlowSample, RunContext};

/// The name of the workload.
const NAME: &str = "live";

/// The workload.
#[derive(Debug)]
pub(crate) struct Live;

impl Workload for Live {
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
        &[
            ("live", include_str!("../../../../../scenarios/live.toml")),
            ("volumetric", include_str!("../../../../../scenarios/volumetric.toml")),
        ]
    }
}

impl airlane_judge::Workload for Live {
    fn claims(&self) -> &'static [(&'static str, &'static str)] {
        &[("octopus", include_str!("../../../../../claims/octopus.toml"))]
    }

    fn demo(&self) -> Option<Demo> {
        Some(Demo { scenario: "live", duration_s: None })
    }

    fn defaults(&self) -> String {
        identity::text(&SchemeOptions::default())
    }
}

/// Settings of a scheme for streams.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct SchemeOptions {
    transport: Transport,
    marks: Marks,
    single: Single,
    /// Maximum delay that Salsify's own estimator allows a packet.
    salsify_delay: Duration,
    salsify_codec: SalsifyCodec,
    #[serde(skip_serializing_if = "Ladder::is_encoded")]
    ladder: Ladder,
}

impl Default for SchemeOptions {
    fn default() -> Self {
        Self {
            transport: Transport::default(),
            marks: Marks::default(),
            single: Single::default(),
            salsify_delay: Duration::from_millis(100),
            salsify_codec: SalsifyCodec::default(),
            ladder: Ladder::default(),
        }
    }
}

/// Transport of streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
enum Transport {
    /// The media path: layers as messages, under the scheme's controller.
    #[default]
    Messages,
    /// WebRTC with its own congestion control, in one layer.
    WebRtc,
    /// Salsify with its own estimator, in one layer.
    Salsify,
    /// Salsify over Sprout, with the quantile of forecasts that was the best of a grid.
    SalsifySprout,
    /// Salsify over Sprout as published.
    SalsifySproutPaper,
    /// AWStream over a reliable stream under the scheme's controller, in one layer.
    AwStream,
    /// ViVo over a reliable stream under the scheme's controller: point clouds in whole cells.
    Vivo,
    /// The same, leaving frames out while many are on their way.
    VivoSkip,
}

/// Encoder of frames that Salsify sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
enum SalsifyCodec {
    /// Its authors', as it was measured: two candidates of each frame.
    #[default]
    Measured,
    /// One that nobody has: frames of any size, as one layer was encoded.
    Ideal,
}

/// Sizes of frames where a transport sends one layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
enum Single {
    /// As one layer was encoded, or is taken to be where only layers were.
    #[default]
    Encoded,
    /// The same, at a fixed quantiser with a key frame in each GoP.
    Keyed,
    /// As all layers together, and with the key frames of these.
    Layered,
}

/// Marks of messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
enum Marks {
    /// As in the paper.
    #[default]
    Paper,
    /// With the slack of the authors' code as well.
    Slack,
    /// With the thresholds of the authors' code for point clouds.
    Thresholds,
    /// No message drops others.
    NoDroppers,
    /// No message has a bitrate.
    NoBitrates,
    /// As in the paper; each frame in temporal layers drops all older ones.
    NoThresholds,
    /// As in the paper; all frames in temporal layers have one priority.
    NoPriorities,
    /// As in the paper; the sender's buffer decides about each packet on its own.
    NoHeads,
    /// With nothing: nobody drops a message on purpose.
    None,
}

/// Encodings in layers of quality that a sender of messages has to choose from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
enum Ladder {
    /// Encodings of the clip's table.
    #[default]
    Encoded,
    /// Encodings in steps of 5 %, as a live encoder has, interpolated from the table.
    Fine,
    /// As fine, for a sender that asks for 85 % of the path's rate, as `airlane send -` does.
    Live,
}

impl Ladder {
    /// True of what a scheme that says nothing has: it leaves no trace in identities.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
    fn is_encoded(&self) -> bool {
        *self == Self::Encoded
    }
}

impl Transport {
    /// True if the transport carries video of this kind.
    fn carries(self, video: Video) -> bool {
        match self {
            Self::Messages => true,
            Self::Vivo | Self::VivoSkip => video == Video::Volumetric,
            _ => video != Video::Volumetric,
        }
    }

    /// True if it is Salsify, with any estimator.
    fn is_salsify(self) -> bool {
        matches!(self, Self::Salsify | Self::SalsifySprout | Self::SalsifySproutPaper)
    }
}

impl SchemePart for SchemeOptions {
    fn note(&self) -> Vec<String> {
        let note = match self.marks {
            _ if self.transport == Transport::WebRtc => {
                "WebRTC sends one layer at the rate that its congestion control allows."
            }
            _ if self.transport == Transport::Salsify => {
                "Salsify makes each frame as large as the path is taken to carry, by gaps between packets."
            }
            _ if self.transport == Transport::AwStream => {
                "AWStream sends fewer frames when they wait to be sent, and more when they do not."
            }
            _ if self.transport == Transport::Vivo => {
                "ViVo's viewer asks for each frame as dense as the last ones came fast."
            }
            _ if self.transport == Transport::VivoSkip => {
                "ViVo's viewer asks for frames as dense as the last ones came fast, and for none while \
                 ten are on their way."
            }
            _ if self.transport != Transport::Messages => {
                "Salsify makes each frame as large as the path is taken to carry, by Sprout's forecast."
            }
            Marks::NoDroppers => "Each message says at what rate it makes way for others.",
            Marks::NoBitrates => "Each message says which newer ones it makes way for.",
            Marks::NoThresholds => "Each frame makes way for any newer one.",
            Marks::NoPriorities => "Each frame makes way for the next GoP.",
            Marks::NoHeads => {
                "Each packet says which newer messages it makes way for, also in the middle of its own."
            }
            Marks::Paper | Marks::Thresholds => {
                "Each message says which newer ones it makes way for, and at what rate."
            }
            Marks::Slack => {
                "Each message says which newer ones it makes way for, at what rate, and how long it \
                 may wait before."
            }
            Marks::None => "No message says that it may be dropped.",
        };
        let ideal = self.transport.is_salsify() && self.salsify_codec == SalsifyCodec::Ideal;
        let ideal =
            ideal.then_some("Its codec is ideal: frames of any size at libvpx's efficiency.");
        let fine = match self.ladder {
            Ladder::Encoded => None,
            Ladder::Fine => Some("Encodings are 5 % apart, interpolated."),
            Ladder::Live => {
                Some("Encodings are 5 % apart, interpolated, and ask for 85 % of the path's rate.")
            }
        };
        [note].into_iter().chain(ideal).chain(fine).map(str::to_owned).collect()
    }
}

/// The streams of a scenario.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Streams(Vec<Entry>);

/// A stream.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Entry {
    /// Name, of rows; distinct.
    name: String,
    /// Its controller. `None`: that of the scheme.
    control: Option<ControllerConfig>,
    /// Start time.
    start: Duration,
    /// Frames that are captured so soon after its start do not count.
    skip: Duration,
    /// Kind of video that it is sent as.
    video: Video,
    /// IP bytes that the sender's buffer holds.
    buffer: u64,
    /// The clip; drawn for each case if it is not given.
    clip: Option<String>,
    /// The number of the access that its client is on.
    at: Vec<usize>,
    /// Its round trip in the core, if it is not the network's.
    rtt: Option<Duration>,
    /// Number of streams of the same kind.
    count: usize,
}

impl Streams {
    /// Each stream with its name.
    fn each(&self) -> impl Iterator<Item = (&Entry, String)> {
        self.0.iter().flat_map(|entry| {
            (1..=entry.count).map(move |n| match entry.count {
                1 => (entry, entry.name.clone()),
                _ => (entry, format!("{}.{n}", entry.name)),
            })
        })
    }
}

impl Traffic for Streams {
    fn workload(&self) -> &'static str {
        NAME
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn names(&self) -> Vec<String> {
        self.0.iter().map(|stream| stream.name.clone()).collect()
    }

    fn places(&self) -> Vec<Place> {
        self.each().map(|(s, _)| Place { at: s.at.clone(), rtt: s.rtt, server: None }).collect()
    }

    fn adapts(&self) -> bool {
        true
    }

    fn offered_bps(&self) -> Option<f64> {
        self.is_empty().then_some(0.0)
    }

    fn metrics(&self) -> Vec<Metric> {
        vec![
            Metric::of_actor("sqi_ssim_db", Unit::DECIBELS, Sense::Higher),
            Metric::of_actor("sqi_ssim_grid_db", Unit::DECIBELS, Sense::Higher),
            Metric::of_actor("sqi_ssim", Unit::ONE, Sense::Higher),
            Metric::of_actor("age_p50_s", Unit::SECONDS, Sense::Lower),
            Metric::of_actor("age_p99_s", Unit::SECONDS, Sense::Lower),
            Metric::of_actor("age_over_time_mean_s", Unit::SECONDS, Sense::Lower),
            Metric::of_actor("age_over_time_p99_s", Unit::SECONDS, Sense::Lower),
            Metric::of_actor("latency_p50_s", Unit::SECONDS, Sense::Lower),
            Metric::of_actor("latency_p99_s", Unit::SECONDS, Sense::Lower),
            Metric::of_actor("shown_share", Unit::ONE, Sense::Higher),
            Metric::of_actor("shown_fps", Unit::PER_SECOND, Sense::Higher),
            Metric::of_actor("shown_bps", Unit::BITS_PER_SECOND, Sense::Higher),
            Metric::of_actor("sent_bps", Unit::BITS_PER_SECOND, Sense::Neutral),
            Metric::of_actor("came_bps", Unit::BITS_PER_SECOND, Sense::Neutral),
            Metric::of_actor("dropped_here_share", Unit::ONE, Sense::Neutral),
            Metric::of_actor("dropped_there_share", Unit::ONE, Sense::Neutral),
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

impl TrafficReport for Streams {
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

impl TrafficClaims for Streams {
    fn claim_run_metrics(&self) -> Vec<Metric> {
        if self.is_empty() { Vec::new() } else { claims::run_metrics() }
    }

    fn claim_figure(&self, metric: &str, run: &ClaimRun) -> Option<f64> {
        claims::figure(metric, run)
    }
}

/// Results of the streams of a run.
#[derive(Clone, Debug)]
struct Output(Vec<StreamOutput>);

/// A stream that ended.
#[derive(Clone, Debug)]
struct StreamOutput {
    name: String,
    /// Frames that are captured earlier do not count.
    counted_from: Time,
    /// Time at which it ended.
    end: Time,
    /// Every frame that was captured, in order.
    frames: Vec<records::FrameRecord>,
    failure: Option<String>,
    samples: Vec<FlowSample>,
}

impl Part for Output {
    fn flows(&self) -> Vec<Flow<'_>> {
        let flow = |stream: &'_ StreamOutput| stream.name.clone();
        self.0
            .iter()
            .map(|stream| Flow {
                title: flow(stream),
                note: "stream".to_owned(),
                greedy: false,
                samples: &stream.samples,
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
