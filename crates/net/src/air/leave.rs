//! A station falls silent: its battery is empty, or it is carried away.

use airlane_base::DropReason;

use super::ids::{ContenderId, StationId};
use super::medium::Medium;
use crate::node::Dropped;

impl Medium {
    /// The radio of a station sends and hears nothing from now on, not even the rest of what is in the
    /// air. What waits at it is lost with it; what waits for it is tried until it is given up.
    pub(super) fn leave(&mut self, station: StationId, drops: &mut Vec<Dropped>) {
        let radio = self.stations[station].radio;
        self.radios[radio].is_gone = true;
        self.scene.silence(radio, &mut self.powers);
        self.weigh_interference();
        for i in 0..self.radios[radio].contenders.len() {
            let contender = self.radios[radio].contenders[i];
            // One in the middle of an exchange learns of it when no answer comes.
            if self.contenders[contender].exchange.is_none() {
                self.abandon(contender, drops);
            }
        }
        self.find_access();
    }

    /// Drops all that waits at a contender whose radio is gone.
    pub(super) fn abandon(&mut self, contender: ContenderId, drops: &mut Vec<Dropped>) {
        self.contenders[contender].wants_since = None;
        self.contenders[contender].control.clear();
        for i in 0..self.contenders[contender].links.len() {
            let link = self.contenders[contender].links[i];
            let before = (drops.len(), self.links[link].backlog());
            let mut packets = Vec::new();
            self.links[link].drain(self.now, &mut packets, drops);
            drops.extend(
                packets
                    .into_iter()
                    .map(|packet| Dropped { packet, reason: DropReason::Unreachable }),
            );
            let backlog = (before.1.packets, before.1.bytes);
            self.after_queue(self.now, link, backlog, &drops[before.0..]);
        }
    }
}
