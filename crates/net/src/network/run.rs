//! What happens in a network: packets enter, go on along their routes, and arrive.

use airlane_base::{DropReason, Packet, Progress, Time};

use super::{Actor, Delivered, Fate, Hop, HostId, Leg, Network, NodeId, Record, Travelling};
use crate::node::{Dropped, Port};

impl Network {
    /// Takes a packet from its host at `now`: numbers it, stamps the time (and the flow, if the
    /// route has one) and puts it on its way.
    pub fn send(&mut self, now: Time, mut packet: Box<Packet>) {
        self.run_before(now);
        self.clock(now);
        packet.id = self.counters.pushed.0;
        packet.sent = now;
        packet.enqueued = now;
        let from = self.interface(packet.src.ip());
        let route = from.and_then(|from| self.table.get(from, self.interface(packet.dst.ip())?));
        if let Some(flow) = route.and_then(|r| self.routes[r as usize].flow) {
            packet.flow = flow;
        }
        self.counters.count_push(&packet);
        let host = from.map_or(HostId(u32::MAX >> 1), |i| self.interfaces[i as usize]);
        self.note(now, Hop::Host(host), Fate::Sent, &packet);
        match route {
            Some(route) => {
                packet.progress = Progress { route, step: 0 };
                self.go_on(now, packet);
            }
            None => {
                let drop = Dropped { packet, reason: DropReason::Unreachable };
                self.note(now, Hop::Host(host), Fate::Dropped(drop.reason), &drop.packet);
                self.counters.count_drops(std::slice::from_ref(&drop));
            }
        }
    }

    /// Time of the next event: poll then. `None` while no packet is on its way.
    pub fn next_event(&self) -> Option<Time> {
        match self.ready.front() {
            Some(d) => Some(d.at),
            None => self.schedule.next().map(|(at, _)| at),
        }
    }

    /// Lets everything happen that is due at or before `now`, up to the next packet that reaches
    /// a host; `None` when there is no more.
    pub fn poll(&mut self, now: Time) -> Option<Delivered> {
        loop {
            if let Some(d) = self.ready.pop_front() {
                self.counters.count_poll(&d.packet);
                return Some(d);
            }
            if !self.run_one(now) {
                return None;
            }
        }
    }

    fn run_before(&mut self, now: Time) {
        while self.schedule.next().is_some_and(|(at, _)| at < now) {
            self.run_one(now);
        }
    }

    /// Runs the next event if it is due; false if none is.
    #[inline]
    fn run_one(&mut self, now: Time) -> bool {
        let Some((at, slot)) = self.schedule.next().filter(|(at, _)| *at <= now) else {
            return false;
        };
        self.clock(at);
        match self.actors[slot] {
            Actor::Node(n) => self.settle(at, n),
            Actor::Lane(l) => {
                let lane = &mut self.lanes[l as usize];
                let first = lane.travelling.pop_front();
                match lane.travelling.front() {
                    Some(next) => self.schedule.set(slot, next.at, next.seq),
                    None => self.schedule.clear(slot),
                }
                if let Some(t) = first {
                    self.go_on(at, t.packet);
                }
            }
        }
        true
    }

    /// Puts a packet on the next step of its route.
    fn go_on(&mut self, now: Time, mut packet: Box<Packet>) {
        let r = &self.routes[packet.progress.route as usize];
        let leg = r.legs.get(packet.progress.step as usize);
        packet.progress.step += 1;
        match leg {
            None => {
                let host = r.host;
                self.note(now, Hop::Host(host), Fate::Delivered, &packet);
                self.ready.push_back(Delivered { at: now, host, packet });
            }
            Some(&Leg::Lane(l)) => {
                let seq = self.sequence();
                let lane = &mut self.lanes[l as usize];
                let at = now + lane.delay;
                if lane.travelling.is_empty() {
                    self.schedule.set(lane.slot, at, seq);
                }
                lane.travelling.push_back(Travelling { at, seq, packet });
            }
            Some(&Leg::Node(n, port)) => {
                self.note_quietly(now, n, port, &packet);
                self.nodes[n as usize].node.push(now, port, packet, &mut self.drops);
                self.account_drops(now, n);
                self.settle(now, n);
            }
        }
    }

