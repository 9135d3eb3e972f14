//! Settings of a scheme for conferences.

use std::time::Duration;

use airlane_base::Rate;
use airlane_call::{
    CoordinationConfig, DEFAULT_OPTIMISER_TIMEOUT, Dropping, LastNConfig, Optimiser, ServerConfig,
    Thinning, optimal_targets,
};
use airlane_plum::{
    CapacityMethod, ChangeDetector, ContentBound, CoordinatorConfig, DeliveredConfig,
    OptimiserConfig, Qoe, Target, VideoBounds, Views, fixed_rules, fixed_share,
};
use airlane_quic::{AckPolicy, Timers, TransportConfig};
use serde::Serialize;

use super::layer_rule::LayerRule;
use airlane_scenario::{DURATION, RATE, Reader, SchemePart, range, words};

/// Coordination of the bitrates of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) enum Coordination {
    /// Each direction's controller.
    Off,
    /// Plum.
    Plum,
    /// The rules of the authors' public code, in the place of the optimiser.
    FixedRules,
    /// A fixed division of the smallest channel, in the place of the optimiser.
    FixedShare,
}

/// QoE function of a participant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) enum QoeKind {
    Linear,
    Logarithmic,
    ConcaveSquare,
    ConvexSquare,
}

/// Source of the capacity of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) enum CapacityKind {
    Delivered,
    Peak,
    Estimates,
    Air,
    Oracle,
}

/// Policy for acknowledgements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) enum Acks {
    /// As the scenario says.
    Scenario,
    /// TACK (Li et al., SIGCOMM 2020): at most four in a round trip, and one for at most 16 packets.
    Tack,
}

/// Transport of the video of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) enum VideoTransport {
    /// The connection of each participant, under the scheme's controller.
    #[default]
    Quic,
    /// WebRTC beside it, under GCC.
    WebRtc,
}

impl VideoTransport {
    fn is_quic(&self) -> bool {
        *self == Self::Quic
    }
}

/// Rules by which a participant's own queue drops frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) enum UplinkQueue {
    /// Those that waited too long.
    #[default]
    Age,
    /// Also those that newer ones make worthless.
    Octopus,
}

impl UplinkQueue {
    fn is_age(&self) -> bool {
        *self == Self::Age
    }

    pub(super) fn dropping(self) -> Dropping {
        match self {
            Self::Age => Dropping::Age,
            Self::Octopus => Dropping::Octopus,
        }
    }
}

words! {
    UplinkQueue: "age" => Self::Age, "octopus" => Self::Octopus;
    VideoTransport: "quic" => Self::Quic, "webrtc" => Self::WebRtc;
    ThinningKind: "transcode" => Self::Transcode, "layers" => Self::Layers;
    Acks: "scenario" => Self::Scenario, "tack" => Self::Tack;
    Coordination: "off" => Self::Off, "plum" => Self::Plum,
        "fixed-rules" => Self::FixedRules, "fixed-share" => Self::FixedShare;
    QoeKind: "lin" => Self::Linear, "log" => Self::Logarithmic, "sqrc" => Self::ConcaveSquare,
        "sqrcv" => Self::ConvexSquare;
    CapacityKind: "delivered" => Self::Delivered, "peak" => Self::Peak,
        "estimates" => Self::Estimates, "air" => Self::Air, "oracle" => Self::Oracle;
}

/// Way in which the server makes videos fit a downlink.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) enum ThinningKind {
    Transcode,
    Layers,
}

/// Settings of a scheme for conferences.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct SchemeOptions {
    pub(super) coordination: Coordination,
    /// Share of the smallest channel that its uplink gets where it is fixed; `None`: half.
    #[serde(skip_serializing_if = "Option::is_none")]
    up_share: Option<f64>,
    qoe: QoeKind,
    rho: f64,
    max_rate: Rate,
    views: Option<f64>,
    server: Option<Rate>,
    pub(super) capacity: CapacityKind,
    pub(super) interval: Duration,
    threshold: f64,
    immediate_drop: Option<f64>,
    pub(super) restores: bool,
    min_frame_bytes: u32,
    last_n: Option<u64>,
    pub(super) acks: Acks,
    thinning: ThinningKind,
    allocator: LayerRule,
    speakers_first: bool,
    #[serde(skip_serializing_if = "VideoTransport::is_quic")]
    pub(super) transport: VideoTransport,
    #[serde(skip_serializing_if = "UplinkQueue::is_age")]
    pub(super) uplink_queue: UplinkQueue,
    /// IP bytes in a participant's uplink from which on its frames of video wait; `None`: they do not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) uplink_limit_bytes: Option<u64>,
}

