//! Detection of the active speaker from the audio of all participants.

use std::collections::BTreeMap;
use std::time::Duration;

use airlane_base::Time;

use crate::wire::ParticipantId;

/// Speech that counts: a shorter noise makes nobody the speaker.
const MIN_SPEECH: Duration = Duration::from_millis(300);
/// Silence that ends it.
const MIN_SILENCE: Duration = Duration::from_millis(300);
/// Time without speech after which the last speaker is none any more.
const MAX_SILENCE: Duration = Duration::from_secs(3);

/// Detector of the active speaker, from the audio of all.
#[derive(Clone, Debug, Default)]
pub struct ActiveSpeaker {
    /// By participant, when its speech began and when it was heard last.
    voices: BTreeMap<ParticipantId, (Time, Time)>,
    speaker: Option<ParticipantId>,
}

impl ActiveSpeaker {
    /// Takes a frame of audio in which this participant speaks. Returns it if it becomes the speaker.
    pub fn on_speech(&mut self, now: Time, id: ParticipantId) -> Option<ParticipantId> {
        let (began, heard) = self.voices.entry(id).or_insert((now, now));
        if now - *heard > MIN_SILENCE {
            *began = now;
        }
        *heard = now;
        let counts = now - *began >= MIN_SPEECH;
        // Two speak at once: whoever spoke first keeps the word until the end of it.
        let is_free = self.speaker.is_none_or(|of| {
            self.voices.get(&of).is_none_or(|(_, heard)| now - *heard > MIN_SILENCE)
        });
        (counts && is_free && self.speaker != Some(id)).then(|| {
            self.speaker = Some(id);
            id
        })
    }

    /// The participant who speaks, or did a moment ago.
    pub fn speaker(&self, now: Time) -> Option<ParticipantId> {
        let id = self.speaker?;
        let (_, heard) = self.voices.get(&id)?;
        (now - *heard <= MAX_SILENCE).then_some(id)
    }

    /// Forgets a participant that has left.
    pub fn forget(&mut self, id: ParticipantId) {
        self.voices.remove(&id);
        self.speaker = self.speaker.filter(|of| *of != id);
    }
}
