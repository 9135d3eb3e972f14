//! What unit tests of a trunk need.

use airlane_base::{Packet, Seed, Time};
use airlane_runtime::RuntimeHandle;
use airlane_runtime::virtual_time::{Fabric, World};
use bytes::Bytes;

use super::channel::{ChannelFuture, ChannelSender};

/// A network in which nothing is delivered.
struct Nowhere;

impl Fabric for Nowhere {
    fn send(&mut self, _: Time, _: Box<Packet>) {}

    fn next_event(&self) -> Option<Time> {
        None
    }

    fn poll(&mut self, _: Time) -> Option<Box<Packet>> {
        None
    }
}

/// Runs `test` on the one host of a world of its own.
pub(super) fn virtual_time<F>(test: impl FnOnce(RuntimeHandle) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    let mut world = World::new(Seed(1), Nowhere);
    let runtime = world.host("end", [10, 0, 0, 1].into());
    world.run(test(runtime)).unwrap();
}

/// Takes whatever is written.
pub(super) struct Discards;

impl ChannelSender for Discards {
    fn write(&mut self, _: Vec<Bytes>) -> ChannelFuture<'_, ()> {
        Box::pin(async { Ok(()) })
    }
}
