//! A sender that knows what the link will carry (Octopus, section 2): it computes how many packets the
//! link can serve in each period of 5 ms, and sends precisely that many in it; or a period late.

use std::time::Duration;

use airlane_base::{IP_UDP_HEADER_BYTES, Rate, Time};
use airlane_congestion::{Ack, Controller, Loss, Marked, Sent};
use airlane_net::link::Services;
use airlane_traffic::datagrams::Source;

use airlane_sim::world::OracleLink;

/// The period (section 2).
const PERIOD: Duration = Duration::from_millis(5);

/// The packets whose service begins in a period, at the link at its beginning: nothing that it could
/// carry passes unused, and no packet waits for longer than the period.
pub(super) struct Oracle {
    services: Services,
    /// Time at which the service of the next packet begins.
    next: Option<Time>,
    /// Time at which the first period begins at the link, and the delay of packets to the link.
    first: Time,
    delay: Duration,
    until: Time,
    /// So much later than it knows it sends.
    late: Duration,
}

impl Oracle {
    /// For packets of `payload` bytes, from the beginning of a transfer until its end, so many periods
    /// late.
    pub(super) fn new(
        link: &OracleLink,
        payload: u64,
        (begin, until): (Time, Time),
        periods_late: u32,
    ) -> Self {
        let first = begin + link.delay;
        let bytes = payload + u64::from(IP_UDP_HEADER_BYTES);
        let mut services = link.services(first, bytes as u32);
        let next = services.next();
        Self { services, next, first, delay: link.delay, until, late: PERIOD * periods_late }
    }
}

impl Source for Oracle {
    fn due(&self) -> Option<Time> {
        let since = (self.next? - self.first).as_nanos() as u64;
        let period = PERIOD.as_nanos() as u64;
        let at_link = self.first + Duration::from_nanos(since / period * period) + self.late;
        let departs = Time::ZERO + (at_link - (Time::ZERO + self.delay));
        Some(departs).filter(|at| *at < self.until)
    }

    fn left(&mut self) {
        self.next = self.services.next();
    }
}

/// Controller that holds nothing back: the oracle has said when packets leave.
#[derive(Clone, Debug)]
pub(super) struct UnlimitedController;

impl Controller for UnlimitedController {
    fn on_sent(&mut self, _: &Sent) {}

    fn on_ack(&mut self, _: &Ack) {}

    fn on_loss(&mut self, _: &Loss) {}

    fn on_marked(&mut self, _: &Marked) {}

    fn window(&self) -> u64 {
        1 << 40
    }

    fn pacing_rate(&self) -> Option<Rate> {
        None
    }

    fn name(&self) -> &'static str {
        "oracle"
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}
