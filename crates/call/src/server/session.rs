//! The session of one participant at the server.

mod receiving;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use airlane_base::{IP_UDP_HEADER_BYTES, Rate, Time};
use airlane_plum::{ChannelSample, ClientChannel, Decision, ServerControl, State};
use airlane_quic::{Connection, RecvStream, SendStream};
use airlane_runtime::RuntimeExt;
use bytes::BytesMut;
use parking_lot::Mutex;
use tokio::sync::mpsc;

use super::channel_capacity::ChannelCapacity;
use super::downlink::Downlink;
use super::room::Room;
use super::{ChannelRecord, JOIN_TIMEOUT, ServerConfig, Thinning};
use crate::allocate::Offer;
use crate::arriving::ArrivingBytes;
use crate::control_stream::{next_message, write_message};
use crate::error::CallError;
use crate::layer_allocator::{Budget, StreamId};
use crate::layers::LayerTable;
use crate::media_transport::{Media, MediaOf, outgoing_estimate};
use crate::meter::Meter;
use crate::queue::Frame;
use crate::rate::{Bitrate, Guidance};
use crate::sender::FrameSender;
use crate::wire::{FromParticipant, FromServer, MediaHeader, ParticipantId, Track, UplinkReport};

/// Messages to a participant that may wait: one that takes none is disconnected.
const MAX_MESSAGES: usize = 4096;
/// Payload bytes of frames of one participant that may be under way at once.
const MAX_ARRIVING_BYTES: u64 = 8 << 20;
/// Time between two requests for a key frame of one track.
const KEY_FRAME_INTERVAL: Duration = Duration::from_millis(500);
/// Interval at which the notice is repeated on the control stream.
const NOTICE_INTERVAL: Duration = Duration::from_millis(500);
/// Bytes that wait from which on a downlink is not probed for more.
const MAX_PROBING_BYTES: u64 = 64 << 10;
/// IP and UDP headers of a datagram in bytes.
const IP_UDP_BYTES: u64 = IP_UDP_HEADER_BYTES as u64;

/// A participant's session.
pub(super) struct Session {
    pub(super) id: ParticipantId,
    pub(super) name: String,
    connection: Connection,
    /// Transport of its video; `None`: the connection.
    media: Option<Media>,
    sender: Arc<FrameSender>,
    messages: mpsc::Sender<FromServer>,
    arriving: ArrivingBytes,
    shared: Arc<Mutex<Shared>>,
    /// True if its video is not wanted.
    is_paused: AtomicBool,
}

/// Track of video that a participant sends.
#[derive(Default)]
struct Sent {
    layers: LayerTable,
    video: Meter,
}

/// State that its tasks share.
struct Shared {
    control: ServerControl,
    capacity: ChannelCapacity,
    report: UplinkReport,
    /// Bandwidth of the downlink at the last sample, as its controller estimates.
    down_estimate: Option<Rate>,
    /// Tracks of video that it sends.
    sent: BTreeMap<Track, Sent>,
    /// Tracks of video that the others were told that it sends.
    told: BTreeSet<Track>,
    /// Video that goes to it.
    downlink: Downlink,
    /// True if less of the others' videos goes to it than there is.
    is_thinned: bool,
    /// Padding that goes to it, bit/s.
    padding: f64,
    /// Time at which a key frame of each track was asked for last.
    asked: BTreeMap<Track, Time>,
    /// Tracks of which a key frame is asked for as soon as it may be.
    deferred: BTreeSet<Track>,
    /// Bitrate of media that goes to it.
    bitrate: Bitrate,
}

impl Session {
    /// Tells the participant something. One that does not listen is gone soon by other means.
    pub(super) fn tell(&self, message: FromServer) {
        if self.messages.try_send(message).is_err() {
            self.connection.close(1, "too many messages wait");
        }
    }

    /// Asks for a key frame of a track, at most every half second; whether it did.
    pub(super) fn request_key_frame(&self, now: Time, track: Track) -> bool {
        {
            let mut shared = self.shared.lock();
            let is_soon = |at: &Time| now - *at < KEY_FRAME_INTERVAL;
            if !shared.sent.contains_key(&track) || shared.asked.get(&track).is_some_and(is_soon) {
                return false;
            }
            shared.asked.insert(track, now);
            shared.deferred.remove(&track);
        }
        self.tell(FromServer::RequestKeyFrame(track));
        true
    }

