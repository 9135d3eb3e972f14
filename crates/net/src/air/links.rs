//! The links and contenders of a medium, which are made when they are first needed.

use std::time::Duration;

use airlane_base::{Dscp, Rate};
use airlane_wifi::Access;

use super::config::{Descriptors, RateControl};
use super::contender::Contender;
use super::link::Link;
use super::medium::Medium;
use super::minstrel::Minstrel;
use super::rates::most;
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
    pub(super) fn link_of(&mut self, port: usize, dscp: Dscp) -> usize {
        let station = &self.stations[port / 2];
        let ap = &self.aps[station.ap];
        let category = match ap.config.has_categories {
            true => category(dscp),
            false => BEST_EFFORT,
        };
        if let Some(link) = self.ways[port].links[category] {
            return link;
        }
        let is_up = port % 2 == 1;
        let (from, to) = if is_up { (station.radio, ap.radio) } else { (ap.radio, station.radio) };
        let rate_control = station.config.rate_control.unwrap_or(ap.config.rate_control);
        let spec = if is_up { station.config.queue } else { ap.config.queue };
        let queue = self.queue(&spec, port, category);
        let window = self.aps[self.stations[port / 2].ap].config.window;
        let contender = self.contender(from, category);
        let mut link = Link::new(contender, (to, port), rate_control, queue, window);
        let number = self.links.len();
        if rate_control == RateControl::Minstrel {
            let ap = &self.aps[self.stations[port / 2].ap].config;
            let seed = self.seed.split("minstrel").index(number as u64);
            let limits = (window, ap.max_air);
            link.minstrel = Some(Minstrel::new(most(ap), self.timing, limits, seed));
        }
        let ap = &self.aps[self.stations[port / 2].ap].config;
        if !is_up && ap.descriptors != Descriptors::Unlimited {
            link.use_descriptors();
        }
        self.links.push(link);
        self.contenders[contender].links.push(number);
        self.ways[port].links[category] = Some(number);
        number
    }

    /// A queue of a port.
    pub(super) fn queue(
        &self,
        spec: &QueueSpec,
        port: usize,
        category: usize,
    ) -> Box<dyn crate::node::Queue> {
        // A limit in BDP means nothing where no rate is known: of 100 Mbit/s and 20 ms.
        let seed = self.seed.split("queue").index(port as u64).index(category as u64);
        spec.build(Rate::from_bps(100_000_000), Duration::from_millis(20), seed)
    }

    /// The contender of a category of a radio; it is made when it is first needed.
    pub(super) fn contender(&mut self, radio: usize, category: usize) -> usize {
        let access = CATEGORIES[category];
        let found = self.contenders.iter().position(|c| c.radio == radio && c.access == access);
        found.unwrap_or_else(|| {
            self.contenders.push(Contender::new(radio, access));
            self.radios[radio].contenders.push(self.contenders.len() - 1);
            self.contenders.len() - 1
        })
    }

    /// The links of a port.
    pub(super) fn links_of(&self, port: usize) -> impl Iterator<Item = usize> + use<> {
        self.ways[port].links.into_iter().flatten()
    }

    /// Whether something waits at a port.
    pub(super) fn has_backlog(&self, port: usize) -> bool {
        self.links_of(port).any(|link| self.links[link].has_traffic())
    }
}
