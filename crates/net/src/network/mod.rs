//! A network: hosts with addresses, nodes, and routes between addresses.
//!
//! Drive contract: [`Network::send`] packets at their time, [`Network::poll`] at each
//! [`Network::next_event`] until it returns `None`. Time never goes back. Events of one instant
//! happen in the order in which they were scheduled. The work per event does not depend on the
//! number of hosts or nodes: delays are lanes (first in, first out per distinct delay), and only
//! the head of each lane and the busy nodes are in the heap of events.

mod events;
mod record;
mod routes;
mod series;

use std::collections::VecDeque;
use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use airlane_base::{DropReason, FlowId, Packet, Time};

use crate::meter::LinkStats;
use crate::node::{Counters, Dropped, Node};
use events::{Events, Source};
pub use record::{Fate, Hop, Observer, PacketHash, Record};
pub use series::{LinkSample, Series};

/// A host of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostId(pub u32);

/// A node of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

/// One step of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Through a node.
    Node(NodeId),
    /// A constant time on the way, without a node of its own.
    Delay(Duration),
}

/// A packet that reached its host.
#[derive(Debug)]
pub struct Delivered {
    /// When: the event's own time, also if the network was polled late.
    pub at: Time,
    /// Whose address it came to.
    pub host: HostId,
    /// The packet.
    pub packet: Packet,
}

/// A route that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RouteError {
    /// Not an address of this network.
    #[error("{0} is no address of this network")]
    UnknownAddress(IpAddr),
    /// Not a node of this network.
    #[error("node {} is not part of this network", .0.0)]
    UnknownNode(NodeId),
    /// A route passes a node once at most: from there on it would run in a circle.
    #[error("a route passes node {} twice", .0.0)]
    Repeated(NodeId),
    /// The pair has a route.
    #[error("there is a route from {0} to {1} already")]
    Taken(IpAddr, IpAddr),
}

struct Slot {
    name: String,
    node: Box<dyn Node>,
    /// The valid event of the node in the heap: others of its events there are stale.
    due: Option<(Time, u64)>,
}

/// Packets that travel for the same constant time, so that they arrive as they entered.
struct Lane {
    delay: Duration,
    travelling: VecDeque<Travelling>,
}

struct Travelling {
    at: Time,
    seq: u64,
    /// Where it goes on: the route and the index of the next step.
    route: u32,
    step: u32,
    packet: Packet,
}

#[derive(Clone, Copy)]
enum Leg {
    Node(u32),
    Lane(u32),
}

struct Route {
    flow: Option<FlowId>,
    host: HostId,
    legs: Box<[Leg]>,
}

/// Hosts, nodes and the ways between them.
#[derive(Default)]
pub struct Network {
    now: Time,
    nodes: Vec<Slot>,
    lanes: Vec<Lane>,
    /// The host of each interface.
    interfaces: Vec<HostId>,
    /// The addresses of each host.
    hosts: Vec<Vec<IpAddr>>,
    routes: Vec<Route>,
    table: routes::Table,
    events: Events,
    ready: VecDeque<Delivered>,
    drops: Vec<Dropped>,
    counters: Counters,
    hash: PacketHash,
    observer: Option<Box<dyn Observer>>,
    series: Option<Series>,
}

impl Network {
    /// A network without hosts and nodes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a host with one interface.
    pub fn add_host(&mut self) -> HostId {
        let host = HostId(self.hosts.len() as u32);
        self.hosts.push(Vec::new());
        self.add_interface(host);
        host
    }

    /// Adds an interface to a host and tells its address. Addresses are 10.0.0.1 and up, in the
    /// order of adding.
    ///
    /// # Panics
    /// If the host is not of this network, or after 2^24 interfaces.
    pub fn add_interface(&mut self, host: HostId) -> IpAddr {
        let address = routes::address(self.interfaces.len() as u32);
        self.hosts[host.0 as usize].push(address);
        self.interfaces.push(host);
        address
    }

    /// How many hosts there are; they are numbered from 0.
    pub fn host_count(&self) -> usize {
        self.hosts.len()
    }

    /// How many nodes there are; they are numbered from 0.
    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// The addresses of a host, in the order of its interfaces.
    ///
    /// # Panics
    /// If the host is not of this network.
    pub fn addresses(&self, host: HostId) -> &[IpAddr] {
        &self.hosts[host.0 as usize]
    }

