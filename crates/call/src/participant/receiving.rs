//! The receiving side: the frames of others, in the order in which they are shown.

use std::sync::Arc;

use airlane_base::Time;
use airlane_quic::RecvStream;

use super::{KEY_FRAME_TIMEOUT, MAX_TRACKS, Participant, ParticipantEvent, ReceivedRecord, body};
use crate::arriving::{each_stream, read_header};
use crate::error::CallError;
use crate::playout::Playout;
use crate::wire::{FromParticipant, MediaHeader, Track};

/// State of a received track.
#[derive(Default)]
pub(super) struct Received {
    playout: Playout<ReceivedRecord>,
    /// Time at which a frame was shown last, or a key frame asked for.
    progress: Time,
}

impl Participant {
    /// Receives the frames of others until something fails.
    pub(super) async fn receive(self: &Arc<Self>) -> CallError {
        let receive = |mut stream| {
            let participant = self.clone();
            async move { participant.receive_frame(&mut stream).await }
        };
        each_stream(&self.connection, &self.clock, receive).await
    }

    pub(super) async fn receive_frame(&self, stream: &mut RecvStream) -> Result<(), CallError> {
        let (header, first) = read_header(stream).await?;
        let (header, notice) = MediaHeader::decode_down(header)?;
        let natural = self.natural();
        self.control.lock().on_notice(self.clock.now(), notice, natural);
        let payload = self.arriving.read_payload(stream, first, header.payload_bytes).await?;
        if header.track == Track::Padding {
            return Ok(());
        }
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
        let shown = track.playout.on_frame(&header, record);
        if !shown.is_empty() {
            track.progress = now;
        } else if track.playout.is_waiting() && now - track.progress > KEY_FRAME_TIMEOUT {
            track.progress = now;
            self.say(FromParticipant::RequestKeyFrame(header.source, header.track));
        }
        drop(tracks);
        for record in shown {
            (self.note)(ParticipantEvent::Shown(ReceivedRecord { shown: Some(now), ..record }));
        }
        Ok(())
    }
}
