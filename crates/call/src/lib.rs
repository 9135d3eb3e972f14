#![doc = include_str!("../README.md")]

mod allocate;
mod arriving;
mod control_stream;
mod coordination;
mod encoder;
mod error;
mod last_n;
mod layer_allocator;
mod layered_queue;
mod layers;
mod media_transport;
mod meter;
mod optimiser;
mod participant;
mod playout;
mod queue;
mod queue_config;
mod rate;
mod sender;
mod server;
mod service_rate;
mod speakers;
mod speech;
mod split;
mod uplink_room;
pub mod wire;

pub use allocate::{Allocation, Allocator, AllocatorKind, Offer};
pub use coordination::{Coordination, CoordinationConfig, DEFAULT_OPTIMISER_TIMEOUT};
pub use encoder::{EncodedFrame, Encoder, EncoderConfig};
pub use error::CallError;
pub use last_n::{LastN, LastNConfig};
pub use layer_allocator::{
    Budget, CustomAllocator, LayerAllocator, ReceiverView, StreamId, VideoView,
};
pub use layered_queue::{LayeredFrame, LayeredQueue};
pub use layers::{InvalidLayers, LayerSelection, LayerTable, MAX_SPATIAL_LAYERS};
pub use media_transport::{
    ArrivedMessages, EndOf, Media, MediaCounts, MediaOf, MediaTransport, OutgoingVideo,
};
pub use optimiser::{Optimise, Optimiser, optimal_targets};
pub use participant::{
    ChannelView, Deviation, EncodedRecord, ParticipantConfig, ParticipantEvent, ParticipantNote,
    ReceivedRecord, TrackChange, join, participant_transport,
};
pub use playout::Playout;
pub use queue::{Frame, FrameQueue};
pub use queue_config::{Dropping, QueueConfig};
pub use rate::{RateConfig, estimate};
pub use sender::OutgoingMessage;
pub use server::{
    CapacityOf, CapacitySource, ChannelRecord, ServerConfig, ServerNote, Thinning, serve,
    server_transport,
};
pub use speakers::ActiveSpeaker;
pub use speech::{SpeechConfig, Spurts};
pub use split::{max_min, max_min_by_tier};
pub use uplink_room::UplinkRoom;
