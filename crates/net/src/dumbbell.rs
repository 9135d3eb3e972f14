//! The topology of most experiments: many pairs of hosts share one bottleneck.

use std::time::Duration;

use airlane_base::{FlowId, Rate, Seed};

use crate::link::SerialLink;
use crate::network::{HostId, Network, NodeId, Step};
use crate::queue::{Limit, QueueSpec};

/// A link and its queue, as a scenario says it.
#[derive(Clone, Debug)]
pub struct LinkSpec {
    /// The rate.
    pub rate: Rate,
    /// The queue in front of it.
    pub queue: QueueSpec,
}

/// One pair of hosts.
#[derive(Clone, Debug)]
pub struct DumbbellFlow {
    /// Base round-trip time: propagation only, without serialisation and queues.
    pub rtt: Duration,
}

/// Servers on the left, clients on the right. Data goes through the shared downlink, what comes
/// back through the shared uplink:
///
/// ```text
/// server i --[rtt_i/2]--> downlink --> client i
/// server i <--[rtt_i/2]-- uplink <---- client i
/// ```
#[derive(Clone, Debug)]
pub struct Dumbbell {
    /// The shared bottleneck.
    pub downlink: LinkSpec,
    /// The way back.
    pub uplink: LinkSpec,
    /// The round trip that queue limits in BDP count with.
    pub queue_rtt: Duration,
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
    /// at the bottleneck, and the uplink of the Minerva paper's scene: 10 Mbit/s.
    pub fn new(rate: Rate, rtt: Duration, bdp: f64, flows: usize) -> Self {
        Self {
            downlink: LinkSpec { rate, queue: QueueSpec::DropTail(Limit::Bdp(bdp)) },
            uplink: LinkSpec {
                rate: Rate::from_mbps(10.0),
                queue: QueueSpec::DropTail(Limit::Packets(1_000)),
            },
            queue_rtt: rtt,
            flows: vec![DumbbellFlow { rtt }; flows],
        }
    }

    /// Builds it. Flow `i` is [`FlowId`] `i` in both directions.
    ///
    /// # Panics
    /// Never for a dumbbell of fewer than 2^23 flows: its routes are sound by construction.
    pub fn build(&self, seed: Seed) -> BuiltDumbbell {
        let mut network = Network::new();
        let mut link = |name: &str, spec: &LinkSpec| {
            let queue = spec.queue.build(spec.rate, self.queue_rtt, seed.split(name));
            network.add_node(name, SerialLink::constant(spec.rate, queue))
        };
        let downlink = link("downlink", &self.downlink);
        let uplink = link("uplink", &self.uplink);
        let (mut servers, mut clients) = (Vec::new(), Vec::new());
        for (i, flow) in self.flows.iter().enumerate() {
            let (server, client) = (network.add_host(), network.add_host());
            let flow_id = Some(FlowId(i as u32));
            let (there, back) = (flow.rtt / 2, flow.rtt - flow.rtt / 2);
            let down = [Step::Delay(there), Step::Node(downlink)];
            let up = [Step::Node(uplink), Step::Delay(back)];
            let (s, c) = (network.addresses(server)[0], network.addresses(client)[0]);
            for (from, to, steps) in [(s, c, down), (c, s, up)] {
                if let Err(e) = network.add_route(from, to, &steps, flow_id) {
                    unreachable!("a fresh pair of hosts has a free route: {e}");
                }
            }
            servers.push(server);
            clients.push(client);
        }
        BuiltDumbbell { network, servers, clients, downlink, uplink }
    }
}
