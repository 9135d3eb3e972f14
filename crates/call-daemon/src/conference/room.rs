//! Room: its participants, and which of them receive whom.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::messages::ParticipantId;
use airlane_base::Time;
use airlane_call::{Coordination, CoordinationConfig};

use crate::media::speaker::ActiveSpeaker;

/// Slot of a participant.
pub(crate) type Receiver = (ParticipantId, usize);

/// A room.
pub(crate) struct Room {
    /// Participants in the order of their arrival.
    pub(crate) members: Vec<ParticipantId>,
    /// Slots that have a participant as their source.
    receivers: BTreeMap<ParticipantId, Arc<[Receiver]>>,
    pub(crate) speaker: ActiveSpeaker<ParticipantId>,
    /// Participants who have spoken, the most recent first.
    speakers: Vec<ParticipantId>,
    /// True if participants are to be told about each other.
    pub(crate) has_news: bool,
    /// Coordination of uplinks and downlinks; `None`: there is none.
    pub(crate) coordination: Option<Coordination<ParticipantId>>,
}

impl Room {
    pub(crate) fn new(coordination: Option<CoordinationConfig>, now: Time) -> Self {
        Self {
            members: Vec::new(),
            receivers: BTreeMap::new(),
            speaker: ActiveSpeaker::new(),
            speakers: Vec::new(),
            has_news: false,
            coordination: coordination.map(|config| Coordination::new(config, now)),
        }
    }

    /// Slots that have this participant as their source.
    pub(crate) fn receivers_of(&self, source: ParticipantId) -> Option<Arc<[Receiver]>> {
        self.receivers.get(&source).cloned()
    }

    /// Takes the sources of all slots.
    pub(crate) fn set_receivers(&mut self, all: impl Iterator<Item = (ParticipantId, Receiver)>) {
        let mut receivers: BTreeMap<ParticipantId, Vec<Receiver>> = BTreeMap::new();
        for (source, receiver) in all {
            receivers.entry(source).or_default().push(receiver);
        }
        self.receivers = receivers.into_iter().map(|(source, all)| (source, all.into())).collect();
    }

    /// Takes note of who speaks. True if that has changed.
    pub(crate) fn on_speaker(&mut self, speaker: ParticipantId) -> bool {
        if self.speakers.first() == Some(&speaker) {
            return false;
        }
        self.speakers.retain(|of| *of != speaker);
        self.speakers.insert(0, speaker);
        true
    }

    /// Participant who speaks, or spoke last.
    pub(crate) fn current_speaker(&self) -> Option<ParticipantId> {
        self.speakers.first().copied()
    }

    /// Members, those who spoke most recently first, then in the order of their arrival.
    pub(crate) fn by_speech(&self) -> impl Iterator<Item = ParticipantId> {
        let silent = self.members.iter().filter(|id| !self.speakers.contains(id));
        self.speakers.iter().chain(silent).copied()
    }

    pub(crate) fn remove(&mut self, id: ParticipantId) {
        self.members.retain(|of| *of != id);
        self.speakers.retain(|of| *of != id);
        self.speaker.forget(id);
        self.receivers.remove(&id);
        self.has_news = true;
    }
}
