//! What an access point has handed to its hardware.
//!
//! A packet that waits for the air holds a transmit descriptor, until it is acknowledged or given up.
//! Where there are as many as one likes, the queues of the stations stand right in front of the air. With so many for
//! each station, packets leave its queue early and wait again behind it, where no queue management sees
//! them. With so many for all of them there is one queue, in front of the descriptors: a station that is
//! slow to be served holds ever more of them, and what is for others waits behind what is for it.

use std::collections::BTreeMap;
use std::net::IpAddr;

use airlane_base::{DropReason, Packet};

use super::config::Descriptors;
use super::ids::{ApId, LinkId, StationPort};
use super::medium::Medium;
use crate::node::{Dequeued, Dropped, Queue};

/// The queue in front of shared descriptors.
pub(super) struct Front {
    queue: Box<dyn Queue>,
    /// Port of the station for each address of a packet: stations are told apart by it.
    ports: BTreeMap<IpAddr, StationPort>,
    /// Descriptors in use.
    used: usize,
}

impl Front {
    pub(super) fn new(queue: Box<dyn Queue>) -> Self {
        Self { queue, ports: BTreeMap::new(), used: 0 }
    }
}

impl Medium {
    /// A packet comes to an access point whose descriptors are shared.
    pub(super) fn push_shared(
        &mut self,
        (ap, port): (ApId, StationPort),
        packet: Box<Packet>,
        drops: &mut Vec<Dropped>,
    ) {
        let before = drops.len();
        let now = self.now;
        let bytes = packet.ip_bytes();
        let (pooled, held) = self.aps[ap].pooled;
        let is_full = self.aps[ap].config.pool.exceeded_by(pooled + 1, held + u64::from(bytes));
        self.waits(port, (1, bytes));
        let Some(front) = &mut self.aps[ap].front else { return };
        if is_full {
            drops.push(Dropped { packet, reason: DropReason::Overflow });
        } else {
            front.ports.insert(packet.dst.ip(), port);
            front.queue.enqueue(now, packet, drops);
        }
        self.count_front(ap, Some(port), &drops[before..]);
        self.distribute(ap, drops);
    }

    /// Hands packets to the hardware while there are descriptors.
    pub(super) fn distribute(&mut self, ap: ApId, drops: &mut Vec<Dropped>) {
        let Descriptors::Shared(most) = self.aps[ap].config.descriptors else { return };
        loop {
            let Some(front) = self.aps[ap].front.as_mut().filter(|front| front.used < most) else {
                return;
            };
            let before = drops.len();
            let next = front.queue.dequeue(self.now, drops);
            self.count_front(ap, None, &drops[before..]);
            let Dequeued::Packet(packet) = next else { return };
            let Some(front) = &mut self.aps[ap].front else { return };
            front.used += 1;
            let port = front.ports[&packet.dst.ip()];
            let link = self.link_of(port, packet.dscp);
            self.links[link].hand(packet);
            self.held_for(port.station);
            if self.may_serve(link) {
                self.aps[ap].scheduler.arrived(self.now, link);
                self.want(self.links[link].contender);
            }
        }
    }

    /// A link of an access point has done with so many packets: others have their descriptors.
    pub(super) fn free(&mut self, link: LinkId, packets: usize, drops: &mut Vec<Dropped>) {
        let port = self.links[link].port;
        if !port.is_down() {
            return;
        }
        let ap = self.stations[port.station].ap;
        match self.aps[ap].config.descriptors {
            Descriptors::Unlimited => {}
            Descriptors::PerStation(most) => {
                self.links[link].release(packets);
                let (before, backlog) = (drops.len(), self.links[link].backlog());
                self.links[link].hand_over(self.now, most, drops);
                let backlog = (backlog.packets, backlog.bytes);
                self.after_queue(self.now, link, backlog, &drops[before..]);
            }
            Descriptors::Shared(_) => {
                self.links[link].release(packets);
                if let Some(front) = &mut self.aps[ap].front {
                    front.used -= packets;
                }
                self.distribute(ap, drops);
            }
        }
    }

    /// Keeps the account of what the queue in front of the descriptors has dropped. `coming` is whose
    /// packet comes just now: one that is turned away at once leaves no note.
    fn count_front(&mut self, ap: ApId, coming: Option<StationPort>, dropped: &[Dropped]) {
        for one in dropped {
            let front = self.aps[ap].front.as_ref();
            let known = front.and_then(|front| front.ports.get(&one.packet.dst.ip()).copied());
            let port = known.or(coming).expect("a packet in the queue has left a note");
            let (now, bytes) = (self.now, one.packet.ip_bytes());
            let way = &mut self.ways[port];
            way.meter.advance(now, way.waiting.0, way.waiting.1);
            way.waiting.0 -= 1;
            way.waiting.1 -= u64::from(bytes);
            way.counters.count_drops(std::slice::from_ref(one));
            let pooled = &mut self.aps[ap].pooled;
            pooled.0 -= 1;
            pooled.1 -= u64::from(bytes);
        }
    }

    /// So much more waits for a port.
    fn waits(&mut self, port: StationPort, (packets, bytes): (usize, u32)) {
        let way = &mut self.ways[port];
        way.meter.advance(self.now, way.waiting.0, way.waiting.1);
        way.waiting.0 += packets;
        way.waiting.1 += u64::from(bytes);
        let pooled = &mut self.aps[self.stations[port.station].ap].pooled;
        pooled.0 += packets;
        pooled.1 += u64::from(bytes);
    }
}
