//! A network: hosts with addresses, nodes, and routes between addresses.
//!
//! Drive contract: [`Network::send`] packets at their time, [`Network::poll`] at each
//! [`Network::next_event`] until it returns `None`. Time never goes back. Events of one instant
//! happen in the order in which they were scheduled. The work per event does not depend on the
//! number of hosts: delays are lanes (first in, first out per distinct delay), and only the head of
//! each lane and the busy nodes have an event.

mod backlog;
mod record;
mod routes;
mod run;
mod series;

use std::collections::VecDeque;
use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use airlane_base::{FlowId, Packet, Schedule, Time};

use crate::meter::LinkStats;
use crate::node::{Counters, Dropped, Node, Port};
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
    /// Through a node, by one of its ports.
    Node(NodeId, Port),
    /// A constant time on the way, without a node of its own.
    Delay(Duration),
}

/// A packet that reached its host.
#[derive(Debug)]
pub struct Delivered {
    /// Time of the event itself, also if the network was polled late.
    pub at: Time,
    /// Host whose address it came to.
    pub host: HostId,
    /// The packet.
    pub packet: Box<Packet>,
}

/// A route that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RouteError {
    /// Not an address of this network.
    #[error("{0} is no address of this network")]
    UnknownAddress(IpAddr),
    /// Not a node of this network.
    #[error("node {} is not part of this network", .0.0)]
    UnknownNode(NodeId),
    /// Not a port of this node.
    #[error("node {} has no port {}", .0.0, .1.0)]
    UnknownPort(NodeId, Port),
    /// A route passes a port once at most: from there on it would run in a circle.
    #[error("a route passes port {} of node {} twice", .1.0, .0.0)]
    Repeated(NodeId, Port),
    /// The pair has a route.
    #[error("there is a route from {0} to {1} already")]
    Taken(IpAddr, IpAddr),
}

struct Slot {
    name: String,
    node: Box<dyn Node>,
    /// Its slot in the schedule.
    slot: usize,
}

/// Packets that travel for the same constant time, so that they arrive as they entered.
struct Lane {
    delay: Duration,
    /// Its slot in the schedule.
    slot: usize,
    travelling: VecDeque<Travelling>,
}

struct Travelling {
    at: Time,
    seq: u64,
    packet: Box<Packet>,
}

/// Owner of an event: a node that wants to be polled, or a lane with a packet about to leave it.
#[derive(Clone, Copy)]
enum Actor {
    Node(u32),
    Lane(u32),
}

#[derive(Clone, Copy)]
enum Leg {
    Node(u32, Port),
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
    schedule: Schedule,
    /// Events of one time happen in the order of their scheduling.
    sequence: u64,
    /// By the slot of the schedule.
    actors: Vec<Actor>,
    ready: VecDeque<Delivered>,
    drops: Vec<Dropped>,
    counters: Counters,
    hash: PacketHash,
    observer: Option<Box<dyn Observer>>,
    series: Option<Series>,
    backlog_limits: backlog::Limits,
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

    /// Time of the last event: nothing may be sent before.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Number of hosts; they are numbered from 0.
    pub fn host_count(&self) -> usize {
        self.hosts.len()
    }

    /// Number of nodes; they are numbered from 0.
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
        let id = self.nodes.len() as u32;
        let slot = self.slot(Actor::Node(id));
        self.nodes.push(Slot { name: name.into(), node, slot });
        NodeId(id)
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
            if let Step::Node(n, port) = *step {
                let Some(slot) = self.nodes.get(n.0 as usize) else {
                    return Err(RouteError::UnknownNode(n));
                };
                if port.0 >= slot.node.ports() {
                    return Err(RouteError::UnknownPort(n, port));
                }
                if steps[..i].contains(step) {
                    return Err(RouteError::Repeated(n, port));
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
                Step::Node(n, port) => Leg::Node(n.0, port),
                Step::Delay(d) => Leg::Lane(self.lane(d)),
            })
            .collect();
        self.routes.push(Route { flow, host: self.interfaces[to as usize], legs });
        Ok(())
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