    /// Asks for key frames of all videos for somebody who joins: as soon as they may be asked for, unless one comes
    /// before that.
    pub(super) fn request_key_frames(&self, now: Time) {
        let sent: Vec<_> = self.shared.lock().sent.keys().copied().collect();
        for track in sent {
            if !self.request_key_frame(now, track) {
                self.shared.lock().deferred.insert(track);
            }
        }
    }

    /// Asks for the key frames that could not be asked for before.
    pub(super) fn request_deferred(&self, now: Time) {
        let deferred: Vec<_> = self.shared.lock().deferred.iter().copied().collect();
        for track in deferred {
            self.request_key_frame(now, track);
        }
    }

    /// Tracks of video that it sends, if that is news, with those that it sent before.
    pub(super) fn take_sent(&self) -> Option<(BTreeSet<Track>, BTreeSet<Track>)> {
        let mut shared = self.shared.lock();
        let sent: BTreeSet<_> = shared.sent.keys().copied().collect();
        if sent == shared.told {
            return None;
        }
        let before = std::mem::replace(&mut shared.told, sent.clone());
        Some((sent, before))
    }

    /// Tracks of video that the others were told that it sends.
    pub(super) fn told(&self) -> BTreeSet<Track> {
        self.shared.lock().told.clone()
    }

    /// True if it sends any video.
    pub(super) fn sends_video(&self) -> bool {
        !self.shared.lock().sent.is_empty()
    }

    /// Its videos: rate and layers of each.
    pub(super) fn videos(&self, now: Time) -> Vec<(Track, Rate, LayerTable)> {
        let mut shared = self.shared.lock();
        let sent = shared.sent.iter_mut();
        sent.map(|(track, sent)| (*track, sent.video.rate(now), sent.layers.clone())).collect()
    }

    /// True if its video is not wanted.
    pub(super) fn is_paused(&self) -> bool {
        self.is_paused.load(Ordering::Relaxed)
    }

    /// Tells the participant whether its video is wanted, if that is news.
    pub(super) fn set_paused(&self, is_paused: bool) {
        if self.is_paused.swap(is_paused, Ordering::Relaxed) != is_paused {
            self.tell(FromServer::Pause(is_paused));
        }
    }

    pub(super) fn take_wanted(&self) -> Vec<(ParticipantId, Track)> {
        self.sender.take_wanted()
    }

    pub(super) fn forget(&self, id: ParticipantId) {
        self.sender.forget(id);
        self.shared.lock().downlink.forget(id);
    }

    /// Forwards a frame of another participant to this one, thinned.
    pub(super) fn forward(&self, now: Time, frame: &Frame, min_bytes: u32) {
        let frame = if frame.header.track == Track::Audio {
            frame.clone()
        } else {
            let thinned = self.shared.lock().downlink.thin(frame, min_bytes);
            let Some(frame) = thinned else { return };
            frame
        };
        self.sender.push(now, frame);
    }

    /// Samples the channel.
    pub(super) fn sample(&self, now: Time) {
        let stats = self.connection.control().stats();
        let datagrams = self.connection.datagram_counts();
        let mut shared = self.shared.lock();
        shared.down_estimate = outgoing_estimate(self.media.as_ref(), self.connection.control());
        let media = self.media.as_ref().map(|media| media.counts()).unwrap_or_default();
        // Packets that ask for no acknowledgement, mostly acknowledgements themselves, are taken to arrive.
        let unacknowledged = datagrams.sent_bytes.saturating_sub(stats.sent_bytes);
        let packets = datagrams.sent.saturating_sub(stats.sent_packets) + stats.acked_packets;
        let sample = ChannelSample {
            up_bytes: datagrams.received_bytes
                + IP_UDP_BYTES * datagrams.received
                + media.received_bytes,
            down_bytes: stats.acked_bytes
                + unacknowledged
                + IP_UDP_BYTES * packets
                + media.delivered_bytes,
            queueing: stats.rtt.map_or(Duration::ZERO, |rtt| rtt.latest.saturating_sub(rtt.min)),
            up_estimate: shared.report.estimate,
            down_estimate: shared.down_estimate,
            is_constrained: shared.control.state() != State::Natural,
            is_thinned: shared.is_thinned,
        };
        shared.capacity.on_sample(now, sample);
    }

