//! Conferences: participants who send media to a server, which forwards it to the others.

mod claims;
mod figures;
mod layer_rule;
mod over_time;
mod pooled;
mod psnr;
mod read;
mod report;
mod roles;
mod scheme;
mod webrtc;

use std::sync::Arc;
use std::time::Duration;

use airlane_base::{Rate, Time};
use airlane_call::wire::{ParticipantId, Track};
use airlane_call::{ChannelRecord, EncodedRecord, EncoderConfig, ReceivedRecord};
use serde::Serialize;

use airlane_judge::Demo;
use airlane_scenario::{ControllerConfig, Frame, Place, Reader, SchemePart};
use airlane_sim::LabError;
use airlane_sim::Results;
use airlane_sim::identity;
use airlane_sim::plan::Plan;
use airlane_sim::workload::{
    ByMetric, CachedMetrics, Caches, ClaimContext, ClaimRun, EndedRun, Headline, Metric, OverTime,
    Part, PartResult, ReportSection, Running, SceneRuns, Sense, Traffic, TrafficClaims,
    TrafficDescription, TrafficReport, Unit, Workload,
};
use airlane_sim::world::RunContext;
use scheme::SchemeOptions;

/// The name of the workload.
const NAME: &str = "call";

/// The workload.
#[derive(Debug)]
pub(crate) struct Call;

impl Workload for Call {
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
        Some(Arc::new(scheme::read(keys)?))
    }

    fn scenarios(&self) -> &'static [(&'static str, &'static str)] {
        &[("call", include_str!("../../../../../scenarios/call.toml"))]
    }
}

impl airlane_judge::Workload for Call {
    fn claims(&self) -> &'static [(&'static str, &'static str)] {
        &[("plum", include_str!("../../../../../claims/plum.toml"))]
    }

    fn demo(&self) -> Option<Demo> {
        Some(Demo { scenario: "call", duration_s: Some(12) })
    }

    fn defaults(&self) -> String {
        identity::text(&SchemeOptions::default())
    }
}

/// The participants of the conference of a scenario.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Participants(Vec<Entry>);

/// Participants of one kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Entry {
    /// Name, of rows; distinct.
    name: String,
    /// Number of the access that they are on.
    at: usize,
    /// Their round trip in the core, if it is not the network's.
    rtt: Option<Duration>,
    /// Number of participants.
    count: usize,
    /// Time at which they join.
    start: Duration,
    /// Time after the start that does not count.
    skip: Duration,
    /// Their cameras.
    camera: Camera,
    /// The screens that they can share.
    screen: Screen,
    /// Spatial and temporal layers of their videos, where the scheme has any.
    layers: (u8, u8),
    /// Layers of their videos, if these are point clouds.
    #[serde(skip_serializing_if = "Option::is_none")]
    cloud_layers: Option<u8>,
    /// Bitrate of their audio; `None`: they send none.
    audio: Option<Rate>,
    /// Mean talk spurt and silence; `None`: nobody is heard to speak.
    speech: Option<(Duration, Duration)>,
    /// Times at which tracks are muted and sent again.
    changes: Vec<Change>,
    /// Estimate of the uplink that they report relative to the true one, and whether they follow notices.
    reported_share: f64,
    follows_notices: bool,
}

/// Change of what participants send.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct Change {
    /// Time after they joined.
    at: Duration,
    track: TrackKind,
    is_sent: bool,
}

/// Track of a participant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
enum TrackKind {
    Audio,
    Camera,
    Screen,
}

/// Screen that a participant can share.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct Screen {
    frame_rate: f64,
    max_rate: Rate,
    change_interval: Duration,
}

/// Camera of a participant.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct Camera {
    frame_rate: f64,
    min_rate: Rate,
    max_rate: Rate,
    key_frame_interval: Option<Duration>,
    key_frame_ratio: f64,
    size_variation: f64,
}

impl Camera {
    fn encoder(self) -> EncoderConfig {
        EncoderConfig {
            frame_rate: self.frame_rate,
            min_rate: self.min_rate,
            max_rate: self.max_rate,
            key_frame_interval: self.key_frame_interval,
            key_frame_ratio: self.key_frame_ratio,
            size_variation: self.size_variation,
            ..EncoderConfig::default()
        }
    }
}

impl Screen {
    fn encoder(self) -> EncoderConfig {
        let screen = EncoderConfig::screen();
        EncoderConfig {
            frame_rate: self.frame_rate,
            max_rate: self.max_rate,
            min_rate: screen.min_rate.min(self.max_rate),
            change_interval: Some(self.change_interval),
            ..screen
        }
    }
}

