//! Streams over the media path.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use airlane_base::Time;
use airlane_live::media_path::{MediaPath, MediaPaths, OpenError, PathConfig};
use airlane_live::wire::{Answer, Coding};
use airlane_live::{
    self, AUTHORS_THRESHOLDS, ClipFrames, Encoder, LayerMarks, LiveError, QualityEncoder,
    ReceivedLayer, SenderEvent, SentFrame, Source, TemporalFields, USED_SHARE,
};
use airlane_media::layers::LayeredVideo;
use airlane_messages::{ReceiveLimits, SendOptions};
use airlane_octopus::{Capacity, Options};
use airlane_quic::Endpoint;
use airlane_runtime::RuntimeExt;
use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::super::records::{self, FrameRecord};
use super::super::{Ladder, Marks, Video};
use super::{StreamEnd, StreamRecords, StreamSetup};
use airlane_scenario::ControllerConfig;
use airlane_sim::LabError;
use airlane_sim::world::{FlowSample, RunContext, Tap};

/// Controller of the connection that sets a path up, which sends next to nothing.
const SETUP_CONTROL: ControllerConfig = ControllerConfig::Reno;
/// The slack of the authors' code, ms: by layer of quality, and of layers of cells.
const AUTHORS_SLACK_MS: [u16; 3] = [300, 200, 100];
const AUTHORS_CELL_SLACK_MS: u16 = 50;

/// Records of both ends so far.
#[derive(Default)]
struct EndRecords {
    sent: Vec<SentFrame>,
    dropped: BTreeMap<u32, Time>,
    received: Vec<ReceivedLayer>,
}

/// Stream whose records are read at the end of the run.
struct RecordedStream {
    both: Arc<Mutex<EndRecords>>,
    video: Video,
    clip: Arc<LayeredVideo>,
    tap: Arc<Tap>,
}

impl StreamRecords for RecordedStream {
    fn frames(&self) -> Vec<FrameRecord> {
        let EndRecords { sent, dropped, received } = &*self.both.lock();
        records::of_layers(sent, dropped, received, self.video, &self.clip)
    }

    fn samples(&self) -> Vec<FlowSample> {
        self.tap.take()
    }
}

pub(super) fn start(
    setup: StreamSetup<'_>,
    context: &mut RunContext<'_>,
) -> Result<StreamEnd, LabError> {
    let StreamSetup { entry, of_scheme, clip, pair, begin, end } = setup;
    let tap = context.tap(&pair);
    let control = entry.control.as_ref().unwrap_or(&context.scheme().control);
    let payload_bytes =
        u16::try_from(context.scenario().transport.payload_bytes).unwrap_or(u16::MAX);
    let packets = entry.buffer.div_ceil(u64::from(payload_bytes)) as usize + 1;
    let config = PathConfig {
        payload_bytes,
        max_payload_bytes: None,
        keep_alive_interval: None,
        controller: *control,
        send: SendOptions {
            buffer: Capacity { packets, ip_bytes: entry.buffer },
            dropping: Options {
                streams: 1,
                per_packet: of_scheme.marks == Marks::NoHeads,
                ..SendOptions::default().dropping
            },
        },
        receive: ReceiveLimits::default(),
    };
    let both = Arc::new(Mutex::new(EndRecords::default()));
    let listen = context.server(&pair, context.transport(&SETUP_CONTROL))?;
    let sender = Sender {
        clip: clip.clone(),
        video: entry.video,
        marks: of_scheme.marks,
        ladder: of_scheme.ladder,
        config,
        end,
        both: both.clone(),
        tap: tap.clone(),
    };
    pair.server.spawn("live server", sender.serve(listen));
    let caller = context.client(&pair, context.client_transport())?;
    let (done, ended) = oneshot::channel();
    let (clock, to, note) = (pair.client.clone(), pair.address, both.clone());
    pair.client.spawn("live client", async move {
        clock.sleep_until(begin).await;
        let note = |layer| note.lock().received.push(layer);
        let result = tokio::select! {
            biased;
            () = clock.sleep_until(end) => Ok(()),
            result = watch(&caller, to, &config, end, note) => result,
        };
        // The receiver is gone if the world was stopped.
        drop(done.send(result.err().map(|e| e.to_string())));
    });
    Ok((ended, Box::new(RecordedStream { both, video: entry.video, clip, tap })))
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
    let connection = endpoint.connect(server, "live.airlane").await.map_err(OpenError::from)?;
    let (path, answer) = paths.connect(&connection, config, &b""[..]).await?;
    let answer = Answer::decode(&answer)?;
    airlane_live::receive(&path, answer, until, note).await
}

