//! Channels: a subflow has two, each a reliable, ordered stream of bytes each way.

use std::any::Any;

use airlane_quic::ControlHandle;
use airlane_runtime::BoxFuture as StaticFuture;
use bytes::{Bytes, BytesMut};

use crate::error::MultipathError;
use crate::subflow::pairing::PeerId;

/// A boxed future that borrows.
pub type ChannelFuture<'a, T> =
    std::pin::Pin<Box<dyn Future<Output = Result<T, MultipathError>> + Send + 'a>>;

/// A future that stands alone.
pub type SubflowFuture = StaticFuture<Result<Channels, MultipathError>>;

/// The connector of an interface: each call is an attempt to open a subflow.
pub type Connect = Box<dyn Fn() -> SubflowFuture + Send + Sync>;

/// The sending end of a channel.
pub trait ChannelSender: Send {
    /// Appends `pieces`, one behind the other; waits while the connection takes no more.
    fn write(&mut self, pieces: Vec<Bytes>) -> ChannelFuture<'_, ()>;
}

/// The receiving end of a channel.
pub trait ChannelReceiver: Send {
    /// Appends what has come, a byte at least, to `into`; an error at the end.
    fn read<'a>(&'a mut self, into: &'a mut BytesMut) -> ChannelFuture<'a, ()>;
}

/// Both ends of a channel, as one end of a subflow has them.
pub struct Channel {
    /// The sending end.
    pub sender: Box<dyn ChannelSender>,
    /// The receiving end.
    pub receiver: Box<dyn ChannelReceiver>,
    /// The congestion control of its connection, where that is ours.
    pub control: Option<ControlHandle>,
}

/// The two channels of a subflow. What is in one never waits for what was written to the other.
pub struct Channels {
    /// The peer.
    pub peer: PeerId,
    /// Channel for what must not wait: acknowledgements, and streams that have little to send.
    pub low_latency: Channel,
    /// Channel for everything else.
    pub bulk: Channel,
    /// Closes the connections when it is dropped.
    pub guard: Box<dyn Any + Send>,
}

impl std::fmt::Debug for Channels {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Channels").finish_non_exhaustive()
    }
}

/// Takes exactly `bytes` off the beginning of a channel; what came behind them stays in `buffer`.
pub(crate) async fn read_first(
    from: &mut dyn ChannelReceiver,
    buffer: &mut BytesMut,
    bytes: usize,
) -> Result<BytesMut, MultipathError> {
    while buffer.len() < bytes {
        from.read(buffer).await?;
    }
    Ok(buffer.split_to(bytes))
}