impl Default for SchemeOptions {
    fn default() -> Self {
        let coordinator = CoordinatorConfig::default();
        Self {
            coordination: Coordination::Off,
            up_share: None,
            qoe: QoeKind::Linear,
            rho: 0.5,
            max_rate: Rate::from_bps(30_000_000),
            views: None,
            server: None,
            capacity: CapacityKind::Delivered,
            interval: coordinator.interval,
            threshold: coordinator.detector.threshold,
            immediate_drop: None,
            restores: true,
            min_frame_bytes: ServerConfig::default().min_frame_bytes,
            last_n: None,
            acks: Acks::Scenario,
            thinning: ThinningKind::Transcode,
            allocator: LayerRule::MaxMin,
            speakers_first: false,
            transport: VideoTransport::Quic,
            uplink_queue: UplinkQueue::Age,
            uplink_limit_bytes: None,
        }
    }
}

impl SchemePart for SchemeOptions {
    fn note(&self) -> Vec<String> {
        let note = match self.coordination {
            Coordination::Off => "In calls each direction follows its own congestion controller.",
            Coordination::FixedRules => {
                "In calls fixed rules divide the channel that each uplink and downlink share."
            }
            Coordination::FixedShare => {
                "In calls the smallest channel is divided between uplink and downlink by a fixed share."
            }
            Coordination::Plum => {
                "In calls one optimiser decides what each uplink and downlink may take of the \
                 channel that they share."
            }
        };
        let mut notes = vec![note.to_owned()];
        if let Some(number) = self.last_n {
            notes.push(format!("Only the last {number} speakers of a call are seen."));
        }
        if self.thinning == ThinningKind::Layers {
            notes.push(format!(
                "In calls the server forwards layers of each video, {}.",
                self.allocator.manner()
            ));
        }
        if self.speakers_first {
            notes.push("In calls the video of who speaks comes first.".to_owned());
        }
        if self.transport == VideoTransport::WebRtc {
            notes.push("Video of calls goes over WebRTC, whose controller is GCC.".to_owned());
        }
        if self.uplink_limit_bytes.is_some() {
            notes.push("In calls frames wait at their source while its uplink is full.".to_owned());
        }
        if self.uplink_queue == UplinkQueue::Octopus {
            notes.push("In calls sources drop frames by Octopus's rules.".to_owned());
        }
        if self.acks == Acks::Tack {
            notes.push("Calls acknowledge at most four times in a round trip.".to_owned());
        }
        notes
    }
}

