//! The role of a participant: it sends its media, and receives that of the others.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use airlane_base::{Pattern, Rate, Time};
use airlane_plum::{ClientControl, DEFAULT_NOTICE_TIMEOUT};
use airlane_quic::{Connection, Endpoint, RecvStream, SendStream, TransportConfig};
use airlane_runtime::{RuntimeExt, RuntimeHandle};
use bytes::{Bytes, BytesMut};
use parking_lot::Mutex;
use tokio::sync::mpsc;

use crate::arriving::{ArrivingBytes, each_stream, read_header};
use crate::control_stream::{next_message, write_message};
use crate::encoder::{Encoder, EncoderConfig};
use crate::error::CallError;
use crate::playout::Playout;
use crate::queue::{Frame, QueueConfig};
use crate::rate::{Bitrate, Guidance, RateConfig, estimate};
use crate::sender::{FrameSender, UNSENT_BYTES};
use crate::wire::{
    FromParticipant, FromServer, MAX_FRAME_BYTES, MediaHeader, ParticipantId, Track, UplinkReport,
};

/// Interval of reports on the control stream.
const REPORT_INTERVAL: Duration = Duration::from_millis(500);
/// Duration of a frame of audio.
const AUDIO_INTERVAL: Duration = Duration::from_millis(20);
/// Time without a decodable frame after which a key frame is asked for, and between two such requests.
const KEY_FRAME_TIMEOUT: Duration = Duration::from_secs(1);
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

/// Settings of a participant.
#[derive(Clone, Debug, PartialEq)]
pub struct ParticipantConfig {
    /// Its name in the call.
    pub name: String,
    /// Its camera; `None`: it sends no video.
    pub camera: Option<EncoderConfig>,
    /// Bitrate of its audio; `None`: it sends none.
    pub audio: Option<Rate>,
    /// Rules by which bitrates follow its controller.
    pub rates: RateConfig,
    /// Bounds of the frames that wait.
    pub queue: QueueConfig,
    /// Silence of the server after which it leaves the Constrained state.
    pub notice_timeout: Duration,
    /// True if the bitrate from before the Constrained state is restored.
    pub restores: bool,
}

impl ParticipantConfig {
    /// A participant with camera and audio.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            camera: Some(EncoderConfig::default()),
            audio: Some(Rate::from_bps(32_000)),
            rates: RateConfig::default(),
            queue: QueueConfig::default(),
            notice_timeout: DEFAULT_NOTICE_TIMEOUT,
            restores: true,
        }
    }
}

/// A frame that a participant encoded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EncodedRecord {
    /// Time of its capture.
    pub at: Time,
    /// Track.
    pub track: Track,
    /// Number in its track.
    pub frame: u32,
    /// Length in bytes.
    pub bytes: u32,
    /// Bitrate that the encoder was given.
    pub rate: Rate,
    /// Rate that the server holds the uplink to; `None` in the Natural state.
    pub target: Option<Rate>,
}

/// A frame that a participant received.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReceivedRecord {
    /// Arrival of its last byte.
    pub arrived: Time,
    /// Time at which it was shown; `None` if it has not been so far.
    pub shown: Option<Time>,
    /// Header.
    pub header: MediaHeader,
}

/// An event that a participant tells of its call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ParticipantEvent {
    /// It takes part, under this number.
    Welcome(ParticipantId),
    /// It encoded a frame.
    Encoded(EncodedRecord),
    /// It received a frame whole. Frames of audio are shown when they come.
    Received(ReceivedRecord),
    /// It showed a frame.
    Shown(ReceivedRecord),
}

/// The receiver of a participant's events.
pub type ParticipantNote = Arc<dyn Fn(ParticipantEvent) + Send + Sync>;

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
    camera: Mutex<Option<Encoder>>,
    /// True if the server wants no video.
    is_paused: AtomicBool,
    tracks: Mutex<BTreeMap<(ParticipantId, Track), Received>>,
    arriving: ArrivingBytes,
    messages: mpsc::UnboundedSender<FromParticipant>,
    note: ParticipantNote,
}