    /// Takes out of a node what is due, and notes when it wants to be polled next.
    fn settle(&mut self, now: Time, n: u32) {
        loop {
            // Asked anew each time: what left may have made another packet come back to this node.
            let slot = &mut self.nodes[n as usize];
            let next = slot.node.next_event();
            if next.is_none_or(|at| at > now) {
                let slot = slot.slot;
                if self.schedule.of(slot) != next {
                    match next {
                        Some(at) => {
                            let seq = self.sequence();
                            self.schedule.set(slot, at, seq);
                        }
                        None => self.schedule.clear(slot),
                    }
                }
                return;
            }
            let polled = slot.node.poll(now, &mut self.drops);
            self.account_drops(now, n);
            match polled {
                Some(packet) => self.leave(now, n, packet),
                None => {
                    let slot = &self.nodes[n as usize];
                    assert!(
                        slot.node.next_event().is_none_or(|at| at > now),
                        "node {} is due at {now} but neither acts nor moves on",
                        slot.name
                    );
                }
            }
        }
    }

    /// Sends a packet that left node `n` on along its route.
    #[inline]
    fn leave(&mut self, now: Time, n: u32, packet: Box<Packet>) {
        if self.observer.is_some() {
            let port = self.port_of(&packet);
            let held = self.nodes[n as usize].node.counters(port).held;
            self.tell(now, Hop::Node(NodeId(n), port), Fate::Left, &packet, held);
        }
        self.go_on(now, packet);
    }

    /// The port of the node that a packet is in or has just left: its last step.
    fn port_of(&self, packet: &Packet) -> Port {
        let Progress { route, step } = packet.progress;
        let leg =
            step.checked_sub(1).and_then(|i| self.routes[route as usize].legs.get(i as usize));
        match leg {
            Some(Leg::Node(_, port)) => *port,
            Some(Leg::Lane(_)) | None => Port::ONLY,
        }
    }

    /// Counts and records what node `n` dropped just now.
    #[inline]
    fn account_drops(&mut self, now: Time, n: u32) {
        if self.drops.is_empty() {
            return;
        }
        let mut drops = std::mem::take(&mut self.drops);
        self.counters.count_drops(&drops);
        for d in &drops {
            let hop = Hop::Node(NodeId(n), self.port_of(&d.packet));
            self.note(now, hop, Fate::Dropped(d.reason), &d.packet);
        }
        drops.clear();
        self.drops = drops;
    }

    /// Hashes an event and tells the observer.
    #[inline]
    fn note(&mut self, at: Time, hop: Hop, fate: Fate, packet: &Packet) {
        self.hash.add(at, hop, fate, packet);
        if self.observer.is_some() {
            let held = match hop {
                Hop::Host(_) => (0, 0),
                Hop::Node(n, port) => self.nodes[n.0 as usize].node.counters(port).held,
            };
            self.tell(at, hop, fate, packet, held);
        }
    }

    /// Notes that a packet enters a port of node `n`, which has not taken it yet.
    #[inline]
    fn note_quietly(&mut self, at: Time, n: u32, port: Port, packet: &Packet) {
        let hop = Hop::Node(NodeId(n), port);
        self.hash.add(at, hop, Fate::Entered, packet);
        if self.observer.is_some() {
            let (packets, bytes) = self.nodes[n as usize].node.counters(port).held;
            let held = (packets + 1, bytes + u64::from(packet.ip_bytes()));
            self.tell(at, hop, Fate::Entered, packet, held);
        }
    }

    fn tell(&mut self, at: Time, hop: Hop, fate: Fate, packet: &Packet, held: (u64, u64)) {
        if let Some(observer) = &mut self.observer {
            observer.record(&Record { at, hop, fate, packet, held });
        }
    }
}
