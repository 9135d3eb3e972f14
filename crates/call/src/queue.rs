//! Frames that wait for a connection to have room.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use airlane_base::{Rate, Time};
use bytes::Bytes;

use crate::layered_queue::{LayeredFrame, LayeredQueue};
use crate::queue_config::{Dropping, QueueConfig};
use crate::wire::{MediaHeader, ParticipantId, Track};

/// A frame with its payload.
#[derive(Clone, Debug)]
pub struct Frame {
    /// Header; the length in it is that of the payload.
    pub header: MediaHeader,
    /// Payload.
    pub payload: Bytes,
}

impl Frame {
    /// Bytes that mean nothing.
    pub(crate) fn padding(bytes: u32) -> Self {
        let header = MediaHeader {
            track: Track::Padding,
            is_key: false,
            temporal_layer: 0,
            reference_distance: 1,
            has_speech: false,
            source: ParticipantId(0),
            frame: 0,
            captured: Duration::ZERO,
            payload_bytes: bytes,
        };
        Self { header, payload: Bytes::from(vec![0; bytes as usize]) }
    }

    /// The frame cut to its first `bytes`, if it has more.
    #[must_use]
    pub fn cut(&self, bytes: u32) -> Self {
        let payload_bytes = bytes.min(self.header.payload_bytes);
        let rest = &self.payload[..payload_bytes as usize];
        // A slice keeps the whole payload in memory: a small part of it is copied.
        let payload = match rest.len() * 2 < self.payload.len() {
            true => Bytes::copy_from_slice(rest),
            false => self.payload.slice_ref(rest),
        };
        Self { header: MediaHeader { payload_bytes, ..self.header }, payload }
    }
}

/// Frames that wait, in the order of their arrival. Audio has a queue of its own and is only dropped where
/// memory ends; screens leave before cameras.
///
/// A frame of video that waited too long is dropped, and with it the later ones of its track up to the next
/// key frame, which could not be decoded. A frame of a higher temporal layer takes with it only those of such layers,
/// up to the next one of layer 0. By [`Dropping::Octopus`] see [`LayeredQueue`].
#[derive(Debug, Default)]
pub struct FrameQueue {
    config: QueueConfig,
    /// Screens and cameras that are dropped by Octopus's rules; `None`: by their age.
    layered: Option<[LayeredQueue<(ParticipantId, Track), Frame>; 2]>,
    audio: VecDeque<(Time, Frame)>,
    screens: VecDeque<(Time, Frame)>,
    cameras: VecDeque<(Time, Frame)>,
    bytes: u64,
    dropped: u64,
    /// Tracks of which a frame was dropped where it would have left: the next that leaves is a key frame.
    broken_head: BTreeSet<(ParticipantId, Track)>,
    /// Tracks of which a frame was not let in: the next that is let in is a key frame.
    broken_tail: BTreeSet<(ParticipantId, Track)>,
    /// Tracks of which a frame of a higher temporal layer was dropped: the next that leaves is of layer 0.
    thinned: BTreeSet<(ParticipantId, Track)>,
    /// Tracks of which a key frame is to be asked for.
    wanted: BTreeSet<(ParticipantId, Track)>,
}

impl FrameQueue {
    /// An empty queue.
    pub fn new(config: QueueConfig) -> Self {
        let layered = match config.dropping {
            Dropping::Age => None,
            Dropping::Octopus => Some([LayeredQueue::new(config), LayeredQueue::new(config)]),
        };
        Self { config, layered, ..Self::default() }
    }

    /// Adds a frame that arrived at `now`.
    pub fn push(&mut self, now: Time, frame: Frame) {
        let header = frame.header;
        let bytes = u64::from(header.payload_bytes);
        let is_audio = header.track == Track::Audio;
        let track = (header.source, header.track);
        if let Some([screens, cameras]) = self.layered.as_mut().filter(|_| !is_audio) {
            let queue = if header.track == Track::Screen { screens } else { cameras };
            return queue.push(now, track, LayeredFrame::from(&header), frame);
        }
        if header.is_key {
            self.broken_tail.remove(&track);
            self.wanted.remove(&track);
        }
        // A frame without a payload takes memory too.
        let frames = (self.audio.len() + self.screens.len() + self.cameras.len() + 1) as u64;
        let memory = self.bytes + bytes + frames * size_of::<(Time, Frame)>() as u64;
        if memory > self.config.max_bytes || self.broken_tail.contains(&track) {
            self.dropped += 1;
            if !is_audio {
                self.wanted.insert(track);
                self.broken_tail.insert(track);
            }
            return;
        }
        self.bytes += bytes;
        let queue = match header.track {
            Track::Audio => &mut self.audio,
            Track::Screen => &mut self.screens,
            Track::Camera | Track::Padding => &mut self.cameras,
        };
        queue.push_back((now, frame));
    }

