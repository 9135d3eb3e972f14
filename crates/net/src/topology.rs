//! An ideal core with servers in it, and named accesses around it on which clients are.
//!
//! ```text
//! server --[send jitter]--[rtt/2]--> outer access --> inner access --> client
//! server <-----------------[rtt/2]-- outer access <-- inner access <-- client
//! ```
//!
//! The core has no bottleneck: between a server and the accesses there is half of the server's
//! round-trip time each way and nothing else. An access may lie behind another one, and a client
//! may be on several accesses, with an address on each. `docs/design/network-model.md` has the
//! details.

use std::net::IpAddr;
use std::time::Duration;

use airlane_base::{FlowId, Rate, Seed};

use crate::access::{Access, Built, Carrier, Channels};
use crate::air::{Air, StationId};
use crate::direction::Direction;
use crate::impair::{Impairment, JitterLaw};
use crate::network::{HostId, Network, Step};
use crate::node::Port;

/// Random delay at the sending server, in order, that keeps flows from locking in phase with each
/// other and with the droptail queue: without it, which flow loses is decided by the phase.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SendJitter {
    /// None: only for closed forms.
    Off,
    /// Evenly between zero and so many times the time of 1500 IP bytes at the mean rate of the
    /// slowest access on the way.
    Services(f64),
    /// Evenly between zero and this.
    UpTo(Duration),
}

impl SendJitter {
    fn most(self, rate: Rate) -> Duration {
        match self {
            Self::Off => Duration::ZERO,
            // Whatever a scenario asks for, the product stays a duration.
            Self::Services(n) if rate > Rate::ZERO && n > 0.0 => {
                rate.time_for(1_500).mul_f64(n.min(1e6))
            }
            Self::Services(_) => Duration::ZERO,
            Self::UpTo(d) => d,
        }
    }
}

/// An access of a topology.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AccessId(usize);

/// A client: a host with one address on each access that it is on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    /// The host.
    pub host: HostId,
    /// The accesses in the order in which they were named, and the host's address on each.
    pub addresses: Vec<(AccessId, IpAddr)>,
}

struct Placed {
    name: String,
    behind: Option<AccessId>,
    built: Built,
}

/// A network under construction: accesses first, then hosts, then who may talk to whom.
pub struct Topology {
    network: Network,
    accesses: Vec<Placed>,
    channels: Channels,
    send_jitter: SendJitter,
    seed: Seed,
    flows: u32,
}

impl Topology {
    /// A core without accesses and hosts. What is random at servers draws from `seed`.
    pub fn new(send_jitter: SendJitter, seed: Seed) -> Self {
        Self {
            network: Network::new(),
            accesses: Vec::new(),
            channels: Channels::default(),
            send_jitter,
            seed,
            flows: 0,
        }
    }

    /// Adds an access: at the core, or `behind` another one. What is random in it draws from
    /// `seed`.
    pub fn add_access(
        &mut self,
        name: &str,
        access: &Access,
        behind: Option<AccessId>,
        seed: Seed,
    ) -> AccessId {
        let outer = behind.map(|outer| &self.accesses[outer.0].built);
        let built = access.build(name, outer, (&mut self.network, &mut self.channels), seed);
        self.accesses.push(Placed { name: name.to_owned(), behind, built });
        AccessId(self.accesses.len() - 1)
    }

    /// The accesses with what measures in each, in the order of adding: once all flows are there, as a
    /// cell has a part for each of its users.
    pub fn accesses(&self) -> impl Iterator<Item = (&str, Vec<Carrier>)> {
        self.accesses.iter().map(|a| (a.name.as_str(), a.built.carriers()))
    }

    /// Nodes at which an access is measured, down before up, user by user; once all flows are
    /// there.
    pub fn carriers(&self, access: AccessId) -> Vec<Carrier> {
        self.accesses[access.0].built.carriers()
    }

    /// The air of an access that a client is on, and which station of it: once the client is connected,
    /// if it is a WiFi.
    pub fn station(&self, access: AccessId, client: IpAddr) -> Option<(Air, StationId)> {
        self.accesses[access.0].built.station(client)
    }

    /// Adds a server to the core.
    pub fn add_server(&mut self) -> HostId {
        self.network.add_host()
    }

    /// Adds a client on these accesses.
    ///
    /// # Panics
    /// If `at` names none.
    pub fn add_client(&mut self, at: &[AccessId]) -> Client {
        assert!(!at.is_empty(), "a client is on one access at least");
        let host = self.network.add_host();
        for _ in 1..at.len() {
            self.network.add_interface(host);
        }
        let addresses = self.network.addresses(host).iter();
        Client { host, addresses: at.iter().copied().zip(addresses.copied()).collect() }
    }

    /// Lets a server and a client exchange packets at a round-trip time of propagation in the core
    /// of `rtt`: one flow per address of the client, in their order, numbered on from 0.
    pub fn connect(&mut self, server: HostId, client: &Client, rtt: Duration) -> Vec<FlowId> {
        let from = self.network.addresses(server)[0];
        let each = client.addresses.iter();
        each.map(|(access, to)| self.add_flow(from, *to, *access, rtt)).collect()
    }

    fn add_flow(&mut self, server: IpAddr, client: IpAddr, at: AccessId, rtt: Duration) -> FlowId {
        let flow = self.flows;
        self.flows += 1;
        // From the core to the client.
        let mut path = vec![at];
        while let Some(outer) = self.accesses[path[0].0].behind {
            path.insert(0, outer);
        }
        // What a station crosses is the air of its access point, once.
        let is_own =
            |at: &AccessId| *at == path[path.len() - 1] || !self.accesses[at.0].built.is_shared();
        let path: Vec<AccessId> = path.iter().copied().filter(is_own).collect();
        let network = &mut self.network;
        let slowest = path.iter().map(|a| self.accesses[a.0].built.mean_down()).min();
        let jitter = self.send_jitter.most(slowest.unwrap_or(Rate::ZERO));
        let mut down = Vec::new();
        if !jitter.is_zero() {
            let seed = self.seed.split("flow").index(flow.into()).split("send").index(0);
            let law = JitterLaw::Uniform(jitter);
            let node = Impairment::Jitter { law, reorder: false }.build(seed);
            down.push(Step::Node(network.add_node(format!("flow{flow}.send"), node), Port::ONLY));
        }
        down.push(Step::Delay(rtt / 2));
        let mut up = Vec::new();
        for access in &path {
            let access = &mut self.accesses[access.0].built;
            down.extend(access.steps(Direction::Down, (flow, client), network));
        }
        for access in path.iter().rev() {
            let access = &mut self.accesses[access.0].built;
            up.extend(access.steps(Direction::Up, (flow, client), network));
        }
        up.push(Step::Delay(rtt - rtt / 2));
        for (from, to, steps) in [(server, client, down), (client, server, up)] {
            if let Err(e) = network.add_route(from, to, &steps, Some(FlowId(flow))) {
                unreachable!("a path that never turns back has a free route: {e}");
            }
        }
        FlowId(flow)
    }

    /// The network, ready to run.
    pub fn finish(self) -> Network {
        self.network
    }
}
