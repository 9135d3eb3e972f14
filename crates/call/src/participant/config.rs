//! Settings of a participant, and what it tells of its call.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use airlane_base::{Rate, Time};
use airlane_plum::DEFAULT_NOTICE_TIMEOUT;

use crate::encoder::EncoderConfig;
use crate::layers::LayerTable;
use crate::media_transport::Media;
use crate::queue_config::QueueConfig;
use crate::rate::RateConfig;
use crate::speech::SpeechConfig;
use crate::uplink_room::UplinkRoom;
use crate::wire::{MediaHeader, ParticipantId, Track};

/// Change of what a participant sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrackChange {
    /// Time after it joined.
    pub at: Duration,
    /// Track.
    pub track: Track,
    /// True if it is sent from then on, false if it is muted.
    pub is_sent: bool,
}

/// Deviation of a participant from the protocol, for experiments with those who do not keep to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Deviation {
    /// Estimate of its uplink that it reports relative to the true one.
    pub reported_share: f64,
    /// False if it ignores what the server holds its uplink to.
    pub follows_notices: bool,
}

impl Default for Deviation {
    /// It keeps to the protocol.
    fn default() -> Self {
        Self { reported_share: 1.0, follows_notices: true }
    }
}

/// Function that tells the capacity of a participant's channel in IP bytes, both directions together, as its radio
/// finds it; `None` where it does not know it.
#[derive(Clone)]
pub struct ChannelView(pub Arc<dyn Fn(Time) -> Option<Rate> + Send + Sync>);

impl fmt::Debug for ChannelView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ChannelView")
    }
}

/// Settings of a participant.
#[derive(Clone, Debug)]
pub struct ParticipantConfig {
    /// Its name in the call.
    pub name: String,
    /// Its camera; `None`: it has none.
    pub camera: Option<EncoderConfig>,
    /// The screen that it can share; `None`: it has none.
    pub screen: Option<EncoderConfig>,
    /// Layers of its camera and its screen.
    pub layers: LayerTable,
    /// Bitrate of its audio; `None`: it sends none.
    pub audio: Option<Rate>,
    /// Talk spurts in its audio; `None`: nobody is heard to speak in it.
    pub speech: Option<SpeechConfig>,
    /// Times at which it mutes its tracks and sends them again, in their order. At first it sends camera and audio.
    pub changes: Vec<TrackChange>,
    /// Source of the capacity of its channel, which it tells the server; `None`: it has none.
    pub channel: Option<ChannelView>,
    /// Transport of its video; `None`: its connection.
    pub media: Option<Media>,
    /// Time without a decodable frame of a video after which a key frame is asked for, and between two such requests.
    pub key_frame_timeout: Duration,
    /// Deviation from the protocol.
    pub deviation: Deviation,
    /// Rules by which bitrates follow its controller.
    pub rates: RateConfig,
    /// Bounds of the frames that wait, and the rules by which they are dropped.
    pub queue: QueueConfig,
    /// Room for more packets in front of its access, for which frames of video wait; `None`: its connection alone
    /// holds them back. Without effect where a media transport carries its video.
    pub room: Option<UplinkRoom>,
    /// Silence of the server after which it leaves the Constrained state.
    pub notice_timeout: Duration,
    /// True if the bitrate from before the Constrained state is restored.
    pub restores: bool,
}

impl ParticipantConfig {
    /// A participant with camera and audio.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            camera: Some(EncoderConfig::default()),
            screen: Some(EncoderConfig::screen()),
            layers: LayerTable::default(),
            audio: Some(Rate::from_bps(32_000)),
            speech: None,
            changes: Vec::new(),
            channel: None,
            media: None,
            key_frame_timeout: Duration::from_secs(1),
            deviation: Deviation::default(),
            rates: RateConfig::default(),
            queue: QueueConfig::default(),
            room: None,
            notice_timeout: DEFAULT_NOTICE_TIMEOUT,
            restores: true,
        }
    }
}

/// A frame that a participant encoded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EncodedRecord {
    /// Time of its capture.
    pub at: Time,
    /// Track.
    pub track: Track,
    /// Number in its track.
    pub frame: u32,
    /// True for a key frame.
    pub is_key: bool,
    /// Length in bytes.
    pub bytes: u32,
    /// Bitrate that the encoder was given.
    pub rate: Rate,
    /// Rate that the server holds the uplink to; `None` in the Natural state.
    pub target: Option<Rate>,
}

/// A frame that a participant received.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReceivedRecord {
    /// Arrival of its last byte.
    pub arrived: Time,
    /// Time at which it was shown; `None` if it has not been so far.
    pub shown: Option<Time>,
    /// Header.
    pub header: MediaHeader,
}

/// An event that a participant tells of its call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ParticipantEvent {
    /// It takes part, under this number.
    Welcome(ParticipantId),
    /// It encoded a frame.
    Encoded(EncodedRecord),
    /// It received a frame whole. Frames of audio are shown when they come.
    Received(ReceivedRecord),
    /// It showed a frame.
    Shown(ReceivedRecord),
    /// Another one sends a track of video from now on, or not.
    Sends {
        /// Time at which it got to know.
        at: Time,
        /// The other one.
        source: ParticipantId,
        /// Track.
        track: Track,
        /// False if it is muted.
        is_sent: bool,
    },
}

/// The receiver of a participant's events.
pub type ParticipantNote = Arc<dyn Fn(ParticipantEvent) + Send + Sync>;