    /// Measurement of the channel, as the coordinator gets it.
    pub(super) fn channel(&self, now: Time) -> ClientChannel {
        let shared = self.shared.lock();
        ClientChannel {
            capacity: shared.capacity.rate(now, &self.name),
            up: shared.report.estimate,
            down: shared.down_estimate,
            state: shared.control.state(),
        }
    }

    /// Follows a decision of the coordinator.
    pub(super) fn decide(&self, decision: Decision) {
        let notice = {
            let mut shared = self.shared.lock();
            let (before, natural) = (shared.control.notice(), shared.down_estimate);
            shared.control.decide(decision, natural);
            let notice = shared.control.notice();
            (notice != before).then_some(notice)
        };
        if let Some(notice) = notice {
            self.tell(FromServer::Notice(notice));
        }
    }

    /// Bitrate of media that may go to the participant. Where layers are chosen, bytes that wait count for what it
    /// takes to send them in a second: half the bitrate would be a lower layer at each key frame.
    pub(super) fn down_media(&self, now: Time, config: &ServerConfig) -> Rate {
        let pending = self.sender.bytes();
        let mut shared = self.shared.lock();
        let estimate = shared.down_estimate;
        let (target, retained) = (shared.control.target(), shared.control.take_retained());
        if let Some(media) = &self.media {
            media.set_max_rate(target);
        }
        let mut guidance = Guidance { estimate, pending, target, retained };
        match config.thinning {
            Thinning::Transcode => shared.bitrate.update(now, &guidance),
            Thinning::Layers(_) => {
                guidance.pending = 0;
                let rate = shared.bitrate.update(now, &guidance);
                let excess = pending.saturating_sub(config.rates.max_pending_bytes);
                Rate::from_bps(rate.bps().saturating_sub(excess.saturating_mul(8)))
            }
        }
    }

    /// Divides the downlink over the others' videos, and returns those of which a key frame is needed.
    pub(super) fn divide(&self, now: Time, rate: Rate, offers: &[Offer]) -> Vec<StreamId> {
        let budget = Budget { rate: rate.as_f64(), pending_bytes: self.sender.bytes() };
        let is_full = budget.pending_bytes > MAX_PROBING_BYTES;
        let mut shared = self.shared.lock();
        // Who is held does not look for more.
        let is_full = is_full || shared.control.target().is_some();
        let division = shared.downlink.divide(now, budget, is_full, offers);
        shared.is_thinned = division.is_thinned;
        shared.padding = division.padding;
        division.key_frames
    }

    /// Sends the padding of a while.
    pub(super) fn pad(&self, time: Duration) {
        let padding = self.shared.lock().padding;
        self.sender.pad(Rate::from_bps_f64(padding).bytes_in(time));
    }

    pub(super) fn record(&self, now: Time, up_media: Rate, down_media: Rate) -> ChannelRecord {
        let dropped = self.sender.dropped();
        let shared = self.shared.lock();
        ChannelRecord {
            at: now,
            participant: self.id,
            capacity: shared.capacity.rate(now, &self.name),
            up_estimate: shared.report.estimate,
            down_estimate: shared.down_estimate,
            up_media,
            down_media,
            state: shared.control.state(),
            target: shared.control.notice().target.or(shared.control.target()),
            dropped,
        }
    }

    fn on_report(&self, report: UplinkReport) {
        let mut shared = self.shared.lock();
        if let Some(epoch) = report.epoch {
            shared.control.on_acknowledged(epoch);
        }
        shared.report.estimate = report.estimate.or(shared.report.estimate);
    }
}

