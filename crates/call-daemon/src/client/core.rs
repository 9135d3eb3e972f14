//! Client of a call, without I/O: datagrams and times go in; datagrams come out.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use airlane_base::Time;
use str0m::Event;
use str0m::bwe::{Bitrate, BweKind};
use str0m::channel::ChannelId;
use str0m::format::Codec;
use str0m::media::{KeyframeRequestKind, MediaKind, Mid, Pt};
use str0m::net::Transmit;
use str0m::rtp::{RtpPacket, Ssrc};

use super::ClientSummary;
use super::frames::{FrameBuffer, Packet};
use super::reception::Reception;
use super::sending::{AUDIO_BPS, SentVideo, TimedMedia};
use super::sound::Sound;
use crate::clock::Clock;
use crate::conference::{FromClient, ParticipantId, ParticipantInfo, ToClient};
use crate::media::extension::Mark;
use crate::media::session::{Datagram, MEDIA_SHARE, Session};
use crate::server::VideoCodec;

/// Interval of reports to the server.
const REPORT_INTERVAL: Duration = Duration::from_secs(1);
/// Silence of the server after which it holds nobody.
const NOTICE_TIMEOUT: Duration = Duration::from_secs(3);
/// Interval at which a key frame is asked for at most.
const KEY_FRAME_INTERVAL: Duration = Duration::from_millis(500);
/// Rate that is looked for relative to all encodings.
const AIM_MARGIN: f64 = 1.15;
/// People whose media is accounted for, over the whole call: a server may name any number.
const MAX_RECEPTIONS: usize = 10_000;

/// Line on which video or audio of somebody comes.
struct ReceivingLine {
    kind: MediaKind,
    /// Person whose it is at the moment.
    source: Option<ParticipantId>,
    /// Stream that comes on it.
    stream: Option<Ssrc>,
    /// Codec of a payload type; `None`: one that is not read.
    codec: Option<(Pt, Option<VideoCodec>)>,
    frames: FrameBuffer,
    asked: Option<Time>,
}

/// State of a client.
pub(super) struct Core {
    pub(super) clock: Clock,
    pub(super) session: Session,
    name: String,
    pub(super) started: Time,
    connected: Option<Time>,
    pub(super) video: Option<TimedMedia<SentVideo>>,
    /// Encodings that are sent.
    pub(super) sent_encodings: usize,
    pub(super) audio: Option<TimedMedia<(Mid, Arc<Sound>)>>,
    /// Packets of audio so far.
    pub(super) sent_packets: usize,
    lines: BTreeMap<Mid, ReceivingLine>,
    channel: Option<ChannelId>,
    own: Option<ParticipantId>,
    receptions: BTreeMap<ParticipantId, (String, Reception)>,
    epoch: Option<u32>,
    pub(super) ceiling_bps: Option<u64>,
    noticed: Time,
    pub(super) estimate_bps: Option<f64>,
    next_report: Time,
    /// Time at which str0m wants to be called.
    timeout: Option<Instant>,
    notices: u64,
    pub(super) sent_frames: u64,
    marked_packets: u64,
    is_over: bool,
}

impl Core {
    pub(super) fn new(
        now: Time,
        clock: Clock,
        session: Session,
        name: String,
        video: Option<SentVideo>,
        audio: Option<(Mid, Arc<Sound>)>,
        receiving: Vec<(Mid, MediaKind)>,
    ) -> Self {
        let line = |kind| ReceivingLine {
            kind,
            source: None,
            stream: None,
            codec: None,
            frames: FrameBuffer::default(),
            asked: None,
        };
        Self {
            clock,
            session,
            name,
            started: now,
            connected: None,
            video: video.map(|media| TimedMedia { media, due: None }),
            sent_encodings: 1,
            audio: audio.map(|media| TimedMedia { media, due: None }),
            sent_packets: 0,
            lines: receiving.into_iter().map(|(mid, kind)| (mid, line(kind))).collect(),
            channel: None,
            own: None,
            receptions: BTreeMap::new(),
            epoch: None,
            ceiling_bps: None,
            noticed: now,
            estimate_bps: None,
            next_report: now + REPORT_INTERVAL,
            timeout: Some(clock.instant(now)),
            notices: 0,
            sent_frames: 0,
            marked_packets: 0,
            is_over: false,
        }
    }

    /// True if the server or the network ended it.
    pub(super) fn is_over(&self) -> bool {
        self.is_over || self.session.is_over()
    }

    /// True once packets can come and go.
    pub(super) fn is_connected(&self) -> bool {
        self.connected.is_some()
    }

