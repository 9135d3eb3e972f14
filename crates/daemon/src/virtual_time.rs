//! Tests of the daemons' parts in virtual time, with no network.

use airlane_base::{Packet, Seed, Time};
use airlane_runtime::RuntimeHandle;
use airlane_runtime::virtual_time::{Fabric, World};

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
pub(crate) fn run<T: Send + 'static, F>(test: impl FnOnce(RuntimeHandle) -> F) -> T
where
    F: Future<Output = T> + Send + 'static,
{
    let mut world = World::new(Seed(1), Nowhere);
    let runtime = world.host("daemon", [10, 0, 0, 1].into());
    world.run(test(runtime)).unwrap()
}