/// State of the end that sends.
struct Sender {
    clip: Arc<LayeredVideo>,
    video: Video,
    marks: Marks,
    ladder: Ladder,
    config: PathConfig,
    end: Time,
    both: Arc<Mutex<EndRecords>>,
    tap: Arc<Tap>,
}

impl Sender {
    async fn serve(self, endpoint: Endpoint) {
        let Some(paths) = MediaPaths::new(&endpoint, 1) else { return };
        let Some(connection) = endpoint.accept().await else { return };
        let Ok(asked) = paths.accept(&connection).await else { return };
        let frame_time = Duration::from_secs_f64(1.0 / self.clip.fps);
        // A clip without these layers was not drawn.
        let Some(structure) = self.video.structure(&self.clip) else { return };
        let answer = Answer { structure, frame_time, coding: Coding::Pattern }.encode();
        let Ok(path) = asked.open(&self.config, answer).await else { return };
        let path = Arc::new(path);
        sample_path(&self.tap, &path);
        let encoder = self.encoder(&path);
        let note = |noted| {
            let mut both = self.both.lock();
            match noted {
                SenderEvent::Sent(frame) => both.sent.push(frame),
                SenderEvent::Dropped { message, at } => {
                    both.dropped.insert(message, at);
                }
            }
        };
        // An error says that the client is gone, which tells why itself.
        let (source, clock) = (Source::Pattern, Duration::ZERO);
        let frames = ClipFrames::new(source, encoder, frame_time, clock, self.end);
        drop(airlane_live::send(&path, frames, note).await);
        // What was sent last has the time to arrive.
        endpoint.runtime().sleep_until(self.end).await;
    }

    fn encoder(&self, path: &MediaPath) -> Box<dyn Encoder> {
        let paper = LayerMarks::PAPER;
        let marks = match self.marks {
            Marks::Paper | Marks::NoHeads => paper,
            Marks::NoThresholds => LayerMarks { temporal: TemporalFields::Priority, ..paper },
            Marks::NoPriorities => LayerMarks { temporal: TemporalFields::Threshold, ..paper },
            Marks::Slack => LayerMarks {
                slack_ms: AUTHORS_SLACK_MS,
                cell_slack_ms: AUTHORS_CELL_SLACK_MS,
                ..paper
            },
            Marks::Thresholds => LayerMarks { thresholds: AUTHORS_THRESHOLDS, ..paper },
            Marks::NoDroppers => LayerMarks { droppers: false, ..paper },
            Marks::NoBitrates => LayerMarks { bitrates: false, ..paper },
            Marks::None => LayerMarks::NONE,
        };
        if let (Video::Quality, Ladder::Live, Some(table)) =
            (self.video, self.ladder, &self.clip.quality)
        {
            let (table, fps) = (Arc::new(table.clone()), self.clip.fps);
            let encoder = QualityEncoder::new(table, fps, marks, |n| path.ip_bytes(n));
            return Box::new(encoder.with_share(USED_SHARE));
        }
        let encoder = self.video.encoder(&self.clip, marks, |n| path.ip_bytes(n));
        encoder.expect("the clip was drawn for it")
    }
}

/// Takes the samples of a flow from its media path.
fn sample_path(tap: &Tap, path: &Arc<MediaPath>) {
    let path = Arc::downgrade(path);
    tap.connect_to(move || {
        let sample = path.upgrade()?.look(|session, now| {
            let sent = session.sent(now);
            FlowSample {
                at: now,
                acked_bytes: sent.acked_bytes,
                sent_bytes: sent.sent_bytes,
                lost_bytes: sent.lost_bytes,
                window_bytes: session.controller().map_or(0, |c| c.window()),
                rtt_s: session.rtt().map(|r| r.smoothed.as_secs_f64()),
                weight: session.controller().map_or(1.0, |c| c.weight()),
                busy: sent.busy,
            }
        });
        Some(sample)
    });
}