    pub(super) fn receive(
        &mut self,
        at: Time,
        datagram: &Datagram<'_>,
        send: &mut dyn FnMut(&Transmit),
    ) {
        self.session.receive(self.clock.instant(at), datagram);
        // str0m keeps one packet at a time: it is taken before the next datagram.
        self.drain(at, send);
    }

    /// Time at which [`Self::drive`] wants to be called.
    pub(super) fn next_time(&self) -> Time {
        let of_str0m = self.timeout.map(|at| self.clock.time(at));
        let video = self.video.as_ref().and_then(|video| video.due);
        let audio = self.audio.as_ref().and_then(|audio| audio.due);
        let mut first = self.next_report;
        for at in [of_str0m, video, audio].into_iter().flatten() {
            first = first.min(at);
        }
        first
    }

    /// Does all that is due.
    pub(super) fn drive(&mut self, now: Time, send: &mut dyn FnMut(&Transmit)) {
        if now >= self.next_report {
            self.next_report = now + REPORT_INTERVAL;
            if self.ceiling_bps.is_some() && now.since(self.noticed) > NOTICE_TIMEOUT {
                self.ceiling_bps = None;
            }
            self.report();
        }
        self.send_audio(now, send);
        self.send_video(now, send);
        self.drain(now, send);
        self.send_waiting(now, send);
    }

    pub(super) fn drain(&mut self, now: Time, send: &mut dyn FnMut(&Transmit)) {
        let instant = self.clock.instant(now);
        let mut events = Vec::new();
        self.timeout = self.session.drain(instant, send, &mut events);
        for event in events {
            self.on_event(now, event);
        }
    }

    fn on_event(&mut self, now: Time, event: Event) {
        match event {
            Event::Connected => self.begin(now),
            Event::ChannelOpen(channel, _) => {
                self.channel = Some(channel);
                let (audio, video) = (self.audio.is_some(), self.video.is_some());
                self.tell(&FromClient::Tracks { audio, video, screen: false });
            }
            Event::ChannelClose(_) => self.is_over = true,
            Event::ChannelData(data) => self.on_message(now, &data.data),
            Event::EgressBitrateEstimate(BweKind::Twcc { estimate, .. }) => {
                self.estimate_bps = Some(estimate.as_f64());
            }
            Event::KeyframeRequest(request) => {
                let Some(video) = &mut self.video else { return };
                let encoding =
                    request.rid.and_then(|rid| video.media.rids.iter().position(|of| *of == rid));
                if let Some(feed) = video.media.feeds.get_mut(encoding.unwrap_or(0)) {
                    feed.request_key_frame();
                }
            }
            Event::RtpPacket(packet) => self.on_packet(now, &packet),
            _ => {}
        }
    }

    /// Begins to send.
    fn begin(&mut self, now: Time) {
        self.connected.get_or_insert(now);
        if let Some(audio) = &mut self.audio {
            audio.due.get_or_insert(now);
        }
        if let Some(video) = &mut self.video {
            video.due.get_or_insert(now);
            let all: f64 = video.media.rates_bps.iter().sum();
            let aim = (all / MEDIA_SHARE + AUDIO_BPS) * AIM_MARGIN;
            self.session.call(|rtc| rtc.bwe().set_bitrate(Bitrate::from(0.0), Bitrate::from(aim)));
        }
    }

    fn on_message(&mut self, now: Time, bytes: &[u8]) {
        match serde_json::from_slice(bytes) {
            Ok(ToClient::Welcome { id }) => self.own = Some(id),
            Ok(ToClient::People { people }) => self.on_people(people),
            Ok(ToClient::Ping { sequence }) => self.tell(&FromClient::Pong { sequence }),
            Ok(ToClient::Notice { epoch, ceiling_bps }) => {
                self.noticed = now;
                let is_new = self.epoch != Some(epoch) || self.ceiling_bps != ceiling_bps;
                (self.epoch, self.ceiling_bps) = (Some(epoch), ceiling_bps);
                if is_new {
                    self.notices += 1;
                    self.report();
                }
            }
            _ => {}
        }
    }

    fn on_people(&mut self, people: Vec<ParticipantInfo>) {
        for line in self.lines.values_mut() {
            line.source = None;
        }
        for person in people {
            if Some(person.id) == self.own {
                continue;
            }
            for mid in [&person.audio_mid, &person.video_mid].into_iter().flatten() {
                if let Some(line) = self.lines.get_mut(&Mid::from(mid.as_str())) {
                    line.source = Some(person.id);
                }
            }
            if self.receptions.len() < MAX_RECEPTIONS || self.receptions.contains_key(&person.id) {
                self.receptions.entry(person.id).or_default().0 = person.name;
            }
        }
    }

