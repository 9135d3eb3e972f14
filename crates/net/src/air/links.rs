//! The links and contenders of a medium, which are made when they are first needed.

use std::time::Duration;

use airlane_base::{Dscp, Rate};
use airlane_wifi::Access;

use super::config::{Descriptors, RateControl};
use super::contender::Contender;
use super::ids::{ContenderId, Id, LinkId, RadioId, StationPort};
use super::link::Link;
use super::medium::Medium;
use super::minstrel::Minstrel;
use super::rates::most;
use crate::node::Queue;
use crate::queue::QueueSpec;

const BEST_EFFORT: usize = 1;
/// The category that frames without packets contend with.
pub(super) const VOICE: usize = 3;
/// Background, best effort, video, voice.
const CATEGORIES: [Access; 4] =
    [Access::BACKGROUND, Access::BEST_EFFORT, Access::VIDEO, Access::VOICE];

/// The category of a DSCP, by its three highest bits as access points do.
fn category(dscp: Dscp) -> usize {
    match dscp.number() >> 3 {
        1 | 2 => 0,
        4 | 5 => 2,
        6 | 7 => 3,
        _ => BEST_EFFORT,
    }
}

impl Medium {
    /// The link for packets of a port with this DSCP; it is made when the first comes.
    pub(super) fn link_of(&mut self, port: StationPort, dscp: Dscp) -> LinkId {
        let station = &self.stations[port.station];
        let ap = &self.aps[station.ap];
        let category = match ap.config.has_categories {
            true => category(dscp),
            false => BEST_EFFORT,
        };
        if let Some(link) = self.ways[port].links[category] {
            return link;
        }
        let is_down = port.is_down();
        let (from, to) =
            if is_down { (ap.radio, station.radio) } else { (station.radio, ap.radio) };
        let rate_control = station.config.rate_control.unwrap_or(ap.config.rate_control);
        let spec = if is_down { &ap.config.queue } else { &station.config.queue };
        let queue = self.queue(spec, port, category);
        let window = self.aps[self.stations[port.station].ap].config.window;
        let contender = self.contender_as(from, self.access(port, category));
        let mut link = Link::new(contender, (to, port), rate_control, queue, window);
        if rate_control == RateControl::Minstrel {
            let ap = &self.aps[self.stations[port.station].ap].config;
            let seed = self.seed.split("minstrel").index(self.links.len() as u64);
            let limits = (window, ap.max_air);
            link.minstrel = Some(Minstrel::new(most(ap), self.timing, limits, seed));
        }
        let ap = &self.aps[self.stations[port.station].ap].config;
        if is_down && ap.descriptors != Descriptors::Unlimited {
            link.use_descriptors();
        }
        let link = self.links.push(link);
        self.contenders[contender].links.push(link);
        self.ways[port].links[category] = Some(link);
        link
    }

    /// A queue of a port.
    fn queue(&self, spec: &QueueSpec, port: StationPort, category: usize) -> Box<dyn Queue> {
        self.queue_of_seed(spec, [port.place() as u64, category as u64])
    }

    /// The queue in front of the descriptors of an access point, whose radio it is.
    pub(super) fn front_queue(&self, spec: &QueueSpec, radio: RadioId) -> Box<dyn Queue> {
        // The seed of no station's queue.
        self.queue_of_seed(spec, [u64::MAX, radio.place() as u64])
    }

    fn queue_of_seed(&self, spec: &QueueSpec, [first, second]: [u64; 2]) -> Box<dyn Queue> {
        // A limit in BDP means nothing where no rate is known: of 100 Mbit/s and 20 ms.
        let seed = self.seed.split("queue").index(first).index(second);
        spec.build(Rate::from_bps(100_000_000), Duration::from_millis(20), seed)
    }

    /// The contender of a category of a radio; it is made when it is first needed.
    pub(super) fn contender(&mut self, radio: RadioId, category: usize) -> ContenderId {
        self.contender_as(radio, CATEGORIES[category])
    }

    /// EDCA parameters of the sender of a port in a category.
    fn access(&self, port: StationPort, category: usize) -> Access {
        let station = &self.stations[port.station];
        let own = match port.is_down() {
            true => self.aps[station.ap].config.contention,
            false => station.config.contention,
        };
        own.filter(|_| category == BEST_EFFORT).unwrap_or(CATEGORIES[category])
    }

    /// The contender of a radio with these parameters; it is made when it is first needed.
    fn contender_as(&mut self, radio: RadioId, access: Access) -> ContenderId {
        let found = self.contenders.find(|c| c.radio == radio && c.access == access);
        found.unwrap_or_else(|| {
            let contender = self.contenders.push(Contender::new(radio, access));
            self.radios[radio].contenders.push(contender);
            contender
        })
    }

    /// The links of a port.
    pub(super) fn links_of(&self, port: StationPort) -> impl Iterator<Item = LinkId> + use<> {
        self.ways[port].links.into_iter().flatten()
    }

    /// True if a packet waits at a port.
    pub(super) fn has_backlog(&self, port: StationPort) -> bool {
        self.links_of(port).any(|link| self.links[link].has_traffic())
    }
}
