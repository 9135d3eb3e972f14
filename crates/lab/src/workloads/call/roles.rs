//! The roles: one server, and the participants of its conference.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use airlane_base::{IP_UDP_HEADER_BYTES, InputError, Rate, Time};
use airlane_call::wire::{ParticipantId, Track};
use airlane_call::{
    CapacitySource, ChannelRecord, ChannelView, Deviation, EncodedRecord, EncoderConfig,
    LayerTable, Media, MediaOf, ParticipantConfig, ParticipantEvent, QueueConfig, ReceivedRecord,
    ServerConfig, SpeechConfig, TrackChange, UplinkRoom, join, participant_transport, serve,
    server_transport,
};
use airlane_quic::Endpoint;
use airlane_runtime::RuntimeExt;
use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::scheme::{CapacityKind, VideoTransport};
use super::webrtc::Sessions;
use super::{Change, Entry, Output, ParticipantOutput, Participants, SchemeOptions, TrackKind};
use airlane_sim::LabError;
use airlane_sim::workload::{BoxFuture, Part, Running};
use airlane_sim::world::{OracleLink, Pair, RunContext};

/// Time for which a receiver of WebRTC waits for a frame before it asks for a key frame (libwebrtc,
/// `kMaxWaitForKeyFrame`).
const WEBRTC_KEY_FRAME_TIMEOUT: Duration = Duration::from_millis(200);

/// Record of a participant so far.
#[derive(Default)]
struct ParticipantRecord {
    id: Option<ParticipantId>,
    encoded: Vec<EncodedRecord>,
    received: Vec<ReceivedRecord>,
    shown: Vec<ReceivedRecord>,
    sends: Vec<(Time, ParticipantId, Track, bool)>,
}

impl ParticipantRecord {
    fn add(&mut self, event: ParticipantEvent) {
        match event {
            ParticipantEvent::Welcome(id) => self.id = Some(id),
            ParticipantEvent::Encoded(record) => self.encoded.push(record),
            ParticipantEvent::Received(record) => self.received.push(record),
            ParticipantEvent::Shown(record) => self.shown.push(record),
            ParticipantEvent::Sends { at, source, track, is_sent } => {
                self.sends.push((at, source, track, is_sent));
            }
        }
    }
}

/// A participant that takes part.
struct RunningParticipant {
    name: String,
    group: String,
    counted_from: Time,
    noted: Arc<Mutex<ParticipantRecord>>,
    ended: oneshot::Receiver<Option<String>>,
}

/// By participant, its channel as the server saw it.
type Channels = Arc<Mutex<BTreeMap<ParticipantId, Vec<ChannelRecord>>>>;

/// A conference that runs.
struct Roles {
    participants: Vec<RunningParticipant>,
    channels: Channels,
    end: Time,
}

pub(super) fn start(
    traffic: &Participants,
    context: &mut RunContext<'_>,
) -> Result<Box<dyn Running>, LabError> {
    let of_scheme = context.scheme().parts.of::<SchemeOptions>().cloned().unwrap_or_default();
    let channels = Channels::default();
    let mut participants = Vec::new();
    let server_ends: Arc<Mutex<BTreeMap<String, Media>>> = Arc::default();
    for (number, (entry, name)) in traffic.each().enumerate() {
        let pair = context.attach()?;
        let media = match of_scheme.transport {
            VideoTransport::Quic => None,
            VideoTransport::WebRtc => {
                let sessions = sessions(traffic, entry, &name, number);
                let (media, server_end) = sessions.start(&pair, context)?;
                server_ends.lock().insert(name.clone(), server_end);
                Some(media)
            }
        };
        if number == 0 {
            let capacity_source = match of_scheme.capacity {
                CapacityKind::Delivered | CapacityKind::Peak | CapacityKind::Estimates => {
                    CapacitySource::Found
                }
                CapacityKind::Air => CapacitySource::Reported,
                CapacityKind::Oracle => oracle(traffic, of_scheme.interval, context)?,
            };
            let server_ends = server_ends.clone();
            let media_of = move |name: &str| server_ends.lock().remove(name);
            let media = media.is_some().then(|| MediaOf(Arc::new(media_of)));
            let config = ServerConfig { capacity_source, media, ..of_scheme.server() };
            serve_all(&pair, config, &of_scheme, &channels, context)?;
        }
        participants.push(start_one(entry, name, media, &of_scheme, &pair, context)?);
    }
    Ok(Box::new(Roles { participants, channels, end: context.end }))
}