impl Participants {
    /// Each participant with its name.
    fn each(&self) -> impl Iterator<Item = (&Entry, String)> {
        self.0.iter().flat_map(|entry| {
            (1..=entry.count).map(move |n| match entry.count {
                1 => (entry, entry.name.clone()),
                _ => (entry, format!("{}.{n}", entry.name)),
            })
        })
    }
}

impl Traffic for Participants {
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
        let place = |entry: &Entry| Place {
            at: vec![entry.at],
            rtt: entry.rtt,
            server: Some(NAME.to_owned()),
        };
        self.each().map(|(entry, _)| place(entry)).collect()
    }

    fn adapts(&self) -> bool {
        true
    }

    fn offered_bps(&self) -> Option<f64> {
        self.is_empty().then_some(0.0)
    }

    fn metrics(&self) -> Vec<Metric> {
        let mut metrics = vec![
            Metric::of_actor("received_bps", Unit::BITS_PER_SECOND, Sense::Higher),
            Metric::of_actor("best_source_p90_bps", Unit::BITS_PER_SECOND, Sense::Higher),
            Metric::of_actor("sent_bps", Unit::BITS_PER_SECOND, Sense::Neutral),
            Metric::of_actor("frame_delay_p50_s", Unit::SECONDS, Sense::Lower),
            Metric::of_actor("frame_delay_p95_s", Unit::SECONDS, Sense::Lower),
            Metric::of_actor("shown_fps", Unit::PER_SECOND, Sense::Higher),
            Metric::of_actor("freezes_per_minute", Unit::PER_MINUTE, Sense::Lower),
            Metric::of_actor("frozen_share", Unit::ONE, Sense::Lower),
            Metric::of_actor("held_up_share", Unit::ONE, Sense::Neutral),
            Metric::of_actor("held_down_share", Unit::ONE, Sense::Neutral),
            Metric::of_actor("capacity_bps", Unit::BITS_PER_SECOND, Sense::Neutral),
            Metric::of_actor("key_frames_per_minute", Unit::PER_MINUTE, Sense::Lower),
            Metric::of_actor("seen_delay_p50_s", Unit::SECONDS, Sense::Lower),
            Metric::of_actor("seen_delay_p95_s", Unit::SECONDS, Sense::Lower),
            Metric::of_actor("seen_fps", Unit::PER_SECOND, Sense::Higher),
            Metric::of_actor("seen_freezes_per_minute", Unit::PER_MINUTE, Sense::Lower),
        ];
        metrics.extend([
            Metric::of_run("received_mean_bps", Unit::BITS_PER_SECOND, Sense::Higher),
            Metric::of_run("received_min_bps", Unit::BITS_PER_SECOND, Sense::Higher),
            Metric::of_run("received_fairness", Unit::ONE, Sense::Higher),
        ]);
        metrics
    }

    fn start(&self, context: &mut RunContext<'_>) -> Result<Box<dyn Running>, LabError> {
        roles::start(self, context)
    }
}

impl TrafficReport for Participants {
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

impl TrafficClaims for Participants {
    fn claim_run_metrics(&self) -> Vec<Metric> {
        claims::run_metrics(self)
    }

    fn read_cached(&self, json: serde_json::Value) -> Option<CachedMetrics> {
        CachedMetrics::read::<claims::RunFigures>(NAME, json)
    }

    fn claim_figure(&self, metric: &str, run: &ClaimRun) -> Option<f64> {
        claims::figure(metric, run)
    }

    fn claim_metrics(&self, names: &[String]) -> Vec<Metric> {
        claims::metrics(self, names)
    }

    fn claim_samples(&self, compared: &SceneRuns<'_>) -> ByMetric {
        claims::of_draws(self, compared)
    }
}

/// Result of a conference.
#[derive(Clone, Debug)]
struct Output(Vec<ParticipantOutput>);

/// Result of a participant.
#[derive(Clone, Debug)]
struct ParticipantOutput {
    /// Its number in the call; `None`: it never took part.
    id: Option<ParticipantId>,
    name: String,
    /// Name of its entry.
    group: String,
    /// Start of the time that counts.
    counted_from: Time,
    /// End of the run.
    end: Time,
    failure: Option<String>,
    encoded: Vec<EncodedRecord>,
    received: Vec<ReceivedRecord>,
    shown: Vec<ReceivedRecord>,
    /// Times at which it was told that a track of another one is sent, or muted.
    sends: Vec<(Time, ParticipantId, Track, bool)>,
    /// Its channel, as the server saw it.
    channel: Vec<ChannelRecord>,
}

impl Part for Output {
    fn result(&self, _: &EndedRun<'_>) -> PartResult {
        figures::result(self)
    }

    fn keep(&self, run: &ClaimContext<'_>) -> Option<CachedMetrics> {
        claims::keep(self, run)
    }

    fn over_time(&self, _: &EndedRun<'_>) -> OverTime {
        over_time::of(self)
    }
}
