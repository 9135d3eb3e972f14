//! The role of a participant: it sends its media, and receives that of the others.

mod config;
mod receiving;
mod sending;

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use airlane_base::{Pattern, Rate, Time};
use airlane_plum::ClientControl;
use airlane_quic::{Connection, Endpoint, RecvStream, SendStream, TransportConfig};
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use bytes::BytesMut;
use parking_lot::Mutex;
use tokio::sync::mpsc;

use crate::arriving::ArrivingBytes;
use crate::control_stream::{next_message, write_message};
use crate::encoder::{Encoder, EncoderConfig};
use crate::error::CallError;
use crate::media_transport::outgoing_estimate;
use crate::rate::Bitrate;
use crate::sender::{FrameSender, UNSENT_BYTES};
use crate::wire::{FromParticipant, FromServer, MediaHeader, ParticipantId, Track, UplinkReport};
pub use config::{
    ChannelView, Deviation, EncodedRecord, ParticipantConfig, ParticipantEvent, ParticipantNote,
    ReceivedRecord, TrackChange,
};
use receiving::Received;

/// Interval of reports on the control stream.
const REPORT_INTERVAL: Duration = Duration::from_millis(500);
/// Duration of a frame of audio.
const AUDIO_INTERVAL: Duration = Duration::from_millis(20);
/// Frames that the server may send at once.
const MAX_STREAMS: u32 = 512;
/// Bytes that the server may have under way.
const RECEIVE_WINDOW_BYTES: u32 = 8 << 20;
/// Payload bytes of the server's frames that may be under way at once.
const MAX_ARRIVING_BYTES: u64 = 64 << 20;
/// Tracks that a participant keeps: the audio is not kept, and a call has at most 1000 participants.
const MAX_TRACKS: usize = 2_000;
/// Length of the patterns that payloads are the beginning of: longer than any.
const PATTERN_BYTES: u64 = 1 << 40;

/// `config` with the windows and streams that a participant needs.
pub fn participant_transport(mut config: TransportConfig) -> TransportConfig {
    config.flow.max_streams = MAX_STREAMS;
    config.flow.receive_window_bytes = RECEIVE_WINDOW_BYTES;
    config.flow.unsent_bytes = Some(UNSENT_BYTES);
    config
}

/// Takes part in the call at `server` until `end`.
///
/// # Errors
/// If the server cannot be reached, breaks the protocol, or a byte of a payload is wrong.
pub async fn join(
    endpoint: &Endpoint,
    server: SocketAddr,
    config: ParticipantConfig,
    end: Time,
    note: ParticipantNote,
) -> Result<(), CallError> {
    let clock = endpoint.runtime().clone();
    let call = async {
        let connection = endpoint.connect(server, "call.airlane").await?;
        let result = Participant::run(&connection, &clock, config, note).await;
        connection.close(0, "left");
        result
    };
    tokio::select! {
        biased;
        () = clock.sleep_until(end) => Ok(()),
        result = call => result,
    }
}

/// A participant of a call.
struct Participant {
    config: ParticipantConfig,
    id: ParticipantId,
    connection: Connection,
    clock: RuntimeHandle,
    control: Arc<Mutex<ClientControl>>,
    sender: Arc<FrameSender>,
    videos: Mutex<BTreeMap<Track, Encoder>>,
    /// Tracks that are sent.
    sent: Mutex<BTreeSet<Track>>,
    bitrate: Mutex<Bitrate>,
    /// True if the server does not want the camera.
    is_paused: AtomicBool,
    tracks: Mutex<BTreeMap<(ParticipantId, Track), Received>>,
    arriving: ArrivingBytes,
    messages: mpsc::UnboundedSender<FromParticipant>,
    note: ParticipantNote,
}