/// Runs the session of a connection, from its first message to its end.
pub(super) async fn run(room: &Arc<Room>, connection: &Connection) -> Result<(), CallError> {
    let mut buffer = BytesMut::new();
    let joined = async {
        let (to, mut from) = connection.accept_bi().await?;
        match next_message(&mut from, &mut buffer, FromParticipant::decode).await? {
            Some(FromParticipant::Join(name)) => Ok((to, from, name)),
            Some(_) => Err(CallError::Protocol("a message before joining")),
            None => Err(CallError::Protocol("a control stream without a message")),
        }
    };
    let (to, mut from, name) = tokio::select! {
        biased;
        joined = joined => joined?,
        () = room.clock.sleep(JOIN_TIMEOUT) => return Err(CallError::Protocol("nobody joined in time")),
    };
    to.set_priority(2)?;
    let media = match &room.config.media {
        None => None,
        Some(MediaOf(of)) => {
            Some(of(&name).ok_or(CallError::Protocol("a participant without a media transport"))?)
        }
    };
    let (messages, outgoing) = mpsc::channel(MAX_MESSAGES);
    let shared = Arc::new(Mutex::new(Shared {
        control: ServerControl::default(),
        capacity: ChannelCapacity::new(room.config.capacity_source.clone(), room.config.capacity),
        report: UplinkReport::default(),
        down_estimate: None,
        sent: BTreeMap::from([(Track::Camera, Sent::default())]),
        told: BTreeSet::from([Track::Camera]),
        downlink: Downlink::new(room.config.thinning, &name, room.clock.now()),
        is_thinned: false,
        padding: 0.0,
        asked: BTreeMap::new(),
        deferred: BTreeSet::new(),
        bitrate: Bitrate::new(room.config.rates, room.restores()),
    }));
    let header = {
        let shared = shared.clone();
        move |header: &MediaHeader| header.encode_down(&shared.lock().control.notice())
    };
    let sender = FrameSender::new(room.config.queue, Box::new(header), None);
    let connection = connection.clone();
    let session = room.join(&name, |id| {
        let name = name.clone();
        let is_paused = AtomicBool::new(false);
        let arriving = ArrivingBytes::new(MAX_ARRIVING_BYTES);
        Arc::new(Session {
            id,
            name,
            connection,
            media,
            sender,
            messages,
            arriving,
            shared,
            is_paused,
        })
    })?;
    session.connection.mark_active();
    let carries_video = session.media.is_none();
    let result = tokio::select! {
        biased;
        error = receiving::receive(room, &session) => Err(error),
        result = follow(room, &session, &mut from, &mut buffer) => result,
        result = speak(room, &session, to, outgoing) => result,
        error = receiving::exchange_video(room, &session) => Err(error),
        error = session.sender.run(&session.connection, &room.clock, carries_video) => {
            Err(error.into())
        }
        () = room.closed() => Ok(()),
    };
    room.leave(session.id);
    result
}

/// Follows the participant's messages.
async fn follow(
    room: &Room,
    session: &Session,
    from: &mut RecvStream,
    buffer: &mut BytesMut,
) -> Result<(), CallError> {
    loop {
        match next_message(from, buffer, FromParticipant::decode).await? {
            Some(FromParticipant::Join(_)) => return Err(CallError::Protocol("joining twice")),
            Some(FromParticipant::Report(report)) => session.on_report(report),
            Some(FromParticipant::RequestKeyFrame(source, track)) => {
                room.request_key_frame(source, track);
            }
            Some(FromParticipant::Publish(track, layers)) => {
                session.shared.lock().sent.entry(track).or_default().layers = layers;
            }
            Some(FromParticipant::Mute(track)) => {
                let mut shared = session.shared.lock();
                shared.sent.remove(&track);
                shared.deferred.remove(&track);
            }
            Some(FromParticipant::Channel(capacity)) => {
                session.shared.lock().capacity.on_report(room.clock.now(), capacity);
            }
            // It says no more, and may receive on.
            None => return std::future::pending().await,
        }
    }
}

/// Sends messages to the participant, and its notice now and then.
async fn speak(
    room: &Room,
    session: &Session,
    mut to: SendStream,
    mut outgoing: mpsc::Receiver<FromServer>,
) -> Result<(), CallError> {
    loop {
        let message = tokio::select! {
            biased;
            message = outgoing.recv() => message.ok_or(CallError::Protocol("the session is over"))?,
            () = room.clock.sleep(NOTICE_INTERVAL) => {
                FromServer::Notice(session.shared.lock().control.notice())
            }
        };
        write_message(&mut to, |bytes| message.encode(bytes)).await?;
    }
}
