//! The receiving side: the frames of others, in the order in which they are shown.

use std::sync::Arc;

use airlane_base::Time;
use airlane_quic::RecvStream;
use bytes::Bytes;

use super::{MAX_TRACKS, Participant, ParticipantEvent, ReceivedRecord, body};
use crate::arriving::{each_stream, read_header};
use crate::error::CallError;
use crate::media_transport::exchange;
use crate::playout::Playout;
use crate::wire::{FromParticipant, HEADER_BYTES, MediaHeader, Track};

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

    /// Exchanges video over the media transport until it fails; without one it never ends.
    pub(super) async fn exchange(self: &Arc<Self>) -> CallError {
        let participant = self.clone();
        let arrived = move |header, payload| participant.on_message(header, payload);
        exchange(self.config.media.as_ref(), &self.sender, &self.clock, arrived).await
    }

    fn on_message(&self, header: [u8; HEADER_BYTES], payload: Bytes) -> Result<(), CallError> {
        let header = self.on_header(header)?;
        match payload.len() == header.payload_bytes as usize {
            true => self.on_frame(header, &payload),
            false => Err(CallError::Protocol("a message of another length than its header says")),
        }
    }

    async fn receive_frame(&self, stream: &mut RecvStream) -> Result<(), CallError> {
        let (header, first) = read_header(stream).await?;
        let header = self.on_header(header)?;
        let payload = self.arriving.read_payload(stream, first, header.payload_bytes).await?;
        self.on_frame(header, &payload)
    }

    /// Decodes a header, and follows the notice in it.
    fn on_header(&self, header: [u8; HEADER_BYTES]) -> Result<MediaHeader, CallError> {
        let (header, notice) = MediaHeader::decode_down(header)?;
        let natural = self.natural();
        self.control.lock().on_notice(self.clock.now(), notice, natural);
        Ok(header)
    }

    /// Takes a frame that has arrived whole.
    fn on_frame(&self, header: MediaHeader, payload: &Bytes) -> Result<(), CallError> {
        if header.track == Track::Padding {
            return Ok(());
        }
        if !body(&header).matches(0, payload) {
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
        } else if track.playout.is_waiting() && now - track.progress > self.config.key_frame_timeout
        {
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
