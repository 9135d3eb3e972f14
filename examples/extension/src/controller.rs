//! A controller that keeps ten packets in flight, whatever happens.

use airlane_base::{Seed, Time};
use airlane_congestion::ControllerKind;
use airlane_congestion::controller::{Ack, Controller, Loss, Marked, Sent};

#[derive(Debug)]
pub(crate) struct Fixed;

impl ControllerKind for Fixed {
    fn name(&self) -> &'static str {
        "fixed"
    }

    fn build(&self, _: Time, mtu: u64, _: Seed) -> Box<dyn Controller> {
        Box::new(Window(10 * mtu))
    }
}

/// Bytes that may be in flight.
#[derive(Clone, Debug)]
struct Window(u64);

impl Controller for Window {
    fn on_sent(&mut self, _: &Sent) {}

    fn on_ack(&mut self, _: &Ack) {}

    fn on_loss(&mut self, _: &Loss) {}

    fn on_marked(&mut self, _: &Marked) {}

    fn window(&self) -> u64 {
        self.0
    }

    fn name(&self) -> &'static str {
        "fixed"
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}