    /// The host that an address belongs to.
    pub fn host_of(&self, address: IpAddr) -> Option<HostId> {
        self.interface(address).map(|i| self.interfaces[i as usize])
    }

    /// Adds a node under a name for tables and records.
    pub fn add_node(&mut self, name: impl Into<String>, node: Box<dyn Node>) -> NodeId {
        self.nodes.push(Slot { name: name.into(), node, due: None });
        NodeId(self.nodes.len() as u32 - 1)
    }

    /// Sets the way of packets from one address to another. Packets without a route are dropped
    /// as unreachable. With a `flow`, packets on this route are stamped with it.
    ///
    /// # Errors
    /// [`RouteError`] says what is wrong with it.
    pub fn add_route(
        &mut self,
        src: IpAddr,
        dst: IpAddr,
        steps: &[Step],
        flow: Option<FlowId>,
    ) -> Result<(), RouteError> {
        let from = self.interface(src).ok_or(RouteError::UnknownAddress(src))?;
        let to = self.interface(dst).ok_or(RouteError::UnknownAddress(dst))?;
        for (i, step) in steps.iter().enumerate() {
            if let Step::Node(n) = *step {
                if n.0 as usize >= self.nodes.len() {
                    return Err(RouteError::UnknownNode(n));
                }
                if steps[..i].contains(step) {
                    return Err(RouteError::Repeated(n));
                }
            }
        }
        if !self.table.insert(from, to, self.routes.len() as u32) {
            return Err(RouteError::Taken(src, dst));
        }
        let legs = steps
            .iter()
            .filter(|s| **s != Step::Delay(Duration::ZERO))
            .map(|step| match *step {
                Step::Node(n) => Leg::Node(n.0),
                Step::Delay(d) => Leg::Lane(self.lane(d)),
            })
            .collect();
        self.routes.push(Route { flow, host: self.interfaces[to as usize], legs });
        Ok(())
    }

    /// Takes a packet from its host at `now`: numbers it, stamps the time (and the flow, if the
    /// route has one) and puts it on its way.
    pub fn send(&mut self, now: Time, mut packet: Packet) {
        self.run_before(now);
        self.clock(now);
        packet.id = self.counters.pushed.0;
        packet.sent = now;
        packet.enqueued = now;
        let from = self.interface(packet.src.ip());
        let route = self.route_of(&packet);
        if let Some(flow) = route.and_then(|r| self.routes[r as usize].flow) {
            packet.flow = flow;
        }
        self.counters.count_push(&packet);
        let host = from.map_or(HostId(u32::MAX >> 1), |i| self.interfaces[i as usize]);
        self.note(now, Hop::Host(host), Fate::Sent, &packet);
        match route {
            Some(route) => self.go_on(now, route, 0, packet),
            None => {
                let drop = Dropped { packet, reason: DropReason::Unreachable };
                self.note(now, Hop::Host(host), Fate::Dropped(drop.reason), &drop.packet);
                self.counters.count_drops(std::slice::from_ref(&drop));
            }
        }
        self.prune();
    }