/// State of a received track.
#[derive(Default)]
struct Received {
    playout: Playout<ReceivedRecord>,
    /// Time at which a frame was shown last, or a key frame asked for.
    progress: Time,
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
            move |header: &MediaHeader| {
                let estimate = estimate(&handle.stats());
                header.encode_up(&UplinkReport { epoch: control.lock().epoch(), estimate })
            }
        };
        let rng = clock.seed().split("camera").rng();
        let participant = Arc::new(Self {
            sender: FrameSender::new(config.queue, Box::new(header)),
            camera: Mutex::new(config.camera.map(|camera| Encoder::new(camera, rng))),
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
        tokio::select! {
            biased;
            error = participant.receive() => Err(error),
            error = participant.follow(&mut from, &mut buffer) => Err(error),
            error = participant.speak(&mut to, &mut outgoing) => Err(error),
            error = participant.sender.run(connection, clock) => Err(error.into()),
            () = participant.film() => Ok(()),
            () = participant.talk() => Ok(()),
        }
    }

    /// Rate that the uplink may carry in IP bytes, as its controller estimates.
    fn natural(&self) -> Option<Rate> {
        estimate(&self.connection.control().stats())
    }

    /// Sends the frames of the camera, for ever.
    async fn film(&self) {
        let interval = self.camera.lock().as_ref().map(Encoder::frame_interval);
        let Some(interval) = interval else { return std::future::pending().await };
        let mut bitrate = Bitrate::new(self.config.rates, self.config.restores);
        let (mut at, mut frame) = (self.clock.now(), 0);
        loop {
            self.clock.sleep_until(at).await;
            at += interval;
            let now = self.clock.now();
            if self.is_paused.load(Ordering::Relaxed) {
                continue;
            }
            if !self.sender.take_wanted().is_empty() {
                self.request_key_frame();
            }
            let (target, retained) = {
                let mut control = self.control.lock();
                (control.target(now), control.take_retained(now))
            };
            let pending = self.sender.bytes();
            let guidance = Guidance { estimate: self.natural(), pending, target, retained };
            let rate = bitrate.update(now, &guidance);
            let encoded = match &mut *self.camera.lock() {
                Some(camera) => camera.encode(now, rate, MAX_FRAME_BYTES),
                None => return,
            };
            self.send(now, (Track::Camera, frame, encoded.is_key), encoded.bytes, (rate, target));
            frame += 1;
        }
    }

    /// Makes the camera's next frame a key frame.
    fn request_key_frame(&self) {
        if let Some(camera) = &mut *self.camera.lock() {
            camera.request_key_frame();
        }
    }

    /// Sends the frames of audio, for ever.
    async fn talk(&self) {
        let Some(rate) = self.config.audio else { return std::future::pending().await };
        let bytes = rate.bytes_in(AUDIO_INTERVAL).max(1) as u32;
        let mut at = self.clock.now();
        for frame in 0.. {
            self.clock.sleep_until(at).await;
            self.send(self.clock.now(), (Track::Audio, frame, true), bytes, (rate, None));
            at += AUDIO_INTERVAL;
        }
    }

    fn send(
        &self,
        now: Time,
        (track, frame, is_key): (Track, u32, bool),
        bytes: u32,
        (rate, target): (Rate, Option<Rate>),
    ) {
        let header = MediaHeader {
            track,
            is_key,
            source: self.id,
            frame,
            captured: now.since_start(),
            payload_bytes: bytes,
        };
        let payload = payload(&header);
        let record = EncodedRecord { at: now, track, frame, bytes, rate, target };
        (self.note)(ParticipantEvent::Encoded(record));
        self.sender.push(now, Frame { header, payload });
    }

    /// Receives the frames of others until something fails.
    async fn receive(self: &Arc<Self>) -> CallError {
        let receive = |mut stream| {
            let participant = self.clone();
            async move { participant.receive_frame(&mut stream).await }
        };
        each_stream(&self.connection, &self.clock, receive).await
    }

    async fn receive_frame(&self, stream: &mut RecvStream) -> Result<(), CallError> {
        let (header, first) = read_header(stream).await?;
        let (header, notice) = MediaHeader::decode_down(header)?;
        let natural = self.natural();
        self.control.lock().on_notice(self.clock.now(), notice, natural);
        let payload = self.arriving.read_payload(stream, first, header.payload_bytes).await?;
        if !body(&header).matches(0, &payload) {
            return Err(CallError::Protocol("a payload with wrong bytes"));
        }
        let now = self.clock.now();
        let is_audio = header.track == Track::Audio;
        let record = ReceivedRecord { arrived: now, shown: is_audio.then_some(now), header };
        (self.note)(ParticipantEvent::Received(record));
        if is_audio {
            return Ok(());
        }
        let mut tracks = self.tracks.lock();
        if tracks.len() >= MAX_TRACKS && !tracks.contains_key(&(header.source, header.track)) {
            return Err(CallError::Protocol("more tracks than a call has"));
        }
        let track = tracks.entry((header.source, header.track)).or_default();
        let shown = track.playout.on_frame(header.frame, header.is_key, record);
        if !shown.is_empty() {
            track.progress = now;
        } else if track.playout.is_waiting() && now - track.progress > KEY_FRAME_TIMEOUT {
            track.progress = now;
            let request = FromParticipant::RequestKeyFrame(header.source, header.track);
            // The other end is gone with the participant.
            drop(self.messages.send(request));
        }
        drop(tracks);
        for record in shown {
            (self.note)(ParticipantEvent::Shown(ReceivedRecord { shown: Some(now), ..record }));
        }
        Ok(())
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
                Ok(FromServer::RequestKeyFrame(_)) => self.request_key_frame(),
                Ok(FromServer::Pause(is_paused)) => {
                    if self.is_paused.swap(is_paused, Ordering::Relaxed) && !is_paused {
                        self.request_key_frame();
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
                    let epoch = self.control.lock().epoch();
                    FromParticipant::Report(UplinkReport { epoch, estimate: self.natural() })
                }
            };
            if let Err(e) = write_message(to, |bytes| message.encode(bytes)).await {
                return e;
            }
        }
    }
}

/// Payload of a frame, of which a server may cut the end.
fn body(header: &MediaHeader) -> Pattern {
    let MediaHeader { source, track, frame, .. } = header;
    Pattern::new(&format!("call {} {track:?} {frame}", source.0), PATTERN_BYTES)
}

/// Payload of a frame, in one piece.
fn payload(header: &MediaHeader) -> Bytes {
    let mut pieces: Vec<_> =
        body(header).pieces(0..header.payload_bytes.into(), u64::MAX).collect();
    match pieces.len() {
        0 | 1 => pieces.pop().unwrap_or_default(),
        _ => pieces.concat().into(),
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