/// Sessions of WebRTC for a participant: up goes what it sends at most, down what all others do.
fn sessions<'a>(
    traffic: &Participants,
    entry: &Entry,
    name: &'a str,
    number: usize,
) -> Sessions<'a> {
    let max_up = entry.max_video();
    let all = traffic.each().map(|(entry, _)| entry.max_video().bps()).sum::<u64>();
    Sessions {
        name,
        number,
        begin: Time::ZERO + entry.start,
        max_up,
        max_down: Rate::from_bps(all - max_up.bps()),
    }
}

/// CapacityKind as an oracle knows them: what the half-duplex link of each participant will carry in the next
/// `interval`.
///
/// # Errors
/// A half-duplex access with a link for each host: the oracle knows that of the first alone.
fn oracle(
    traffic: &Participants,
    interval: Duration,
    context: &RunContext<'_>,
) -> Result<CapacitySource, LabError> {
    let network = &context.scenario().network;
    let mut links = BTreeMap::new();
    for (entry, name) in traffic.each() {
        let access = &network.accesses[entry.at];
        if access.is_per_host() {
            let found = format!("\"{}\" is a link for each of its hosts", access.name);
            let expected = "expected one link, as an oracle knows no other (call_capacity)";
            return Err(InputError::new(found, expected).into());
        }
        if access.is_half_duplex() {
            let rtt = network.rtt_at(entry.at);
            links.insert(name, OracleLink::of(context.plan, context.key, entry.at, rtt)?);
        }
    }
    Ok(CapacitySource::Known(Arc::new(move |name, now| {
        let link: &OracleLink = links.get(name)?;
        let bytes = link.bytes_until(now + interval) - link.bytes_until(now);
        Some(Rate::from_bps_f64(8.0 * bytes / interval.as_secs_f64()))
    })))
}

/// Starts the server, which all participants share.
fn serve_all(
    pair: &Pair,
    server: ServerConfig,
    of_scheme: &SchemeOptions,
    channels: &Channels,
    context: &RunContext<'_>,
) -> Result<(), LabError> {
    let rtt = context.scenario().network.rtt;
    let config = of_scheme.acks.of(context.transport(&context.scheme().control), rtt);
    let config = of_scheme.transport.of(config);
    let endpoint = context.server(pair, server_transport(config))?;
    let channels = channels.clone();
    let note = move |record: ChannelRecord| {
        channels.lock().entry(record.participant).or_default().push(record);
    };
    pair.server.spawn("call server", serve(endpoint, server, Arc::new(note)));
    Ok(())
}

fn start_one(
    entry: &Entry,
    name: String,
    media: Option<Media>,
    of_scheme: &SchemeOptions,
    pair: &Pair,
    context: &mut RunContext<'_>,
) -> Result<RunningParticipant, LabError> {
    let rtt = context.scenario().network.rtt_at(entry.at);
    let config = of_scheme.acks.of(context.transport(&context.scheme().control), rtt);
    let config = of_scheme.transport.of(config);
    let endpoint = context.client(pair, participant_transport(config))?;
    let begin = Time::ZERO + entry.start;
    let base = ParticipantConfig::new(name.clone());
    let room = match of_scheme.uplink_limit_bytes {
        Some(bytes) => Some(UplinkRoom::new(context.uplink_room(pair, bytes)?)),
        None => None,
    };
    let config = ParticipantConfig {
        camera: Some(entry.encoder()),
        key_frame_timeout: match media {
            None => base.key_frame_timeout,
            Some(_) => WEBRTC_KEY_FRAME_TIMEOUT,
        },
        media,
        screen: entry.shares_screen().then(|| entry.screen.encoder()),
        layers: if of_scheme.has_layers() { entry.table() } else { LayerTable::default() },
        audio: entry.audio,
        speech: entry
            .speech
            .map(|(mean_spurt, mean_silence)| SpeechConfig { mean_spurt, mean_silence }),
        changes: entry.changes.iter().map(|change| change.track()).collect(),
        channel: match of_scheme.capacity {
            CapacityKind::Air => channel_view(pair, context),
            _ => None,
        },
        deviation: Deviation {
            reported_share: entry.reported_share,
            follows_notices: entry.follows_notices,
        },
        queue: QueueConfig { dropping: of_scheme.uplink_queue.dropping(), ..base.queue },
        room,
        restores: of_scheme.restores,
        ..base
    };
    let noted: Arc<Mutex<ParticipantRecord>> = Arc::default();
    let (done, ended) = oneshot::channel();
    let (events, clock) = (noted.clone(), pair.client.clone());
    let (server, end) = (pair.address, context.end);
    pair.client.spawn("participant", async move {
        clock.sleep_until(begin).await;
        let failure = take_part(&endpoint, server, config, end, events).await;
        // The receiver is gone if the world was stopped.
        drop(done.send(failure));
    });
    Ok(RunningParticipant {
        name,
        group: entry.name.clone(),
        counted_from: begin + entry.skip,
        noted,
        ended,
    })
}

