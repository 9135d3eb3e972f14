#![doc = include_str!("../README.md")]

mod addresses;
mod channel;
pub mod client;
mod clock;
mod conference;
mod driver;
mod error;
mod handle;
mod http;
mod invitation;
mod media;
mod media_tcp;
mod names;
mod server;
mod status;
mod turn;

pub use airlane_certificate::CertificateFiles;
pub use conference::{
    CallLimits, CallStatus, ConnectionQuality, FromClient, ParticipantId, ParticipantInfo,
    ParticipantStatus, Role, RoomStatus, ToClient,
};
pub use error::{CallError, Refusal};
pub use handle::{ConferenceHandle, JoinAnswer};
pub use invitation::invitation;
pub use media::remote::Transport;
pub use media_tcp::framing::{FrameDecoder, FrameTooLong, MAX_FRAME_BYTES, frame_header};
pub use names::{InvalidRoomName, RoomName};
pub use server::{CallServer, CallServerConfig, Ready, VideoCodec};
pub use turn::{InvalidTurnUri, TurnConfig, TurnUri};
