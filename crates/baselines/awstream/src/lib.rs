//! AWStream (Zhang et al., SIGCOMM 2018), as the Octopus paper compares with it: a stream over a
//! reliable transport whose frame rate follows the transport's own queue.
//! `docs/design/awstream.md`.

mod adaptation;
mod roles;

pub use adaptation::{Adaptation, AdaptationConfig, State};
pub use roles::{SentFrame, receive, serve_one};