/// Capacity of a participant's channel from the view of the air that agents of Cupid have beside it: the rates that
/// they find for what it receives and for what it sends, over the utilisation that they aim at, with IP and UDP
/// headers.
fn channel_view(pair: &Pair, context: &RunContext<'_>) -> Option<ChannelView> {
    let reports = Mutex::new((pair.air_reports()?, [None; 2]));
    let payload = context.scenario().transport.payload_bytes as f64;
    let factor = (payload + f64::from(IP_UDP_HEADER_BYTES)) / payload / context.scheme().cupid.eta;
    Some(ChannelView(Arc::new(move |now| {
        let (next, last) = &mut *reports.lock();
        for (next, last) in next.iter_mut().zip(last.iter_mut()) {
            *last = next(now).map(|report| report.rate).or(*last);
        }
        let [down, up] = *last;
        Some(Rate::from_bps(down?.bps().saturating_add(up?.bps())).scale(factor))
    })))
}

async fn take_part(
    endpoint: &Endpoint,
    server: SocketAddr,
    config: ParticipantConfig,
    end: Time,
    noted: Arc<Mutex<ParticipantRecord>>,
) -> Option<String> {
    let note = Arc::new(move |event| noted.lock().add(event));
    join(endpoint, server, config, end, note).await.err().map(|e| e.to_string())
}

impl Entry {
    fn shares_screen(&self) -> bool {
        self.changes.iter().any(|change| change.track == TrackKind::Screen)
    }

    /// Highest bitrate of its videos together: a camera gets what a screen leaves.
    fn max_video(&self) -> Rate {
        match self.shares_screen() {
            true => self.camera.max_rate.max(self.screen.max_rate),
            false => self.camera.max_rate,
        }
    }

    /// The encoder of its camera. Each frame of a point cloud is a key frame, of the size of any other.
    fn encoder(&self) -> EncoderConfig {
        let camera = self.camera.encoder();
        match self.cloud_layers {
            None => camera,
            Some(_) => EncoderConfig {
                key_frame_interval: Some(Duration::ZERO),
                key_frame_ratio: 1.0,
                ..camera
            },
        }
    }

    /// Layers of its videos: up to each spatial one the bitrates of 320x180, 640x360 and 1280x720 that WebRTC uses
    /// for simulcast, as shares of their sum.
    fn table(&self) -> LayerTable {
        if let Some(layers) = self.cloud_layers {
            let shares: Vec<f64> =
                (1..=layers).map(|up_to| f64::from(up_to) / f64::from(layers)).collect();
            return LayerTable::new(&shares, 1).unwrap_or_default();
        }
        let (spatial, temporal) = self.layers;
        let shares: &[f64] = match spatial {
            1 => &[1.0],
            2 => &[0.26, 1.0],
            _ => &[0.06, 0.26, 1.0],
        };
        LayerTable::new(shares, temporal).unwrap_or_default()
    }
}

impl Change {
    fn track(&self) -> TrackChange {
        let track = match self.track {
            TrackKind::Audio => Track::Audio,
            TrackKind::Camera => Track::Camera,
            TrackKind::Screen => Track::Screen,
        };
        TrackChange { at: self.at, track, is_sent: self.is_sent }
    }
}

impl Running for Roles {
    fn end(self: Box<Self>) -> BoxFuture<Box<dyn Part>> {
        Box::pin(async move {
            let mut outputs = Vec::new();
            for started in self.participants {
                // Its task cannot be gone: a panic would have ended the world.
                let Ok(failure) = started.ended.await else { continue };
                let noted = std::mem::take(&mut *started.noted.lock());
                let channel = noted.id.and_then(|id| self.channels.lock().remove(&id));
                outputs.push(ParticipantOutput {
                    id: noted.id,
                    name: started.name,
                    group: started.group,
                    counted_from: started.counted_from,
                    end: self.end,
                    failure,
                    encoded: noted.encoded,
                    received: noted.received,
                    shown: noted.shown,
                    sends: noted.sends,
                    channel: channel.unwrap_or_default(),
                });
            }
            Box::new(Output(outputs)) as Box<dyn Part>
        })
    }
}
