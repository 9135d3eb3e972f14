#![doc = include_str!("../README.md")]

mod arriving;
mod control_stream;
mod encoder;
mod error;
mod last_n;
mod meter;
mod participant;
mod playout;
mod queue;
mod rate;
mod sender;
mod server;
mod split;
pub mod wire;

pub use encoder::{EncodedFrame, Encoder, EncoderConfig};
pub use error::CallError;
pub use last_n::{LastN, LastNConfig};
pub use participant::{
    EncodedRecord, ParticipantConfig, ParticipantEvent, ParticipantNote, ReceivedRecord, join,
    participant_transport,
};
pub use playout::Playout;
pub use queue::{Frame, FrameQueue, QueueConfig};
pub use rate::{RateConfig, estimate};
pub use server::{
    ChannelRecord, CoordinationConfig, Optimise, Optimiser, ServerConfig, ServerNote, serve,
    server_transport,
};
pub use split::max_min;
