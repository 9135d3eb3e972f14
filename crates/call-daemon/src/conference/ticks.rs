//! Periodic work for all rooms.

use std::collections::{BTreeMap, BTreeSet};

use airlane_base::Time;
use airlane_sfu::LayerTable;
use str0m::media::MediaKind;

use super::messages::{ParticipantId, ToClient};
use super::{Conference, QUALITY_INTERVAL};
use crate::names::RoomName;

impl Conference {
    /// Ends what has been silent for too long, finds speakers and tells news.
    pub(super) fn tick(&mut self, now: Time) {
        let limits = self.limits;
        let mut gone = Vec::new();
        for participant in self.participants.values_mut() {
            participant.on_tick(now);
            let timeout = match participant.is_connected {
                true => limits.silence_timeout,
                false => limits.connect_timeout,
            };
            if now.since(participant.heard) >= timeout {
                gone.push(participant.id);
            }
        }
        for id in gone {
            self.remove(now, id);
        }
        let names: Vec<RoomName> = self.rooms.keys().cloned().collect();
        for name in names {
            self.find_speaker(now, &name);
            self.coordinate(now, &name);
            self.divide_downlinks(now, &name);
            self.tell_people(&name);
        }
        if now >= self.next_quality {
            self.next_quality = now + QUALITY_INTERVAL;
            self.tell_qualities();
        }
        let ids = self.participants.keys().copied();
        self.ready.extend(ids);
    }

    fn find_speaker(&mut self, now: Time, name: &RoomName) {
        let Some(room) = self.rooms.get_mut(name) else { return };
        let Some(speaker) = room.speaker.speaker(now) else { return };
        if !room.on_speaker(speaker) {
            return;
        }
        let members = room.members.clone();
        self.tell(&members, &ToClient::Speaker { id: Some(speaker) });
        self.assign_slots(now, name);
    }

    /// Chooses the layers that each member of a room gets, and asks for the key frames that this takes.
    fn divide_downlinks(&mut self, now: Time, name: &RoomName) {
        let Some(room) = self.rooms.get(name) else { return };
        let members = room.members.clone();
        let mut layers: BTreeMap<ParticipantId, LayerTable> = BTreeMap::new();
        let mut wanted: BTreeSet<(ParticipantId, u8)> = BTreeSet::new();
        let mut screens: BTreeSet<ParticipantId> = BTreeSet::new();
        for id in &members {
            let Some(source) = self.participants.get_mut(id) else { continue };
            if source.track_state.is_screen {
                screens.insert(*id);
            }
            let Some(track) = source.track(MediaKind::Video) else { continue };
            let track = &mut source.tracks[track];
            wanted.extend(track.wants_key_frame().map(|encoding| (*id, encoding)));
            if let Some(table) = track.layers(now) {
                layers.insert(*id, table);
            }
        }
        let mut encodings: BTreeMap<ParticipantId, u8> = BTreeMap::new();
        for id in &members {
            let Some(to) = self.participants.get_mut(id) else { continue };
            wanted.extend(to.divide(now, &layers, &screens, self.limits.max_bitrate_bps));
            for (source, encoding) in to.wanted_encodings() {
                let highest = encodings.entry(source).or_default();
                *highest = encoding.max(*highest);
            }
        }
        for id in &members {
            let Some(source) = self.participants.get_mut(id) else { continue };
            source.demand(now, encodings.get(id).copied());
        }
        for (source, encoding) in wanted {
            self.request_key_frame(now, source, encoding);
        }
    }

    /// Sends a message to participants.
    fn tell(&mut self, members: &[ParticipantId], message: &ToClient) {
        for id in members {
            let Some(participant) = self.participants.get_mut(id) else { continue };
            participant.tell(message);
            self.ready.insert(*id);
        }
    }

    /// Tells everybody in a room who there is, and who speaks, if that has changed.
    fn tell_people(&mut self, name: &RoomName) {
        let Some(room) = self.rooms.get_mut(name) else { return };
        if !std::mem::take(&mut room.has_news) {
            return;
        }
        let speaker = room.current_speaker();
        let members = room.members.clone();
        for receiver in &members {
            let Some(to) = self.participants.get(receiver) else { continue };
            if to.channel.is_none() {
                continue;
            }
            let person = |id: &ParticipantId| {
                let of = self.participants.get(id)?;
                let is_there = *id == *receiver || of.is_receivable();
                let slot = to.slots.sources().iter().position(|source| *source == Some(*id));
                is_there.then(|| of.person(slot.and_then(|slot| to.lines.get(slot))))
            };
            let people = members.iter().filter_map(person).collect();
            let Some(to) = self.participants.get_mut(receiver) else { continue };
            to.tell(&ToClient::People { people });
            to.tell(&ToClient::Speaker { id: speaker });
            self.ready.insert(*receiver);
        }
    }
}