/// Settings in a scheme; `None` if it has none.
pub(super) fn read(r: &mut Reader<'_>) -> Option<SchemeOptions> {
    let default = SchemeOptions::default();
    let doc = "Who decides the bitrates of a call: each direction's controller, Plum, the fixed rules of its authors' \
               public code, or a fixed share of the smallest channel.";
    let coordination = r.word_or_none("call_coordination", "\"off\"", doc);
    let doc = "Share of the smallest channel that its uplink gets, with call_coordination = \"fixed-share\".";
    let up_share = r.number_or_none("call_up_share", range(0.0, 1.0, "0.8"), "0.5", doc);
    if up_share.is_some() && coordination != Some(Coordination::FixedShare) {
        let found = "found no call_coordination = \"fixed-share\"";
        r.fail("call_up_share", found, "expected it: other coordination chooses shares itself");
    }
    let doc = "How a participant's quality of experience grows with its downlink: linear, logarithmic, or a concave or \
               convex square (Plum, Table I).";
    let qoe = r.word_or_none("call_qoe", "\"lin\"", doc);
    let doc = "Weight of fairness against mean quality.";
    let rho = r.number_or_none("call_rho", range(0.0, 1.0, "0.5"), "0.5", doc);
    let doc = "Highest bitrate that a participant's whole downlink is of use with (M).";
    let max_rate = r.rate_or_none("call_max_bps", RATE, "30e6", doc);
    let doc = "How many sources share that bitrate (V): one uplink is of use up to M/V.";
    let views = r.number_or_none("call_views", range(1.0, 1000.0, "3"), "all others", doc);
    let doc = "Limit of the sum of all downlinks that the optimiser knows of.";
    let server = r.rate_or_none("call_server_bps", RATE, "none", doc);
    let doc = "Where the capacity of a channel comes from: bytes delivered while packets queue, the highest rate \
               delivered of late (as `airlane call serve` finds it), the sum of both controllers' estimates, what each \
               participant's radio finds that the air of its WiFi carries (Cupid's view), or an oracle that knows what \
               half-duplex links will carry in the next interval.";
    let capacity = r.word_or_none("call_capacity", "\"delivered\"", doc);
    let doc = "Interval at which changes of capacity are looked for.";
    let interval = r.time_or_none("call_interval_s", DURATION, "5", doc);
    if interval.is_some_and(|interval| interval.is_zero()) {
        r.fail("call_interval_s", "found 0", "expected a time above 0, such as 5");
    }
    let doc = "Share by which a capacity must change before bitrates are optimised anew.";
    let threshold = r.number_or_none("call_threshold", range(0.0, 1.0, "0.2"), "0.2", doc);
    let doc =
        "Share of its capacity whose loss is answered at once, without waiting for the interval.";
    let drop = r.number_or_none("call_immediate_drop", range(0.0, 1.0, "0.5"), "none", doc);
    let doc = "Whether a direction that is held no more goes on at the bitrate from before.";
    let restores = r.flag_or_none("call_restores", "true", doc);
    let doc = "Bytes of each frame of video that are forwarded however small its share is.";
    let min_frame = r.count_or_none("call_min_frame_bytes", (0, 1 << 20), "1000", doc);
    let doc = "How many speakers of a call are seen, the last ones; others begin to speak with a probability of 1/3 each \
               second (LastN).";
    let last_n = r.count_or_none("call_last_n", (1, 1000), "all", doc);
    let doc = "When calls acknowledge: as the scenario says, or at most four times in a round trip and once for at most \
               16 packets (TACK).";
    let acks = r.word_or_none("call_ack", "\"scenario\"", doc);
    let doc = "How the server of a call makes videos fit a receiver's downlink: by a transcoder that cuts each frame to \
               its share, or by forwarding some of each video's layers.";
    let thinning = r.word_or_none("call_thinning", "\"transcode\"", doc);
    let doc = "How layers are given to the videos of a receiver: about the same bitrate to each (max-min), or in the \
               manner of LiveKit's or mediasoup's server. With call_thinning = \"layers\".";
    let allocator = r.choice_or_none("call_allocator", &LayerRule::choices(r), "\"max-min\"", doc);
    let doc = "Whether the video of the participant who speaks gets what it needs of a downlink before those of others.";
    let speakers_first = r.flag_or_none("call_speakers_first", "false", doc);
    let doc = "What carries the video of a call: each participant's connection, under the scheme's controller, or WebRTC \
               beside it, under GCC, while audio and messages stay on the connection.";
    let transport = r.word_or_none("call_transport", "\"quic\"", doc);
    let doc = "Rules by which a participant drops frames of video that wait for its uplink: those that waited 500 ms, with \
               all that need them, or also those of the same or a higher temporal layer than a newer one, as a queue of \
               Octopus does.";
    let uplink_queue = r.word_or_none("call_uplink_queue", "\"age\"", doc);
    let doc = "IP bytes in the queue of its uplink from which on a participant's frames of video wait in its own, as where a \
               modem takes no more from its host (back-pressure). With call_transport = \"quic\".";
    let uplink_limit = r.count_or_none("call_uplink_limit_bytes", (1_500, 1 << 30), "none", doc);
    if uplink_limit.is_some() && transport == Some(VideoTransport::WebRtc) {
        let found = "found call_transport = \"webrtc\"";
        r.fail("call_uplink_limit_bytes", found, "expected none: WebRTC's pacer holds frames back");
    }
    if acks.is_some() && transport == Some(VideoTransport::WebRtc) {
        let found = "found call_transport = \"webrtc\"";
        r.fail(
            "call_ack",
            found,
            "expected none: then every packet of audio is acknowledged at once",
        );
    }
    if allocator.is_some() && thinning != Some(ThinningKind::Layers) {
        let found = "found no call_thinning = \"layers\"";
        r.fail("call_allocator", found, "expected it: only layers are allocated");
    }
    let is_silent = coordination.is_none() && qoe.is_none() && rho.is_none() && max_rate.is_none();
    let is_silent = is_silent && views.is_none() && server.is_none() && capacity.is_none();
    let is_silent = is_silent && interval.is_none() && threshold.is_none() && drop.is_none();
    let is_silent = is_silent && last_n.is_none() && acks.is_none();
    let is_silent = is_silent && thinning.is_none() && allocator.is_none();
    let is_silent = is_silent && speakers_first.is_none() && transport.is_none();
    let is_silent = is_silent && uplink_queue.is_none() && uplink_limit.is_none();
    if is_silent && restores.is_none() && min_frame.is_none() {
        return None;
    }
    Some(SchemeOptions {
        coordination: coordination.unwrap_or(default.coordination),
        up_share,
        qoe: qoe.unwrap_or(default.qoe),
        rho: rho.unwrap_or(default.rho),
        max_rate: max_rate.unwrap_or(default.max_rate),
        views,
        server,
        capacity: capacity.unwrap_or(default.capacity),
        interval: interval.unwrap_or(default.interval),
        threshold: threshold.unwrap_or(default.threshold),
        immediate_drop: drop,
        restores: restores.unwrap_or(default.restores),
        min_frame_bytes: min_frame.map_or(default.min_frame_bytes, |bytes| bytes as u32),
        last_n,
        acks: acks.unwrap_or(default.acks),
        thinning: thinning.unwrap_or(default.thinning),
        allocator: allocator.unwrap_or(default.allocator),
        speakers_first: speakers_first.unwrap_or(default.speakers_first),
        transport: transport.unwrap_or(default.transport),
        uplink_queue: uplink_queue.unwrap_or(default.uplink_queue),
        uplink_limit_bytes: uplink_limit,
    })
}