impl Participant {
    async fn run(
        connection: &Connection,
        clock: &RuntimeHandle,
        config: ParticipantConfig,
        note: ParticipantNote,
    ) -> Result<(), CallError> {
        let (mut to, mut from) = connection.open_bi().await?;
        to.set_priority(2)?;
        let join = FromParticipant::Join(config.name.clone());
        write_message(&mut to, |bytes| join.encode(bytes)).await?;
        let mut buffer = BytesMut::new();
        let FromServer::Welcome(id) = from_server(&mut from, &mut buffer).await? else {
            return Err(CallError::Protocol("a message before the welcome"));
        };
        note(ParticipantEvent::Welcome(id));
        let control = Arc::new(Mutex::new(ClientControl::new(config.notice_timeout)));
        let (messages, mut outgoing) = mpsc::unbounded_channel();
        let header = {
            let (control, handle) = (control.clone(), connection.control().clone());
            let (deviation, media) = (config.deviation, config.media.clone());
            move |header: &MediaHeader| {
                let estimate = reported(outgoing_estimate(media.as_ref(), &handle), deviation);
                header.encode_up(&UplinkReport { epoch: control.lock().epoch(), estimate })
            }
        };
        let layered = |video: EncoderConfig| EncoderConfig {
            temporal_layers: config.layers.temporal_layers(),
            ..video
        };
        let videos =
            [(Track::Camera, "camera", config.camera), (Track::Screen, "screen", config.screen)];
        let videos = videos.into_iter().filter_map(|(track, part, video)| {
            Some((track, Encoder::new(layered(video?), clock.seed().split(part).rng())))
        });
        let participant = Arc::new(Self {
            sender: FrameSender::new(config.queue, Box::new(header), config.room.clone()),
            videos: Mutex::new(videos.collect()),
            sent: Mutex::new(BTreeSet::from([Track::Audio, Track::Camera])),
            bitrate: Mutex::new(Bitrate::new(config.rates, config.restores)),
            is_paused: AtomicBool::new(false),
            tracks: Mutex::default(),
            arriving: ArrivingBytes::new(MAX_ARRIVING_BYTES),
            id,
            connection: connection.clone(),
            clock: clock.clone(),
            control,
            messages,
            note,
            config,
        });
        participant.introduce();
        tokio::select! {
            biased;
            error = participant.receive() => Err(error),
            error = participant.follow(&mut from, &mut buffer) => Err(error),
            error = participant.speak(&mut to, &mut outgoing) => Err(error),
            error = participant.exchange() => Err(error),
            error = participant.send_frames() => Err(error),
            () = participant.film(Track::Camera) => Ok(()),
            () = participant.film(Track::Screen) => Ok(()),
            () = participant.talk() => Ok(()),
            () = participant.change() => Ok(()),
        }
    }

    /// Rate that the uplink may carry in IP bytes, as its controller estimates.
    fn natural(&self) -> Option<Rate> {
        outgoing_estimate(self.config.media.as_ref(), self.connection.control())
    }

    /// Sends frames over the connection until it is lost: all, or audio alone beside a media transport.
    async fn send_frames(&self) -> CallError {
        let carries_video = self.config.media.is_none();
        self.sender.run(&self.connection, &self.clock, carries_video).await.into()
    }

    /// Follows the messages of the server until something fails.
    async fn follow(&self, from: &mut RecvStream, buffer: &mut BytesMut) -> CallError {
        loop {
            match from_server(from, buffer).await {
                Ok(FromServer::Welcome(_)) => return CallError::Protocol("a second welcome"),
                Ok(FromServer::Joined(..)) => {}
                Ok(FromServer::Left(id)) => {
                    self.tracks.lock().retain(|(source, _), _| *source != id);
                }
                Ok(FromServer::Notice(notice)) => {
                    let natural = self.natural();
                    self.control.lock().on_notice(self.clock.now(), notice, natural);
                }
                Ok(FromServer::RequestKeyFrame(track)) => self.request_key_frame(track),
                Ok(FromServer::Sends(source, track, is_sent)) => {
                    let at = self.clock.now();
                    (self.note)(ParticipantEvent::Sends { at, source, track, is_sent });
                }
                Ok(FromServer::Pause(is_paused)) => {
                    if self.is_paused.swap(is_paused, Ordering::Relaxed) && !is_paused {
                        self.request_key_frame(Track::Camera);
                    }
                }
                Err(e) => return e,
            }
        }
    }

    /// Sends messages to the server: those that are asked for, and reports.
    async fn speak(
        &self,
        to: &mut SendStream,
        outgoing: &mut mpsc::UnboundedReceiver<FromParticipant>,
    ) -> CallError {
        loop {
            let message = tokio::select! {
                biased;
                Some(message) = outgoing.recv() => message,
                () = self.clock.sleep(REPORT_INTERVAL) => {
                    let now = self.clock.now();
                    if let Some(capacity) = self.config.channel.as_ref().and_then(|view| view.0(now)) {
                        self.say(FromParticipant::Channel(capacity));
                    }
                    let epoch = self.control.lock().epoch();
                    let estimate = reported(self.natural(), self.config.deviation);
                    FromParticipant::Report(UplinkReport { epoch, estimate })
                }
            };
            if let Err(e) = write_message(to, |bytes| message.encode(bytes)).await {
                return e;
            }
        }
    }
}

/// Estimate that a participant reports.
fn reported(estimate: Option<Rate>, deviation: Deviation) -> Option<Rate> {
    match deviation.reported_share == 1.0 {
        true => estimate,
        false => estimate.map(|rate| rate.scale(deviation.reported_share)),
    }
}

/// The next message of the server, which ends its stream with the call alone.
async fn from_server(
    from: &mut RecvStream,
    buffer: &mut BytesMut,
) -> Result<FromServer, CallError> {
    let message = next_message(from, buffer, FromServer::decode).await?;
    message.ok_or(CallError::Protocol("the server ended the control stream"))
}

/// Payload of a frame, of which a server may cut the end.
fn body(header: &MediaHeader) -> Pattern {
    let MediaHeader { source, track, frame, .. } = header;
    Pattern::new(&format!("call {} {track:?} {frame}", source.0), PATTERN_BYTES)
}
