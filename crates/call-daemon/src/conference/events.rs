//! Consequences of a session's events.

use airlane_base::{Rate, Time};
use str0m::bwe::BweKind;
use str0m::media::{KeyframeRequest, MediaKind};
use str0m::rtp::RtpPacket;
use str0m::{Event, IceConnectionState};

use super::messages::{FromClient, ParticipantId, ToClient};
use super::participant::TrackState;
use super::{Conference, Participant};
use crate::clock::Clock;
use crate::media::answerer::is_up;
use crate::media::line::Line;
use crate::media::track::TrackPacket;
use crate::names::RoomName;

impl Conference {
    pub(super) fn on_event(&mut self, now: Time, id: ParticipantId, event: Event) {
        match event {
            Event::RtpPacket(packet) => self.on_packet(now, id, &packet),
            Event::KeyframeRequest(request) => self.on_key_frame_request(now, id, request),
            Event::ChannelData(data) => self.on_message(now, id, &data.data),
            Event::IceConnectionStateChange(state) => self.on_ice_state(now, id, state),
            other => {
                let Some(participant) = self.participants.get_mut(&id) else { return };
                match other {
                    Event::ChannelOpen(channel, _) => {
                        participant.channel = Some(channel);
                        participant.tell(&ToClient::Welcome { id });
                        self.ready.insert(id);
                        self.on_news(id);
                    }
                    Event::ChannelClose(channel) if participant.channel == Some(channel) => {
                        participant.channel = None;
                    }
                    Event::EgressBitrateEstimate(BweKind::Twcc { estimate, .. }) => {
                        participant.path.down_estimate = Some(Rate::from_bps(estimate.as_u64()));
                    }
                    Event::PeerStats(stats) => {
                        let loss = stats.egress_loss_fraction.map_or(0.0, f64::from);
                        participant.path.down_loss = loss;
                    }
                    _ => {}
                }
            }
        }
    }

    /// Has the members of a participant's room told about each other at the next tick.
    fn on_news(&mut self, id: ParticipantId) {
        let Some(participant) = self.participants.get(&id) else { return };
        if let Some(room) = self.rooms.get_mut(&participant.room) {
            room.has_news = true;
        }
    }

    fn on_ice_state(&mut self, now: Time, id: ParticipantId, state: IceConnectionState) {
        let Some(participant) = self.participants.get_mut(&id) else { return };
        // A link that is lost for a while comes back: the silence timeout says when it does not.
        if is_up(state) && !participant.is_connected {
            participant.is_connected = true;
            let room = participant.room.clone();
            self.assign_slots(now, &room);
        }
    }

    fn on_message(&mut self, now: Time, id: ParticipantId, bytes: &[u8]) {
        let Some(participant) = self.participants.get_mut(&id) else { return };
        if !participant.admits_message() {
            return;
        }
        match FromClient::read(bytes) {
            Some(FromClient::Tracks { audio, video, screen }) => {
                let has = |kind| participant.track(kind).is_some();
                let (has_audio, has_video) =
                    (audio && has(MediaKind::Audio), video && has(MediaKind::Video));
                let state = TrackState { has_audio, has_video, is_screen: screen && has_video };
                if participant.track_state != state {
                    participant.track_state = state;
                    self.on_news(id);
                }
            }
            Some(FromClient::Leave) => self.remove(now, id),
            Some(FromClient::Report { epoch, outgoing_bps }) => {
                participant.path.on_report(epoch, outgoing_bps);
            }
            Some(FromClient::Pong { sequence }) => participant.path.on_pong(now, sequence),
            None => {}
        }
    }

    /// Forwards a packet to all who receive its publisher.
    fn on_packet(&mut self, now: Time, id: ParticipantId, packet: &RtpPacket) {
        let Some(publisher) = self.participants.get_mut(&id) else { return };
        if let Some(sent) = packet.header.ext_vals.abs_send_time {
            let arrived = self.clock.instant(now);
            let delay = match arrived.checked_duration_since(sent) {
                Some(delay) => delay.as_secs_f64(),
                None => -sent.saturating_duration_since(arrived).as_secs_f64(),
            };
            publisher.path.on_uplink(now, delay);
        }
        let Some(track) = publisher.track_of(packet) else { return };
        let track = &mut publisher.tracks[track];
        let Some(from) = track.packet(now, &mut publisher.session, packet) else { return };
        let Some(room) = self.rooms.get_mut(&publisher.room) else { return };
        if from.kind == MediaKind::Audio
            && let Some(level) = packet.header.ext_vals.audio_level
        {
            // str0m has it as a negative number of decibels.
            room.speaker.on_level(now, id, level.unsigned_abs());
        }
        let Some(receivers) = room.receivers_of(id) else { return };
        let clock = self.clock;
        for (receiver, slot) in receivers.iter() {
            let Some(to) = self.participants.get_mut(receiver) else { continue };
            forward(to, *slot, (clock, now), &from);
            self.ready.insert(*receiver);
        }
    }

    fn on_key_frame_request(&mut self, now: Time, id: ParticipantId, request: KeyframeRequest) {
        let Some(participant) = self.participants.get(&id) else { return };
        let Some((slot, MediaKind::Video)) = participant.slot_of(request.mid) else { return };
        let encoding = participant.lines[slot].video.as_ref().map_or(0, Line::encoding);
        if let Some(source) = participant.slots.sources().get(slot).copied().flatten() {
            self.request_key_frame(now, source, encoding);
        }
    }

    /// Asks a participant for a key frame of an encoding of its video.
    pub(super) fn request_key_frame(&mut self, now: Time, source: ParticipantId, encoding: u8) {
        let Some(participant) = self.participants.get_mut(&source) else { return };
        let Some(track) = participant.track(MediaKind::Video) else { return };
        participant.tracks[track].request_key_frame(now, &mut participant.session, encoding);
        self.ready.insert(source);
    }

    /// Gives the slots of a room to those who can be received.
    pub(super) fn assign_slots(&mut self, now: Time, name: &RoomName) {
        let Some(room) = self.rooms.get_mut(name) else { return };
        let receivable: Vec<ParticipantId> = room
            .by_speech()
            .filter(|id| self.participants.get(id).is_some_and(Participant::is_receivable))
            .collect();
        let mut wanted = Vec::new();
        for id in &room.members {
            let Some(participant) = self.participants.get_mut(id) else { continue };
            let others: Vec<_> = receivable.iter().copied().filter(|of| of != id).collect();
            for slot in participant.slots.assign(&others) {
                let lines = &mut participant.lines[slot];
                for line in [&mut lines.audio, &mut lines.video].into_iter().flatten() {
                    line.begin_source();
                }
                wanted.extend(participant.slots.sources()[slot]);
            }
        }
        let slots_of = |id: &ParticipantId| {
            let slots = self.participants.get(id).map(|of| of.slots.sources()).unwrap_or_default();
            let id = *id;
            slots.iter().enumerate().filter_map(move |(slot, of)| Some(((*of)?, (id, slot))))
        };
        let all: Vec<_> = room.members.iter().flat_map(slots_of).collect();
        room.set_receivers(all.into_iter());
        room.has_news = true;
        for source in wanted {
            self.request_key_frame(now, source, 0);
        }
    }
}

/// Forwards a packet into a slot.
fn forward(to: &mut Participant, slot: usize, at: (Clock, Time), from: &TrackPacket<'_>) {
    let Some(lines) = to.lines.get_mut(slot) else { return };
    let line = if from.kind == MediaKind::Audio { &mut lines.audio } else { &mut lines.video };
    if let Some(line) = line {
        line.forward(&mut to.session, at, from);
    }
}
