//! Why a session of live video ended early.

use airlane_messages::SendError;

use crate::media_path::OpenError;

/// Error that ended a session early.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// The path could not be opened.
    #[error("the media path could not be opened: {0}")]
    Open(#[from] OpenError),
    /// A frame could not be sent.
    #[error("a frame could not be sent: {0}")]
    Send(#[from] SendError),
    /// The peer's bytes are no session of live video.
    #[error("the peer's bytes: {0}")]
    Wire(&'static str),
    /// A layer has other bytes than were sent.
    #[error("frame {frame}, layer {layer}: wrong bytes")]
    Bytes {
        /// The frame.
        frame: u32,
        /// The layer.
        layer: u8,
    },
    /// The packed video cannot be read.
    #[error("the packed video cannot be read: {0}")]
    Source(#[from] std::io::Error),
    /// A live source cannot be encoded.
    #[error("frame {frame} cannot be encoded: {reason}")]
    Encode {
        /// The frame.
        frame: u32,
        /// Reason that the encoder gives.
        reason: String,
    },
    /// The path ended before the session did.
    #[error("the path ended before the session did")]
    Ended,
}
