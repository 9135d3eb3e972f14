//! Participant: its session, the tracks that it publishes, and the lines on which it receives.

use std::collections::{BTreeMap, BTreeSet};

use airlane_base::{Rate, Time};
use airlane_sfu::LayerTable;
use str0m::bwe::Bitrate;
use str0m::channel::ChannelId;
use str0m::media::{MediaKind, Mid};
use str0m::rtp::{RtpPacket, Ssrc};

use super::audio_rate::AudioRate;
use super::estimator_targets::{Bitrates, Downlink, EstimatorTargets};
use super::messages::{ParticipantId, ParticipantInfo, ToClient};
use super::shares::{RateDivision, Video, divide};
use super::slots::Slots;
use crate::channel::Channel;
use crate::media::answerer::AnsweredSession;
use crate::media::line::Line;
use crate::media::session::{MEDIA_SHARE, Session};
use crate::media::track::Track;
use crate::names::RoomName;

/// Messages of a client that are read between two ticks.
const MAX_MESSAGES_PER_TICK: u32 = 50;

/// Kind of participation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A page or a program that sends and receives, with a data channel.
    Member,
    /// A sender alone (WHIP).
    Publisher,
    /// A receiver alone (WHEP), which the others do not see.
    Viewer,
}

/// State of a client's tracks, as the client says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TrackState {
    pub(crate) has_audio: bool,
    pub(crate) has_video: bool,
    pub(crate) is_screen: bool,
}

/// Lines of one slot.
#[derive(Debug, Default)]
pub(crate) struct SlotLines {
    pub(crate) audio: Option<Line>,
    pub(crate) video: Option<Line>,
}

/// A participant.
pub(crate) struct Participant {
    pub(crate) id: ParticipantId,
    pub(crate) room: RoomName,
    pub(crate) name: String,
    pub(crate) role: Role,
    /// Secret name under which it may be ended over HTTP.
    pub(crate) resource: String,
    /// Name of its session in STUN requests.
    pub(crate) fragment: String,
    pub(crate) session: Session,
    pub(crate) tracks: Vec<Track>,
    pub(crate) lines: Vec<SlotLines>,
    pub(crate) slots: Slots<ParticipantId>,
    pub(crate) channel: Option<ChannelId>,
    pub(crate) track_state: TrackState,
    /// Time of the last datagram that came.
    pub(crate) heard: Time,
    pub(crate) is_connected: bool,
    /// Its channel: capacity, estimates, and what is held.
    pub(crate) path: Channel,
    aim: EstimatorTargets,
    audio: AudioRate,
    /// True if some of what others send is not forwarded to it for lack of bandwidth.
    pub(crate) is_thinned: bool,
    /// Messages that were read since the last tick.
    messages: u32,
}

/// Description of a participant who joins.
pub(crate) struct JoiningParticipant {
    pub(crate) id: ParticipantId,
    pub(crate) room: RoomName,
    pub(crate) name: String,
    pub(crate) role: Role,
    pub(crate) resource: String,
    /// Highest bitrate of each direction that is of use.
    pub(crate) max_bitrate: Rate,
}

impl Participant {
    pub(crate) fn new(now: Time, joining: JoiningParticipant, answered: AnsweredSession) -> Self {
        let JoiningParticipant { id, room, name, role, resource, max_bitrate } = joining;
        let AnsweredSession { rtc, fragment, lines: media, .. } = answered;
        let track =
            |line: &crate::media::offer::MediaLine| Track::of(now, &rtc, line.mid, line.kind);
        let tracks: Vec<Track> = if role == Role::Viewer {
            Vec::new()
        } else {
            media.iter().filter_map(track).collect()
        };
        let receiving = |kind: MediaKind| {
            let of_kind = media.iter().filter(move |line| line.kind == kind);
            of_kind.filter_map(|line| Line::of(&rtc, line.mid, kind)).collect::<Vec<_>>()
        };
        let (mut audio, mut video) =
            (receiving(MediaKind::Audio).into_iter(), receiving(MediaKind::Video).into_iter());
        let mut lines = Vec::new();
        loop {
            match (audio.next(), video.next()) {
                (None, None) => break,
                (audio, video) => lines.push(SlotLines { audio, video }),
            }
        }
        let has = |kind| tracks.iter().any(|track| track.kind == kind);
        let track_state = TrackState {
            has_audio: has(MediaKind::Audio),
            has_video: has(MediaKind::Video),
            is_screen: false,
        };
        Self {
            id,
            room,
            name,
            role,
            resource,
            fragment,
            session: Session::new(rtc),
            tracks,
            slots: Slots::new(lines.len()),
            lines,
            channel: None,
            track_state,
            heard: now,
            is_connected: false,
            path: Channel::new(Rate::from_bps(max_bitrate.bps().saturating_mul(2))),
            aim: EstimatorTargets::default(),
            audio: AudioRate::default(),
            is_thinned: false,
            messages: 0,
        }
    }

    /// Track that a stream is of, by its media line where the stream is new.
    pub(crate) fn track_of(&mut self, packet: &RtpPacket) -> Option<usize> {
        let ssrc: Ssrc = packet.header.ssrc;
        if let Some(track) = self.tracks.iter().position(|track| track.has_stream(ssrc)) {
            return Some(track);
        }
        let mid = self.session.call(|rtc| {
            let mut api = rtc.direct_api();
            api.stream_rx(&ssrc).map(|stream| stream.mid())
        })??;
        self.tracks.iter().position(|track| track.mid == mid)
    }

