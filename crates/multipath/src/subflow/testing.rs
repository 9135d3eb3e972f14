//! What unit tests of subflows need.

use bytes::Bytes;

use super::channel::{ChannelFuture, ChannelSender};

/// A channel that takes whatever is written.
pub(crate) struct Discards;

impl ChannelSender for Discards {
    fn write(&mut self, _: Vec<Bytes>) -> ChannelFuture<'_, ()> {
        Box::pin(async { Ok(()) })
    }
}