impl SchemeOptions {
    /// True if videos have layers.
    pub(super) fn has_layers(&self) -> bool {
        self.thinning == ThinningKind::Layers
    }

    /// Settings of the conference server.
    pub(super) fn server(&self) -> ServerConfig {
        let capacity = match self.capacity {
            CapacityKind::Delivered | CapacityKind::Air | CapacityKind::Oracle => {
                CapacityMethod::Delivered(DeliveredConfig {
                    min_queue_age: match self.transport {
                        VideoTransport::Quic => Duration::ZERO,
                        VideoTransport::WebRtc => FEEDBACK_DELAY,
                    },
                    ..DeliveredConfig::default()
                })
            }
            // What both directions of a channel are of use with, as the daemon has it.
            CapacityKind::Peak => CapacityMethod::Peak {
                ample: Rate::from_bps(self.max_rate.bps().saturating_mul(2)),
            },
            CapacityKind::Estimates => CapacityMethod::Estimates,
        };
        let coordination = || CoordinationConfig {
            coordinator: CoordinatorConfig {
                interval: self.interval,
                detector: ChangeDetector { threshold: self.threshold },
                immediate_drop: self.immediate_drop,
                ..CoordinatorConfig::default()
            },
            optimiser: match self.coordination {
                Coordination::FixedRules => {
                    by_division(|capacities| fixed_rules(capacities, VideoBounds::AUTHORS))
                }
                Coordination::FixedShare => {
                    let up_share = self.up_share.unwrap_or(0.5);
                    by_division(move |capacities| fixed_share(capacities, up_share))
                }
                Coordination::Plum | Coordination::Off => {
                    let config = self.optimiser_config();
                    Optimiser::immediate(move |rates| optimal_targets(&config, rates))
                }
            },
            optimiser_timeout: DEFAULT_OPTIMISER_TIMEOUT,
            restores: self.restores,
        };
        let is_coordinated = self.coordination != Coordination::Off;
        ServerConfig {
            capacity,
            min_frame_bytes: self.min_frame_bytes,
            thinning: match self.thinning {
                ThinningKind::Transcode => Thinning::Transcode,
                ThinningKind::Layers => Thinning::Layers(self.allocator.kind()),
            },
            speakers_first: self.speakers_first,
            last_n: self.last_n.map(|number| LastNConfig::new(number as usize)),
            coordination: is_coordinated.then(coordination),
            ..ServerConfig::default()
        }
    }