    /// The samples until `now`, or until the last event where that was later.
    pub fn take_series(&mut self, now: Time) -> Option<Series> {
        self.clock(now.max(self.now));
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

    /// Counters of a port of a node.
    ///
    /// # Panics
    /// If the node is not of this network.
    pub fn node_counters(&self, node: NodeId, port: Port) -> Counters {
        self.nodes[node.0 as usize].node.counters(port)
    }

    /// Statistics of a link for a port, from the start until `now`; `None` for nodes that are no
    /// links.
    ///
    /// # Panics
    /// If the node is not of this network.
    pub fn link_stats(&self, node: NodeId, port: Port, now: Time) -> Option<LinkStats> {
        self.nodes[node.0 as usize].node.link_stats(port, now)
    }

    /// The nodes on the route from one address to another and their ports, in order; none without a
    /// route.
    pub fn nodes_between(&self, src: IpAddr, dst: IpAddr) -> Vec<(NodeId, Port)> {
        let ends = self.interface(src).zip(self.interface(dst));
        let route = ends.and_then(|(from, to)| self.table.get(from, to));
        let legs = route.map_or(&[] as &[Leg], |route| &self.routes[route as usize].legs);
        let node = |leg: &Leg| match *leg {
            Leg::Node(node, port) => Some((NodeId(node), port)),
            Leg::Lane(_) => None,
        };
        legs.iter().filter_map(node).collect()
    }

    /// Counters of the network as a whole: sent, delivered, dropped anywhere, on the way.
    pub fn counters(&self) -> Counters {
        let on_the_way = self.lanes.iter().flat_map(|l| &l.travelling).map(|t| &t.packet);
        let waiting = on_the_way.chain(self.ready.iter().map(|d| &d.packet));
        let mut held = waiting.fold((0, 0), |(n, b), p| (n + 1, b + u64::from(p.ip_bytes())));
        for (_, counters) in self.ports() {
            held = (held.0 + counters.held.0, held.1 + counters.held.1);
        }
        Counters { held, ..self.counters }
    }

    /// As [`counters`](Self::counters), but at once: what is held follows from the other three
    /// instead of being counted.
    pub fn tally(&self) -> Counters {
        let (packets, bytes) = self.counters.dropped_total();
        let held = (
            self.counters.pushed.0 - self.counters.polled.0 - packets,
            self.counters.pushed.1 - self.counters.polled.1 - bytes,
        );
        Counters { held, ..self.counters }
    }

    /// Checks that every node, and the network as a whole, conserves packets and bytes; names the
    /// first that does not.
    ///
    /// # Errors
    /// The name of the node (`network` for the whole) and its counters.
    pub fn check_conservation(&self) -> Result<(), String> {
        let whole = std::iter::once(("network", self.counters()));
        match whole.chain(self.ports()).find(|(_, c)| !c.conserves()) {
            None => Ok(()),
            Some((name, c)) => Err(format!("{name} does not conserve: {c:?}")),
        }
    }

    /// Counters of every port of every node, with the node's name.
    fn ports(&self) -> impl Iterator<Item = (&str, Counters)> {
        self.nodes.iter().flat_map(|slot| {
            let each = (0..slot.node.ports()).map(Port);
            each.map(|port| (slot.name.as_str(), slot.node.counters(port)))
        })
    }

    fn interface(&self, address: IpAddr) -> Option<u32> {
        routes::interface(address, self.interfaces.len())
    }

    fn lane(&mut self, delay: Duration) -> u32 {
        let found = self.lanes.iter().position(|l| l.delay == delay);
        found.unwrap_or_else(|| {
            let id = self.lanes.len();
            let slot = self.slot(Actor::Lane(id as u32));
            self.lanes.push(Lane { delay, slot, travelling: VecDeque::new() });
            id
        }) as u32
    }

    fn slot(&mut self, actor: Actor) -> usize {
        self.actors.push(actor);
        self.actors.len() - 1
    }

    /// A fresh sequence number.
    #[inline]
    fn sequence(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }

    /// Moves the clock on, taking the samples that lie between.
    #[inline]
    fn clock(&mut self, now: Time) {
        debug_assert!(now >= self.now, "time went back from {} to {now}", self.now);
        self.now = now;
        if let Some(series) = &mut self.series {
            while series.next() <= now {
                let at = series.next();
                let ports = self.nodes.iter().enumerate().flat_map(|(i, slot)| {
                    (0..slot.node.ports()).map(move |p| (NodeId(i as u32), Port(p), &slot.node))
                });
                series.add(ports.filter_map(|(id, port, node)| {
                    let stats = node.link_stats(port, at)?;
                    Some(LinkSample::new(id, port, &stats, node.counters(port)))
                }));
            }
        }
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
