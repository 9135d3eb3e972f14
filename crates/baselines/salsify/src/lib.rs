//! Salsify as a baseline (Fouladi et al., NSDI 2018): every frame is encoded to fit what the
//! transport can carry just then, and none is sent again, because any frame that the receiver has
//! can be built on. The transport estimates the path by Salsify's mean gap between packets or by
//! Sprout's forecast (Winstein et al., NSDI 2013).
//!
//! [`send`] takes frames from a [`FrameSource`], which is told how many bytes fit; [`receive`] hands
//! on the frames that a decoder can take. The encoder is the caller's: the transport treats frames as
//! bytes, and keeps the account of which frame builds on which. [`Codec`] stands for the authors' encoder
//! where a caller has sizes and no pictures.
//!
//! ```text
//! FrameSource --ask: budget, reference--> sender core --packets, paced--> socket
//!                                             ^
//!     newest packet, which came, newest state, mean gap or forecast
//!                                             |
//! socket --packets--> receiver core (assembly, states, gap or Sprout) --frames--> sink
//! ```
//!
//! The cores are pure: time and datagrams are arguments, and nothing is random.
//! `docs/design/salsify.md` says what is the papers', what is ours, and how it behaves.

mod assembly;
mod codec;
mod config;
mod gap;
mod meter;
mod receiver;
mod references;
mod roles;
mod sender;
mod sprout;
mod states;
mod stats;
mod wire;

pub use codec::{Candidate, Clip, Codec, Encoded, QUANTISERS, SAME_QUALITY};
pub use config::{Config, Estimator, Mode};
pub use roles::{receive, send};
pub use sender::{Ask, Frame, FrameSource};
pub use sprout::SproutConfig;
pub use states::Delivered;
pub use stats::{Count, SenderReport, SenderStats};
