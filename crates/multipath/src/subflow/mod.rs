//! Subflows: the pair of connections that an interface has, and what travels on it.

mod buffered_reader;
pub(crate) mod channel;
mod chunked_stream;
pub(crate) mod frame;
pub(crate) mod liveness;
pub(crate) mod meter;
pub(crate) mod outbox;
pub(crate) mod pairing;
mod quic;
mod shared;
#[cfg(test)]
pub(crate) mod testing;

pub use channel::{
    Channel, ChannelFuture, ChannelReceiver, ChannelSender, Channels, Connect, SubflowFuture,
};
pub use frame::{Body, MAX_REQUEST_BYTES, SubflowFrame};
pub use pairing::{ChannelKind, PeerId, PendingConnections, SubflowConnection, SubflowNonce};
pub use quic::{accept_quic, accept_quic_subflows, connect_quic, open_quic};
pub(crate) use shared::{Senders, StreamRequest, Subflow, SubflowConfig};
