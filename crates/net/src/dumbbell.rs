//! The topology of most experiments: many pairs of hosts share one bottleneck.

use std::time::Duration;

use airlane_base::{FlowId, Rate, Seed};

use crate::impair::{Impairment, JitterLaw};
use crate::link::Supply;
use crate::network::{HostId, Network, NodeId, Step};
use crate::queue::{Limit, QueueSpec};

/// A link and its queue, as a scenario says it.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkSpec {
    /// What it can carry.
    pub supply: Supply,
    /// Where in a recorded supply the world starts.
    pub offset: Duration,
    /// The queue in front of it.
    pub queue: QueueSpec,
}

impl LinkSpec {
    /// A link of this supply and queue, from the supply's start on.
    pub fn new(supply: impl Into<Supply>, queue: QueueSpec) -> Self {
        Self { supply: supply.into(), offset: Duration::ZERO, queue }
    }
}

/// Random delay at the sending host, in order, that keeps flows from locking in phase with each
/// other and with the droptail queue: without it, which flow loses is decided by the phase.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SendJitter {
    /// None: only for closed forms.
    Off,
    /// Evenly between zero and so many times the time of 1500 IP bytes at the bottleneck's mean
    /// rate.
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

/// One pair of hosts.
#[derive(Clone, Debug, PartialEq)]
pub struct DumbbellFlow {
    /// Base round-trip time: propagation only, without serialisation, queues and jitter.
    pub rtt: Duration,
    /// What happens to the flow's data before the bottleneck, in this order.
    pub impair_down: Vec<Impairment>,
    /// What happens to what comes back after the uplink, in this order.
    pub impair_up: Vec<Impairment>,
}

impl DumbbellFlow {
    /// A pair without impairments.
    pub fn new(rtt: Duration) -> Self {
        Self { rtt, impair_down: Vec::new(), impair_up: Vec::new() }
    }
}

/// Servers on the left, clients on the right. Data goes through the shared downlink, what comes
/// back through the shared uplink:
///
/// ```text
/// server i --[send jitter]--[rtt_i/2]--[impairments]--> downlink --> client i
/// server i <----[impairments]--[rtt_i/2]--------------- uplink <---- client i
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Dumbbell {
    /// The shared bottleneck.
    pub downlink: LinkSpec,
    /// The way back.
    pub uplink: LinkSpec,
    /// The round trip that queue limits in BDP count with.
    pub queue_rtt: Duration,
    /// Jitter at the servers.
    pub send_jitter: SendJitter,
    /// The pairs of hosts.
    pub flows: Vec<DumbbellFlow>,
}

/// A dumbbell that was built: the network and who is who in it.
#[derive(Debug)]
pub struct BuiltDumbbell {
    /// The network, ready to run.
    pub network: Network,
    /// The server of each flow.
    pub servers: Vec<HostId>,
    /// The client of each flow.
    pub clients: Vec<HostId>,
    /// The shared bottleneck.
    pub downlink: NodeId,
    /// The way back.
    pub uplink: NodeId,
}

impl Dumbbell {
    /// `flows` pairs with the same round trip, a droptail queue of `bdp` bandwidth-delay products
    /// at the bottleneck, an uplink of 10 Mbit/s and 1000 packets (the Minerva paper's scene),
    /// and send jitter of one service time.
    pub fn new(supply: impl Into<Supply>, rtt: Duration, bdp: f64, flows: usize) -> Self {
        let uplink = QueueSpec::DropTail(Limit::Packets(1_000));
        Self {
            downlink: LinkSpec::new(supply, QueueSpec::DropTail(Limit::Bdp(bdp))),
            uplink: LinkSpec::new(Rate::from_mbps(10.0), uplink),
            queue_rtt: rtt,
            send_jitter: SendJitter::Services(1.0),
            flows: vec![DumbbellFlow::new(rtt); flows],
        }
    }

    /// Builds it. Flow `i` is [`FlowId`] `i` in both directions. Everything random draws from a
    /// part of `seed` of its own.
    ///
    /// # Panics
    /// Never for a dumbbell of fewer than 2^23 flows: its routes are sound by construction.
    pub fn build(&self, seed: Seed) -> BuiltDumbbell {
        let mut network = Network::new();
        let mut link = |name: &str, spec: &LinkSpec| {
            let queue = spec.queue.build(spec.supply.mean(), self.queue_rtt, seed.split(name));
            network.add_node(name, spec.supply.link(spec.offset, queue))
        };
        let downlink = link("downlink", &self.downlink);
        let uplink = link("uplink", &self.uplink);
        let jitter = self.send_jitter.most(self.downlink.supply.mean());
        let (mut servers, mut clients) = (Vec::new(), Vec::new());
        for (i, flow) in self.flows.iter().enumerate() {
            let seed = seed.split("flow").index(i as u64);
            let mut chain = |what: &str, impairments: &[Impairment]| -> Vec<Step> {
                let nodes = impairments.iter().enumerate().map(|(k, impairment)| {
                    let node = impairment.build(seed.split(what).index(k as u64));
                    Step::Node(network.add_node(format!("flow{i}.{what}{k}"), node))
                });
                nodes.collect()
            };
            let mut down = Vec::new();
            if !jitter.is_zero() {
                let law = JitterLaw::Uniform(jitter);
                down = chain("send", &[Impairment::Jitter { law, reorder: false }]);
            }
            down.push(Step::Delay(flow.rtt / 2));
            down.extend(chain("down", &flow.impair_down));
            down.push(Step::Node(downlink));
            let mut up = vec![Step::Node(uplink), Step::Delay(flow.rtt - flow.rtt / 2)];
            up.extend(chain("up", &flow.impair_up));
            let (server, client) = (network.add_host(), network.add_host());
            let (s, c) = (network.addresses(server)[0], network.addresses(client)[0]);
            for (from, to, steps) in [(s, c, down), (c, s, up)] {
                if let Err(e) = network.add_route(from, to, &steps, Some(FlowId(i as u32))) {
                    unreachable!("a fresh pair of hosts has a free route: {e}");
                }
            }
            servers.push(server);
            clients.push(client);
        }
        BuiltDumbbell { network, servers, clients, downlink, uplink }
    }
}