    fn optimiser_config(&self) -> OptimiserConfig {
        OptimiserConfig {
            max_rate: kbps(&self.max_rate),
            views: self.views.map_or(Views::Others, Views::Fixed),
            rho: self.rho,
            qoe: match self.qoe {
                QoeKind::Linear => Qoe::Linear,
                QoeKind::Logarithmic => Qoe::Logarithmic,
                QoeKind::ConcaveSquare => Qoe::ConcaveSquare { alpha: None },
                QoeKind::ConvexSquare => Qoe::ConvexSquare { alpha: None },
            },
            content: ContentBound::Written,
            server: self.server.as_ref().map(kbps),
            floors: None,
        }
    }
}

impl VideoTransport {
    /// `config` of a connection beside which it may carry the video. By round trips on it a queue is seen: so it is
    /// never silent for long, and every packet is acknowledged at once, so that no wait is in them.
    pub(super) fn of(self, config: TransportConfig) -> TransportConfig {
        match self {
            Self::Quic => config,
            Self::WebRtc => TransportConfig {
                acks: AckPolicy::Decimated { packets: 1, max_delay: Duration::from_millis(1) },
                timers: Timers { keep_alive: Some(PROBE_INTERVAL), ..config.timers },
                ..config
            },
        }
    }
}

/// Time that passes until feedback tells of a delivery: one interval of TWCC, and a way back through the queue.
const FEEDBACK_DELAY: Duration = Duration::from_millis(100);

/// Silence after which a connection beside WebRTC is probed: beyond the pauses between packets of audio.
const PROBE_INTERVAL: Duration = Duration::from_millis(40);

impl Acks {
    /// `config` with acknowledgements as they are sent where the round trip takes `rtt` at least.
    pub(super) fn of(self, config: TransportConfig, rtt: Duration) -> TransportConfig {
        let acks = match self {
            Self::Scenario => config.acks,
            Self::Tack => AckPolicy::Decimated {
                packets: MAX_TACK_PACKETS,
                max_delay: (rtt / TACKS_PER_ROUND_TRIP).max(Duration::from_millis(1)),
            },
        };
        TransportConfig { acks, ..config }
    }
}

/// Packets for which TACK sends one acknowledgement (Plum, section IV-A).
const MAX_TACK_PACKETS: u32 = 16;
/// Acknowledgements of TACK in a round trip (its beta).
const TACKS_PER_ROUND_TRIP: u32 = 4;

fn kbps(rate: &Rate) -> f64 {
    rate.as_f64() / 1000.0
}

fn target(up: f64, down: f64) -> Target {
    let rate = |kbps: f64| Rate::from_bps_f64(kbps * 1000.0);
    Target { up: rate(up), down: rate(down) }
}

/// A division of capacities in kbit/s, up and down, in the place of an optimiser.
fn by_division(divide: impl Fn(&[f64]) -> Vec<(f64, f64)> + Send + Sync + 'static) -> Optimiser {
    Optimiser::immediate(move |rates: &[Rate]| {
        let capacities: Vec<f64> = rates.iter().map(kbps).collect();
        Some(divide(&capacities).into_iter().map(|(up, down)| target(up, down)).collect())
    })
}