    /// Slot and kind of the line of this name.
    pub(crate) fn slot_of(&self, mid: Mid) -> Option<(usize, MediaKind)> {
        self.lines.iter().enumerate().find_map(|(slot, lines)| {
            let is = |line: &Option<Line>| line.as_ref().is_some_and(|line| line.mid == mid);
            if is(&lines.video) {
                return Some((slot, MediaKind::Video));
            }
            is(&lines.audio).then_some((slot, MediaKind::Audio))
        })
    }

    /// The track of this kind.
    pub(crate) fn track(&self, kind: MediaKind) -> Option<usize> {
        self.tracks.iter().position(|track| track.kind == kind)
    }

    /// Sends a message on the data channel. False if there is none, or no room: states are told again.
    pub(crate) fn tell(&mut self, message: &ToClient) -> bool {
        let Some(channel) = self.channel else { return false };
        let text = message.text();
        let written = self.session.call(|rtc| {
            let mut channel = rtc.channel(channel)?;
            channel.write(false, &text).ok()
        });
        written.flatten() == Some(true)
    }

    /// True if another message of it may be read before the next tick.
    pub(crate) fn admits_message(&mut self) -> bool {
        self.messages += 1;
        self.messages <= MAX_MESSAGES_PER_TICK
    }

    /// Forgets the messages of the last tick, samples the channel, and asks for a round trip.
    pub(crate) fn on_tick(&mut self, now: Time) {
        self.messages = 0;
        self.path.sample(now, self.session.traffic, self.is_thinned);
        let audio = self.lines.iter().filter_map(|lines| lines.audio.as_ref());
        self.audio.sample(now, audio.map(|line| line.forwarded_bytes).sum());
        if self.channel.is_some() {
            let sequence = self.path.ping(now);
            self.tell(&ToClient::Ping { sequence });
        }
    }

    /// Divides its downlink over the videos that it receives. Key frames that this takes, by source and encoding.
    pub(crate) fn divide(
        &mut self,
        now: Time,
        layers: &BTreeMap<ParticipantId, LayerTable>,
        screens: &BTreeSet<ParticipantId>,
        max_bps: u64,
    ) -> Vec<(ParticipantId, u8)> {
        let budget = self.path.down_bps(now).min(max_bps as f64) * MEDIA_SHARE - self.audio.bps();
        let mut places = Vec::new();
        let mut videos = Vec::new();
        for (slot, source) in self.slots.sources().iter().enumerate() {
            let Some(source) = source else { continue };
            let Some(line) = &self.lines[slot].video else { continue };
            let Some(layers) = layers.get(source) else { continue };
            places.push((slot, *source));
            let is_first = screens.contains(source);
            videos.push(Video { layers: layers.clone(), current: line.target(), is_first });
        }
        let division = divide(budget, &videos);
        let mut wanted = Vec::new();
        for ((slot, source), target) in places.into_iter().zip(&division.targets) {
            let Some(line) = &mut self.lines[slot].video else { continue };
            line.set_target(*target);
            wanted.extend(line.wants_key_frame().map(|encoding| (source, encoding)));
        }
        self.is_thinned = division.next.is_some();
        self.aim(now, &division, max_bps);
        wanted
    }

    /// Tells the downlink's estimator how much to look for, and how much of it to keep up by padding.
    fn aim(&mut self, now: Time, division: &RateDivision, max_bps: u64) {
        let of_packets = |media: f64| (media + self.audio.bps()) / MEDIA_SHARE;
        let of_packets = RateDivision {
            targets: Vec::new(),
            total: of_packets(division.total),
            next: division.next.map(of_packets),
            most: of_packets(division.most),
        };
        let downlink = Downlink {
            estimate: self.path.down_estimate.map_or(0.0, Rate::as_f64),
            held: self.path.down_target().map(Rate::as_f64),
            freed: self.path.freed_bps(),
            most: max_bps as f64,
        };
        if let Some(Bitrates { least, desired }) = self.aim.update(now, &of_packets, downlink) {
            let (least, desired) = (Bitrate::from(least), Bitrate::from(desired));
            self.session.call(|rtc| rtc.bwe().set_bitrate(least, desired));
        }
    }

    /// Sources of the videos that it receives, or waits for, with the encoding.
    pub(crate) fn wanted_encodings(&self) -> impl Iterator<Item = (ParticipantId, u8)> + '_ {
        self.slots.sources().iter().zip(&self.lines).filter_map(|(source, lines)| {
            let line = lines.video.as_ref()?;
            let target = line.target()?;
            Some(((*source)?, target.spatial.max(line.encoding())))
        })
    }

    /// Takes the highest encoding of its video that others want, and tells the client which it is to send.
    pub(crate) fn demand(&mut self, now: Time, wanted: Option<u8>) {
        let Some(track) = self.track(MediaKind::Video) else { return };
        let demand = &mut self.tracks[track].demand;
        demand.update(now, wanted);
        if demand.has_news {
            let max = demand.max_encoding();
            let is_told = self.tell(&ToClient::Encodings { max });
            self.tracks[track].demand.has_news = !is_told;
        }
    }

    /// True if others can receive it.
    pub(crate) fn is_receivable(&self) -> bool {
        self.is_connected && !self.tracks.is_empty()
    }

    /// The participant as the one with these slots sees it.
    pub(crate) fn person(&self, at: Option<&SlotLines>) -> ParticipantInfo {
        let mid = |line: Option<&Line>| line.map(|line| line.mid.to_string());
        ParticipantInfo {
            id: self.id,
            name: self.name.clone(),
            has_audio: self.track_state.has_audio,
            has_video: self.track_state.has_video,
            is_screen: self.track_state.is_screen,
            audio_mid: mid(at.and_then(|at| at.audio.as_ref())),
            video_mid: mid(at.and_then(|at| at.video.as_ref())),
        }
    }
}
