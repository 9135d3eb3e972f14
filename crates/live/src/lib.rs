//! Real-time video in layers, over a media path: one end encodes and sends each frame as it is
//! captured, the other shows what can be decoded (Chen et al., SEC 2023, section 6).
//!
//! A frame is sent as one message per layer, marked by its [`Encoder`], so that queues in the network and
//! the sender's own drop what can be spared. The receiver decodes exactly what the [`Structure`] of the
//! video allows ([`Decoder`]). What is sent are [`Frames`]: those of a clip ([`ClipFrames`]), whose sizes
//! come from tables, and bytes from a packed video or a pattern that the receiver checks ([`Source`]); or of
//! a source that is encoded as it comes ([`LiveGops`]).

mod cells;
mod clip;
mod decoder;
mod encoder;
mod error;
mod frames;
mod gops;
mod layer_set;
pub mod media_path;
mod rates;
mod receiver;
mod sender;
mod source;
mod structure;
pub mod wire;

pub use cells::{AUTHORS_THRESHOLDS, CellLayer, Cells, PAPER_THRESHOLDS, Thresholds};
pub use clip::Video;
pub use decoder::{Decoded, Decoder};
pub use encoder::{
    CloudEncoder, Encoded, EncodedLayer, Encoder, LayerMarks, QualityEncoder, TemporalEncoder,
    TemporalFields,
};
pub use error::LiveError;
pub use frames::{ClipFrames, Frame, Frames};
pub use gops::{BELOW_USUAL, ENCODING_STEP, LiveGops, Order, USED_SHARE};
pub use layer_set::LayerSet;
pub use receiver::{ReceivedLayer, receive};
pub use sender::{SenderEvent, SentFrame, send};
pub use source::Source;
pub use structure::Structure;