    fn on_packet(&mut self, now: Time, packet: &RtpPacket) {
        let Some(mid) = self.line_of(packet.header.ssrc) else { return };
        let (session, pt) = (&mut self.session, packet.header.payload_type);
        let Some(line) = self.lines.get_mut(&mid) else { return };
        let mut nobody = (String::new(), Reception::default());
        let of_source = line.source.and_then(|source| self.receptions.get_mut(&source));
        let (_, reception) = of_source.unwrap_or(&mut nobody);
        if line.kind == MediaKind::Audio {
            reception.on_audio();
            return;
        }
        self.marked_packets +=
            u64::from(packet.header.ext_vals.user_values.get::<Mark>().is_some());
        let codec = match line.codec.filter(|(known, _)| *known == pt) {
            Some((_, codec)) => codec,
            None => {
                let codec = codec_of(session, pt);
                line.codec = Some((pt, codec));
                codec
            }
        };
        line.frames.insert(&Packet {
            sequence: *packet.seq_no,
            timestamp: packet.header.timestamp,
            marker: packet.header.marker,
            codec,
            payload: &packet.payload,
        });
        while let Some(frame) = line.frames.next(now) {
            reception.on_frame(now, frame.timestamp, frame.bytes);
        }
        let may_ask = line.asked.is_none_or(|asked| now.since(asked) >= KEY_FRAME_INTERVAL);
        if may_ask && line.frames.wants_key_frame(now) {
            line.asked = Some(now);
            session.call(|rtc| {
                if let Some(stream) = rtc.direct_api().stream_rx_by_mid(mid, None) {
                    stream.request_keyframe(KeyframeRequestKind::Pli);
                }
            });
        }
    }

    /// Line that a stream comes on.
    fn line_of(&mut self, ssrc: Ssrc) -> Option<Mid> {
        let known = self.lines.iter().find(|(_, line)| line.stream == Some(ssrc));
        if let Some((mid, _)) = known {
            return Some(*mid);
        }
        let mid = self.session.call(|rtc| {
            let mut api = rtc.direct_api();
            api.stream_rx(&ssrc).map(|stream| stream.mid())
        })??;
        let line = self.lines.get_mut(&mid)?;
        line.stream = Some(ssrc);
        line.frames = FrameBuffer::default();
        Some(mid)
    }

    fn report(&mut self) {
        let (epoch, outgoing_bps) = (self.epoch, self.estimate_bps);
        self.tell(&FromClient::Report { epoch, outgoing_bps });
    }

    /// Sends a message on the data channel; where it does not fit it is lost.
    fn tell(&mut self, message: &FromClient) {
        let (Some(channel), Ok(text)) = (self.channel, serde_json::to_vec(message)) else { return };
        self.session.call(|rtc| {
            if let Some(mut channel) = rtc.channel(channel) {
                let _ = channel.write(false, &text);
            }
        });
    }

    /// Leaves the call: the server is told.
    pub(super) fn leave(&mut self, now: Time, send: &mut dyn FnMut(&Transmit)) {
        self.tell(&FromClient::Leave);
        self.drain(now, send);
        self.session.call(|rtc| rtc.close());
        self.drain(now, send);
    }

    pub(super) fn summary(&self, now: Time) -> ClientSummary {
        let length_s = self.connected.map_or(0.0, |at| now.since(at).as_secs_f64());
        let rate = |bytes: u64| if length_s > 0.0 { bytes as f64 * 8.0 / length_s } else { 0.0 };
        let traffic = self.session.traffic;
        let mut received: Vec<_> =
            self.receptions.values().map(|(name, reception)| reception.summary(name)).collect();
        received.sort_by(|a, b| a.name.cmp(&b.name));
        ClientSummary {
            name: self.name.clone(),
            connected_after_s: self.connected.map(|at| at.since(self.started).as_secs_f64()),
            length_s,
            sent_bps: rate(traffic.sent_bytes),
            received_bps: rate(traffic.received_bytes),
            sent_frames: self.sent_frames,
            dropped_frames: self.dropped_frames(),
            marked_packets: self.marked_packets,
            notices: self.notices,
            ceiling_bps: self.ceiling_bps,
            estimate_bps: self.estimate_bps,
            received,
            failure: None,
        }
    }
}

/// Codec of a payload type; `None`: one whose packets are not read.
fn codec_of(session: &mut Session, pt: Pt) -> Option<VideoCodec> {
    let known = session.call(|rtc| {
        let mut all = rtc.codec_config().iter();
        all.find(|params| params.pt() == pt).map(|params| params.spec().codec)
    })??;
    match known {
        Codec::Vp8 => Some(VideoCodec::Vp8),
        Codec::Vp9 => Some(VideoCodec::Vp9),
        _ => None,
    }
}
