#![doc = include_str!("../README.md")]

mod bits;
mod dependency;
mod error;
mod forwarder;
mod info;
mod key_frame_throttle;
mod layer;
mod layer_table;
mod meter;
mod number_map;
mod packet;
pub mod pdu_set;
mod picture;
mod source;
mod vp8;
mod vp9;

pub use dependency::{
    DecodeTarget, DecodeTargetIndication, DependencyDescriptor, DependencyStructure, FrameTemplate,
    MAX_DECODE_TARGETS, MAX_DESCRIPTOR_BYTES, MAX_TEMPLATES,
};
pub use error::DescriptorError;
pub use forwarder::{Forwarder, ForwarderConfig, MAX_SEQUENCE_GAP};
pub use info::PacketInfo;
pub use key_frame_throttle::{DEFAULT_KEY_FRAME_INTERVAL, KeyFrameThrottle};
pub use layer::{Codec, LayerIndex, MAX_LAYERS, MAX_SPATIAL_LAYERS, MAX_TEMPORAL_LAYERS};
pub use layer_table::{LayerStep, LayerTable, UP_SWITCH_MARGIN};
pub use meter::{LayerMeter, METER_WINDOW, MeteredPacket, RTP_HEADER_BYTES};
pub use packet::{Forwarded, RtpPacket};
pub use picture::{BaseLayerIndex, PictureId, PictureNumbers};
pub use source::{Source, SourceConfig};
pub use vp8::Vp8Descriptor;
pub use vp9::{GroupPicture, ScalabilityStructure, Vp9Descriptor};