    /// Takes the next frame of audio.
    pub fn pop_audio(&mut self) -> Option<Frame> {
        let (_, frame) = self.audio.pop_front()?;
        self.bytes -= u64::from(frame.header.payload_bytes);
        Some(frame)
    }

    /// Takes the next frame of video, and drops those in front of it that waited too long.
    pub fn pop_video(&mut self, now: Time) -> Option<Frame> {
        if let Some([screens, cameras]) = &mut self.layered {
            return screens.pop(now).or_else(|| cameras.pop(now));
        }
        loop {
            let (at, frame) = self.screens.pop_front().or_else(|| self.cameras.pop_front())?;
            let header = frame.header;
            self.bytes -= u64::from(header.payload_bytes);
            let track = (header.source, header.track);
            let is_late = now - at > self.config.max_wait;
            if header.temporal_layer == 0 {
                self.thinned.remove(&track);
            } else if is_late || self.thinned.contains(&track) {
                self.dropped += 1;
                self.thinned.insert(track);
                continue;
            }
            if is_late || (self.broken_head.contains(&track) && !header.is_key) {
                self.dropped += 1;
                self.wanted.insert(track);
                self.broken_head.insert(track);
                continue;
            }
            self.broken_head.remove(&track);
            return Some(frame);
        }
    }

    /// True if frames of video wait.
    pub fn has_video(&self) -> bool {
        let mut layered = self.layered.iter().flatten();
        !(self.screens.is_empty() && self.cameras.is_empty())
            || layered.any(|queue| !queue.is_empty())
    }

    /// Tracks of which a key frame is to be asked for, each once.
    pub fn take_wanted(&mut self) -> Vec<(ParticipantId, Track)> {
        let layered = self.layered.iter_mut().flatten();
        self.wanted.extend(layered.flat_map(LayeredQueue::take_wanted));
        std::mem::take(&mut self.wanted).into_iter().collect()
    }

    /// Payload bytes that wait.
    pub fn bytes(&self) -> u64 {
        self.bytes + self.layered.iter().flatten().map(LayeredQueue::bytes).sum::<u64>()
    }

    /// Rate at which video leaves that is dropped by Octopus's rules; `None` while none waits, or it is not known yet.
    /// While both wait, cameras tell: screens leave before them.
    pub fn service_rate(&self, now: Time) -> Option<Rate> {
        let [screens, cameras] = self.layered.as_ref()?;
        cameras.service_rate(now).or_else(|| screens.service_rate(now))
    }

    /// Frames dropped so far.
    pub fn dropped(&self) -> u64 {
        self.dropped + self.layered.iter().flatten().map(LayeredQueue::dropped).sum::<u64>()
    }

    /// Forgets a participant that has left: its frames are not sent.
    pub fn forget(&mut self, source: ParticipantId) {
        let Self { audio, screens, cameras, bytes, .. } = self;
        for queue in [audio, screens, cameras] {
            queue.retain(|(_, frame)| {
                let stays = frame.header.source != source;
                if !stays {
                    *bytes -= u64::from(frame.header.payload_bytes);
                }
                stays
            });
        }
        for queue in self.layered.iter_mut().flatten() {
            queue.forget(|(of, _)| *of == source);
        }
        let Self { broken_head, broken_tail, thinned, wanted, .. } = self;
        for tracks in [broken_head, broken_tail, thinned, wanted] {
            tracks.retain(|(of, _)| *of != source);
        }
    }
}

impl From<&MediaHeader> for LayeredFrame {
    fn from(header: &MediaHeader) -> Self {
        Self {
            number: header.frame,
            is_key: header.is_key,
            temporal_layer: header.temporal_layer,
            reference_distance: header.reference_distance,
            bytes: header.payload_bytes,
        }
    }
}
