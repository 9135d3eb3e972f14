//! The roles: a server that sends and a client that shows, per stream.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use airlane_apps::live::wire::Answer;
use airlane_apps::live::{
    self, Encoder, LiveError, Noted as LiveNoted, QualityEncoder, QualityMarks, ReceivedLayer,
    SentFrame, TemporalEncoder,
};
use airlane_apps::media_path::{MediaPath, MediaPaths, PathConfig};
use airlane_base::Time;
use airlane_media::layers::LayeredVideo;
use airlane_messages::{ReceiveLimits, SendOptions};
use airlane_octopus::{Capacity, Options};
use airlane_quic::Endpoint;
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use tokio::sync::oneshot;

use super::drawn::Drawn;
use super::{Entry, Marks, OfScheme, Output, StreamOutput, Streams, Video, records};
use crate::error::LabError;
use crate::scenario::ControllerConfig;
use crate::workload::{BoxFuture, Part, Running};
use crate::world::{Stage, Tap};

/// What sets a path up sends next to nothing.
const SETUP_CONTROL: ControllerConfig = ControllerConfig::Reno;
/// The slack of the authors' code, ms, by layer.
const AUTHORS_SLACK_MS: [u16; 3] = [300, 200, 100];

/// A stream that runs.
struct Started {
    name: String,
    video: Video,
    counted_from: Time,
    end: Time,
    clip: Arc<LayeredVideo>,
    noted: Arc<Mutex<NotedBoth>>,
    ended: oneshot::Receiver<Option<String>>,
    tap: Arc<Tap>,
}

/// What both ends have noted so far.
#[derive(Default)]
struct NotedBoth {
    sent: Vec<SentFrame>,
    dropped: BTreeMap<u32, Time>,
    received: Vec<ReceivedLayer>,
}

/// Streams that run.
struct Roles(Vec<Started>);

pub(super) fn start(cast: &Streams, stage: &mut Stage<'_>) -> Result<Box<dyn Running>, LabError> {
    let all = cast.each().enumerate();
    let roles: Result<Vec<_>, _> =
        all.map(|(number, (entry, name))| start_one(entry, name, number, stage)).collect();
    Ok(Box::new(Roles(roles?)))
}