    /// When something happens next: poll then. `None` while no packet is on its way.
    pub fn next_event(&self) -> Option<Time> {
        match self.ready.front() {
            Some(d) => Some(d.at),
            None => self.events.next(),
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

    /// The packet hash so far.
    pub fn packet_hash(&self) -> u64 {
        self.hash.finish()
    }

    /// Lets `observer` see every hop of every packet from now on.
    pub fn observe(&mut self, observer: impl Observer + 'static) {
        self.observer = Some(Box::new(observer));
    }

    /// Takes samples of every link each `interval`, from time zero on. Costs no events: what
    /// holds at a sample's time is noted when the first event after it happens.
    pub fn sample_every(&mut self, interval: Duration) {
        self.series = Some(Series::new(interval));
    }

    /// The samples until `now`.
    pub fn take_series(&mut self, now: Time) -> Option<Series> {
        self.clock(now);
        self.series.take()
    }

    /// The name of a node.
    ///
    /// # Panics
    /// If the node is not of this network.
    pub fn name(&self, node: NodeId) -> &str {
        &self.nodes[node.0 as usize].name
    }

    /// The node of a name, if there is one.
    pub fn find(&self, name: &str) -> Option<NodeId> {
        self.nodes.iter().position(|s| s.name == name).map(|i| NodeId(i as u32))
    }

    /// What went through a node.
    ///
    /// # Panics
    /// If the node is not of this network.
    pub fn node_counters(&self, node: NodeId) -> Counters {
        self.nodes[node.0 as usize].node.counters()
    }

    /// What a link measured from the start until `now`; `None` for nodes that are no links.
    ///
    /// # Panics
    /// If the node is not of this network.
    pub fn link_stats(&self, node: NodeId, now: Time) -> Option<LinkStats> {
        self.nodes[node.0 as usize].node.link_stats(now)
    }

    /// What went through the network as a whole: sent, delivered, dropped anywhere, on the way.
    pub fn counters(&self) -> Counters {
        let on_the_way = self.lanes.iter().flat_map(|l| &l.travelling).map(|t| &t.packet);
        let waiting = on_the_way.chain(self.ready.iter().map(|d| &d.packet));
        let mut held = waiting.fold((0, 0), |(n, b), p| (n + 1, b + u64::from(p.ip_bytes())));
        for slot in &self.nodes {
            let (packets, bytes) = slot.node.counters().held;
            held = (held.0 + packets, held.1 + bytes);
        }
        Counters { held, ..self.counters }
    }

    /// Whether every node, and the network as a whole, conserves packets and bytes; names the
    /// first that does not.
    ///
    /// # Errors
    /// The name of the node (`network` for the whole) and its counters.
    pub fn check_conservation(&self) -> Result<(), String> {
        let whole = std::iter::once(("network", self.counters()));
        let nodes = self.nodes.iter().map(|s| (s.name.as_str(), s.node.counters()));
        match whole.chain(nodes).find(|(_, c)| !c.conserves()) {
            None => Ok(()),
            Some((name, c)) => Err(format!("{name} does not conserve: {c:?}")),
        }
    }

    fn interface(&self, address: IpAddr) -> Option<u32> {
        routes::interface(address, self.interfaces.len())
    }

    fn route_of(&self, packet: &Packet) -> Option<u32> {
        let from = self.interface(packet.src.ip())?;
        self.table.get(from, self.interface(packet.dst.ip())?)
    }

    fn lane(&mut self, delay: Duration) -> u32 {
        let found = self.lanes.iter().position(|l| l.delay == delay);
        found.unwrap_or_else(|| {
            self.lanes.push(Lane { delay, travelling: VecDeque::new() });
            self.lanes.len() - 1
        }) as u32
    }

    /// Moves the clock on, taking the samples that lie between.
    #[inline]
    fn clock(&mut self, now: Time) {
        debug_assert!(now >= self.now, "time went back from {} to {now}", self.now);
        self.now = now;
        if let Some(series) = &mut self.series {
            while series.next() <= now {
                let at = series.next();
                let links = self.nodes.iter().enumerate();
                series.add(links.filter_map(|(i, s)| {
                    let stats = s.node.link_stats(at)?;
                    Some(LinkSample::new(NodeId(i as u32), &stats, s.node.counters()))
                }));
            }
        }
    }

    fn run_before(&mut self, now: Time) {
        while self.events.next().is_some_and(|at| at < now) {
            self.run_one(now);
        }
    }

    /// Runs the next event if it is due; false if none is.
    #[inline]
    fn run_one(&mut self, now: Time) -> bool {
        let Some((at, source)) = self.events.pop(now) else { return false };
        self.clock(at);
        match source {
            Source::Node(n) => {
                self.nodes[n as usize].due = None;
                self.settle(at, n);
            }
            Source::Lane(l) => {
                let lane = &mut self.lanes[l as usize];
                if let Some(t) = lane.travelling.pop_front() {
                    if let Some(next) = lane.travelling.front() {
                        self.events.push(next.at, next.seq, source);
                    }
                    self.go_on(at, t.route, t.step, t.packet);
                }
            }
        }
        self.prune();
        true
    }

    /// Puts a packet on step `step` of its route.
    fn go_on(&mut self, now: Time, route: u32, step: u32, packet: Packet) {
        let r = &self.routes[route as usize];
        match r.legs.get(step as usize) {
            None => {
                let host = r.host;
                self.note(now, Hop::Host(host), Fate::Delivered, &packet);
                self.ready.push_back(Delivered { at: now, host, packet });
            }
            Some(&Leg::Lane(l)) => {
                let seq = self.events.sequence();
                let lane = &mut self.lanes[l as usize];
                let at = now + lane.delay;
                if lane.travelling.is_empty() {
                    self.events.push(at, seq, Source::Lane(l));
                }
                lane.travelling.push_back(Travelling { at, seq, route, step: step + 1, packet });
            }
            Some(&Leg::Node(n)) => {
                self.note_quietly(now, n, &packet);
                self.nodes[n as usize].node.push(now, packet, &mut self.drops);
                self.account_drops(now, n);
                self.settle(now, n);
            }
        }
    }

    /// Takes out of a node what is due, and notes when it wants to be polled next.
    fn settle(&mut self, now: Time, n: u32) {
        loop {
            let slot = &mut self.nodes[n as usize];
            let next = slot.node.next_event();
            if next.is_none_or(|at| at > now) {
                if slot.due.map(|(at, _)| at) != next {
                    slot.due = next.map(|at| {
                        let seq = self.events.sequence();
                        self.events.push(at, seq, Source::Node(n));
                        (at, seq)
                    });
                }
                return;
            }
            let polled = slot.node.poll(now, &mut self.drops);
            let after = slot.node.next_event();
            self.account_drops(now, n);
            match polled {
                Some(packet) => self.leave(now, n, packet),
                None => assert!(
                    after.is_none_or(|at| at > now),
                    "node {} is due at {now} but neither acts nor moves on",
                    self.nodes[n as usize].name
                ),
            }
        }
    }

    /// Sends a packet that left node `n` on along its route.
    fn leave(&mut self, now: Time, n: u32, packet: Packet) {
        if self.observer.is_some() {
            let held = self.nodes[n as usize].node.counters().held;
            self.tell(now, Hop::Node(NodeId(n)), Fate::Left, &packet, held);
        }
        let route = self.route_of(&packet);
        let position = route.and_then(|r| {
            let legs = &self.routes[r as usize].legs;
            legs.iter().position(|l| matches!(l, Leg::Node(m) if *m == n)).map(|p| (r, p))
        });
        match position {
            Some((r, p)) => self.go_on(now, r, p as u32 + 1, packet),
            // A node that rewrites addresses may send a packet nowhere.
            None => {
                let drop = Dropped { packet, reason: DropReason::Unreachable };
                self.note(now, Hop::Node(NodeId(n)), Fate::Dropped(drop.reason), &drop.packet);
                self.counters.count_drops(std::slice::from_ref(&drop));
            }
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
        let hop = Hop::Node(NodeId(n));
        for d in &drops {
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
                Hop::Node(n) => self.nodes[n.0 as usize].node.counters().held,
            };
            self.tell(at, hop, fate, packet, held);
        }
    }

    /// Notes that a packet enters node `n`, which has not taken it yet.
    #[inline]
    fn note_quietly(&mut self, at: Time, n: u32, packet: &Packet) {
        let hop = Hop::Node(NodeId(n));
        self.hash.add(at, hop, Fate::Entered, packet);
        if self.observer.is_some() {
            let (packets, bytes) = self.nodes[n as usize].node.counters().held;
            let held = (packets + 1, bytes + u64::from(packet.ip_bytes()));
            self.tell(at, hop, Fate::Entered, packet, held);
        }
    }

    fn tell(&mut self, at: Time, hop: Hop, fate: Fate, packet: &Packet, held: (u64, u64)) {
        if let Some(observer) = &mut self.observer {
            observer.record(&Record { at, hop, fate, packet, held });
        }
    }

    /// Drops stale events from the top of the heap, so that `next_event` tells the truth.
    #[inline]
    fn prune(&mut self) {
        let nodes = &self.nodes;
        self.events.prune(|n, at, seq| nodes[n as usize].due == Some((at, seq)));
    }
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Network")
            .field("now", &self.now)
            .field("hosts", &self.hosts.len())
            .field("nodes", &self.nodes.iter().map(|s| &s.name).collect::<Vec<_>>())
            .field("routes", &self.routes.len())
            .finish_non_exhaustive()
    }
}
