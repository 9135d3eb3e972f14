//! Rules of other crates by which layers are given to the videos of a receiver.

use std::fmt;

use airlane_base::Time;

use crate::wire::{ParticipantId, Track};

/// Track of a participant.
pub type StreamId = (ParticipantId, Track);

/// Room of a downlink for video.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    /// Bitrate that all videos may have together, bit/s.
    pub rate: f64,
    /// Bytes that wait to be sent.
    pub pending_bytes: u64,
}

/// Rule by which layers are given to the videos of a receiver.
pub trait LayerAllocator: fmt::Debug + Send + Sync {
    /// Levels of the videos, in their order: 0 is a pause, 1 the lowest layers, and more than there are the highest.
    /// Levels that need more than the budget are taken as they are: what does not fit waits.
    fn levels(&self, receiver: &ReceiverView<'_>) -> Vec<usize>;
}

/// View of a receiver whose downlink is divided.
#[derive(Clone, Debug, PartialEq)]
pub struct ReceiverView<'a> {
    /// Name of the participant.
    pub name: &'a str,
    /// Now.
    pub now: Time,
    /// Room for the videos.
    pub budget: Budget,
    /// Videos that there are.
    pub videos: Vec<VideoView>,
}

/// View of a video that a receiver may get.
#[derive(Clone, Debug, PartialEq)]
pub struct VideoView {
    /// Track that it is.
    pub stream: StreamId,
    /// Bitrate of each level from 1 on, bit/s.
    pub rates: Vec<f64>,
    /// Level before.
    pub level: usize,
    /// Place in the order of importance: lower ones come first.
    pub tier: u8,
}

/// Rule that another crate brings; equal to another if their names are.
#[derive(Clone, Copy, Debug)]
pub struct CustomAllocator {
    /// Its name, none of those that there are.
    pub name: &'static str,
    /// The rule.
    pub rule: &'static dyn LayerAllocator,
}

impl PartialEq for CustomAllocator {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for CustomAllocator {}