fn start_one(
    entry: &Entry,
    name: String,
    number: usize,
    stage: &mut Stage<'_>,
) -> Result<Started, LabError> {
    let of_scheme = stage.scheme().parts.of::<OfScheme>().cloned().unwrap_or_default();
    let clip = Drawn::clip(stage.plan, stage.key.case, number);
    let pair = stage.attach()?;
    let tap = stage.tap(&pair);
    let control = entry.control.as_ref().unwrap_or(&stage.scheme().control);
    let payload_bytes = u16::try_from(stage.scenario().transport.payload_bytes).unwrap_or(u16::MAX);
    let packets = entry.buffer.div_ceil(u64::from(payload_bytes)) as usize + 1;
    let config = PathConfig {
        payload_bytes,
        controller: *control,
        send: SendOptions {
            buffer: Capacity { packets, ip_bytes: entry.buffer },
            dropping: Options { streams: 1, ..SendOptions::default().dropping },
        },
        receive: ReceiveLimits::default(),
    };
    let noted = Arc::new(Mutex::new(NotedBoth::default()));
    let (begin, end) = (Time::ZERO + entry.start, stage.end);
    let listen = stage.server(&pair, stage.transport(&SETUP_CONTROL))?;
    let sender = Sender {
        clip: clip.clone(),
        video: entry.video,
        marks: of_scheme.marks,
        config,
        end,
        noted: noted.clone(),
        tap: tap.clone(),
    };
    pair.server.spawn("live server", sender.serve(listen));
    let caller = stage.client(&pair, stage.client_transport())?;
    let (done, ended) = oneshot::channel();
    let (clock, to, note) = (pair.client.clone(), pair.address, noted.clone());
    pair.client.spawn("live client", async move {
        clock.sleep_until(begin).await;
        let watched = watch(&caller, to, &config, end, |layer| lock(&note).received.push(layer));
        let result = tokio::select! {
            biased;
            () = clock.sleep_until(end) => Ok(()),
            result = watched => result,
        };
        // The receiver is gone if the world was stopped.
        drop(done.send(result.err().map(|e| e.to_string())));
    });
    let counted_from = begin + entry.skip;
    let video = entry.video;
    Ok(Started { name, video, counted_from, end, clip, noted, ended, tap })
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The end that shows.
async fn watch(
    endpoint: &Endpoint,
    server: std::net::SocketAddr,
    config: &PathConfig,
    until: Time,
    note: impl FnMut(ReceivedLayer),
) -> Result<(), LiveError> {
    let paths = MediaPaths::new(endpoint, 1).ok_or(LiveError::Ended)?;
    let connection = endpoint
        .connect(server, "live.airlane")
        .await
        .map_err(airlane_apps::media_path::OpenError::from)?;
    let (path, answer) = paths.connect(&connection, config, &b""[..]).await?;
    let answer = Answer::decode(&answer)?;
    live::receive(&path, answer.structure, until, note).await
}

/// What the end that sends has.
struct Sender {
    clip: Arc<LayeredVideo>,
    video: Video,
    marks: Marks,
    config: PathConfig,
    end: Time,
    noted: Arc<Mutex<NotedBoth>>,
    tap: Arc<Tap>,
}

impl Sender {
    async fn serve(self, endpoint: Endpoint) {
        let Some(paths) = MediaPaths::new(&endpoint, 1) else { return };
        let Some(connection) = endpoint.accept().await else { return };
        let clock: RuntimeHandle = endpoint.runtime().clone();
        let Ok(asked) = paths.accept(&connection).await else { return };
        let frame_time = Duration::from_secs_f64(1.0 / self.clip.fps);
        let structure = match self.video {
            Video::Quality => self.clip.quality.as_ref().map(|table| live::Structure::Quality {
                gop: table.gop as u32,
                layers: table.layers as u8,
            }),
            Video::FrameRate => self
                .clip
                .temporal
                .as_ref()
                .map(|table| live::Structure::Temporal { gop: table.gop as u32 }),
        };
        // A clip without these layers was not drawn.
        let Some(structure) = structure else { return };
        let answer = Answer { structure, frame_time }.encode();
        let Ok(path) = asked.open(&self.config, answer).await else { return };
        let path = Arc::new(path);
        self.tap.connect_path(&path);
        let encoder = self.encoder(&path);
        let note = |noted| {
            let mut both = lock(&self.noted);
            match noted {
                LiveNoted::Sent(frame) => both.sent.push(frame),
                LiveNoted::Dropped { message, at } => {
                    both.dropped.insert(message, at);
                }
            }
        };
        // An error says that the client is gone, which tells why itself.
        drop(live::send(&path, encoder, frame_time, self.end, note).await);
        // What was sent last has the time to arrive.
        clock.sleep_until(self.end).await;
    }

    fn encoder(&self, path: &MediaPath) -> Box<dyn Encoder> {
        match self.video {
            Video::Quality => {
                let marks = match self.marks {
                    Marks::Paper => QualityMarks::PAPER,
                    Marks::Slack => {
                        QualityMarks { slack_ms: AUTHORS_SLACK_MS, ..QualityMarks::PAPER }
                    }
                    Marks::None => QualityMarks::NONE,
                };
                let table = self.clip.quality.clone().expect("the clip was drawn for it");
                let fps = self.clip.fps;
                Box::new(QualityEncoder::new(Arc::new(table), fps, marks, |n| path.ip_bytes(n)))
            }
            Video::FrameRate => {
                let table = self.clip.temporal.clone().expect("the clip was drawn for it");
                Box::new(TemporalEncoder::new(Arc::new(table), self.marks != Marks::None))
            }
        }
    }
}

impl Running for Roles {
    fn end(self: Box<Self>) -> BoxFuture<Box<dyn Part>> {
        Box::pin(async {
            let mut outputs = Vec::new();
            for stream in self.0 {
                // Its task cannot be gone: a panic would have ended the world.
                let Ok(failure) = stream.ended.await else { continue };
                let NotedBoth { sent, dropped, received } =
                    std::mem::take(&mut *lock(&stream.noted));
                outputs.push(StreamOutput {
                    frames: records::of(&sent, &dropped, &received, stream.video, &stream.clip),
                    name: stream.name,
                    counted_from: stream.counted_from,
                    end: stream.end,
                    failure,
                    samples: stream.tap.take(),
                });
            }
            Box::new(Output(outputs)) as Box<dyn Part>
        })
    }
}
