//! A host alone, for tests of parts that keep time and talk to nobody.

use airlane_base::{Packet, Seed, Time};

use super::{Fabric, World};
use crate::api::RuntimeHandle;

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

/// Runs `test` in virtual time on the one host of a world in which nothing is delivered.
///
/// # Panics
/// If a task of the test panics, or waits for what never comes.
pub fn run_alone<T: Send + 'static, F>(test: impl FnOnce(RuntimeHandle) -> F) -> T
where
    F: Future<Output = T> + Send + 'static,
{
    let mut world = World::new(Seed(1), Nowhere);
    let runtime = world.host("alone", [10, 0, 0, 1].into());
    match world.run(test(runtime)) {
        Ok(result) => result,
        Err(e) => panic!("{e}"),
    }
}
