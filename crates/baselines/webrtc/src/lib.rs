//! WebRTC as a baseline: str0m itself, with its pacer, feedback, bandwidth estimator (GCC),
//! repetitions and requests for key frames, over our sockets and in our time.
//!
//! [`pair`] makes both ends of a call, connected before traffic starts. [`send`] takes frames from
//! a [`FrameSource`], which is told the target rate; [`receive`] hands frames on in the order of
//! decoding. `docs/design/webrtc.md` says what is str0m's, what is ours, and how it behaves.

mod assembly;
mod calibration;
mod clock;
mod crypto;
mod delivered;
mod driver;
mod engine;
mod feed;
mod messages;
mod packet;
mod pair;
mod partial_frame;
mod path;
mod receiver;
mod requests;
mod sender;
mod stats;
mod unconfirmed;

pub use crypto::Protection;
pub use delivered::Delivered;
pub use packet::ip_rate;
pub use pair::{CallConfig, CallError, Delivery, Target, pair};
pub use receiver::{ReceiverHalf, receive};
pub use sender::{Ask, Frame, FrameSource, SenderHalf, send};
pub use stats::{Count, ReceiverReport, ReceiverStats, SenderReport, SenderStats, SentCounts};
