//! The sending side: a participant's videos and audio, and when each is sent.

use std::sync::atomic::Ordering;

use airlane_base::{Rate, Time};
use airlane_runtime::RuntimeExt;
use bytes::Bytes;

use super::{AUDIO_INTERVAL, EncodedRecord, Participant, ParticipantEvent, body};
use crate::encoder::{EncodedFrame, Encoder};
use crate::layers::LayerTable;
use crate::queue::Frame;
use crate::rate::Guidance;
use crate::speech::Spurts;
use crate::wire::{FromParticipant, MAX_FRAME_BYTES, MediaHeader, Track};

impl Participant {
    /// Says what the server does not know of a participant that has just joined.
    pub(super) fn introduce(&self) {
        if self.config.camera.is_none() {
            self.say(FromParticipant::Mute(Track::Camera));
        } else if self.config.layers != LayerTable::default() {
            self.say(FromParticipant::Publish(Track::Camera, self.config.layers.clone()));
        }
    }

    pub(super) fn say(&self, message: FromParticipant) {
        // The other end is gone with the participant.
        drop(self.messages.send(message));
    }

    pub(super) fn is_sent(&self, track: Track) -> bool {
        let is_wanted = track != Track::Camera || !self.is_paused.load(Ordering::Relaxed);
        is_wanted && self.sent.lock().contains(&track)
    }

    /// Mutes tracks and sends them again, each at its time.
    pub(super) async fn change(&self) {
        let joined = self.clock.now();
        for change in &self.config.changes {
            self.clock.sleep_until(joined + change.at).await;
            let track = change.track;
            let has_changed = match change.is_sent {
                true => self.sent.lock().insert(track),
                false => self.sent.lock().remove(&track),
            };
            if !has_changed || !self.videos.lock().contains_key(&track) {
                continue;
            }
            if change.is_sent {
                self.request_key_frame(track);
                self.say(FromParticipant::Publish(track, self.config.layers.clone()));
            } else {
                self.say(FromParticipant::Mute(track));
            }
        }
        std::future::pending().await
    }

    /// Bitrate of a video, and what the uplink is held to. A screen gets what it can use, a camera the rest.
    pub(super) fn rate(&self, now: Time, track: Track) -> (Rate, Option<Rate>) {
        let (target, retained) = {
            let mut control = self.control.lock();
            (control.target(now), control.take_retained(now))
        };
        let target = target.filter(|_| self.config.deviation.follows_notices);
        if let Some(media) = &self.config.media {
            media.set_max_rate(target);
        }
        let pending = self.sender.bytes();
        // A controller's estimate falls later than the rate at which what waits leaves.
        let service = self.sender.service_rate(now);
        let estimate = self.natural().map(|rate| service.map_or(rate, |service| rate.min(service)));
        let guidance = Guidance { estimate, pending, target, retained };
        let rate = self.bitrate.lock().update(now, &guidance);
        let screen = self.config.screen.filter(|_| self.is_sent(Track::Screen));
        let of_screen = screen.map_or(Rate::ZERO, |screen| screen.max_rate.min(rate));
        let rate = match track {
            Track::Screen => of_screen,
            _ => Rate::from_bps(rate.bps() - of_screen.bps()),
        };
        (rate, target)
    }

    /// Sends the frames of a video while it is sent, for ever.
    pub(super) async fn film(&self, track: Track) {
        let interval = self.videos.lock().get(&track).map(Encoder::frame_interval);
        let Some(interval) = interval else { return std::future::pending().await };
        let mut at = self.clock.now();
        loop {
            self.clock.sleep_until(at).await;
            at += interval;
            let now = self.clock.now();
            if !self.is_sent(track) {
                continue;
            }
            for (_, broken) in self.sender.take_wanted() {
                self.request_key_frame(broken);
            }
            let (rate, target) = self.rate(now, track);
            let Some(encoded) = self.encode(now, track, rate) else { return };
            self.send(now, track, &encoded, (rate, target));
        }
    }

    pub(super) fn encode(&self, now: Time, track: Track, rate: Rate) -> Option<EncodedFrame> {
        Some(self.videos.lock().get_mut(&track)?.encode(now, rate, MAX_FRAME_BYTES))
    }

    /// Makes a video's next frame a key frame.
    pub(super) fn request_key_frame(&self, track: Track) {
        if let Some(video) = self.videos.lock().get_mut(&track) {
            video.request_key_frame();
        }
    }

    /// Sends the frames of audio while it is sent, for ever.
    pub(super) async fn talk(&self) {
        let Some(rate) = self.config.audio else { return std::future::pending().await };
        let bytes = rate.bytes_in(AUDIO_INTERVAL).max(1) as u32;
        let mut at = self.clock.now();
        let rng = || self.clock.seed().split("speech").rng();
        let mut spurts = self.config.speech.map(|speech| Spurts::new(speech, rng(), at));
        for number in 0.. {
            self.clock.sleep_until(at).await;
            at += AUDIO_INTERVAL;
            let now = self.clock.now();
            let has_speech = spurts.as_mut().is_some_and(|spurts| spurts.speaks(now));
            if self.is_sent(Track::Audio) {
                let header = MediaHeader {
                    track: Track::Audio,
                    is_key: true,
                    temporal_layer: 0,
                    reference_distance: 1,
                    has_speech,
                    source: self.id,
                    frame: number,
                    captured: now.since_start(),
                    payload_bytes: bytes,
                };
                self.push(now, header, (rate, None));
            }
        }
    }

    pub(super) fn send(
        &self,
        now: Time,
        track: Track,
        encoded: &EncodedFrame,
        rates: (Rate, Option<Rate>),
    ) {
        let header = MediaHeader {
            track,
            is_key: encoded.is_key,
            temporal_layer: encoded.temporal_layer,
            reference_distance: encoded.reference_distance,
            has_speech: false,
            source: self.id,
            frame: encoded.number,
            captured: now.since_start(),
            payload_bytes: encoded.bytes,
        };
        self.push(now, header, rates);
    }

    pub(super) fn push(
        &self,
        now: Time,
        header: MediaHeader,
        (rate, target): (Rate, Option<Rate>),
    ) {
        let payload = payload(&header);
        let record = EncodedRecord {
            at: now,
            track: header.track,
            frame: header.frame,
            is_key: header.is_key,
            bytes: header.payload_bytes,
            rate,
            target,
        };
        (self.note)(ParticipantEvent::Encoded(record));
        self.sender.push(now, Frame { header, payload });
    }
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
