//! The topology of most tests: many pairs of hosts share one link.

use std::time::Duration;

use airlane_base::{Rate, Seed};

use crate::access::{Access, LinkAccess, Way};
use crate::link::Supply;
use crate::network::{HostId, Network, NodeId};
use crate::queue::{Limit, QueueSpec};
use crate::topology::{SendJitter, Topology};

/// Servers in the core, clients on one access that is a link.
///
/// ```text
/// server i --[send jitter]--[rtt_i/2]--[impairments]--> downlink --> client i
/// server i <----[rtt_i/2]-- uplink <--[impairments]----------------- client i
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Dumbbell {
    /// The shared bottleneck, towards the clients.
    pub downlink: Way,
    /// The way back.
    pub uplink: Way,
    /// Jitter at the servers.
    pub send_jitter: SendJitter,
    /// The base round-trip time of each pair of hosts: propagation only, without serialisation,
    /// queues and jitter.
    pub rtts: Vec<Duration>,
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
        let queue = QueueSpec::DropTail(Limit::Bdp(bdp));
        let back = QueueSpec::DropTail(Limit::Packets(1_000));
        Self {
            downlink: Way { queue_rtt: rtt, ..Way::new(supply, queue) },
            uplink: Way { queue_rtt: rtt, ..Way::new(Rate::from_mbps(10.0), back) },
            send_jitter: SendJitter::Services(1.0),
            rtts: vec![rtt; flows],
        }
    }

    /// Builds it. Flow `i` is [`FlowId`](airlane_base::FlowId) `i` in both directions. Everything
    /// random draws from a part of `seed` of its own.
    pub fn build(&self, seed: Seed) -> BuiltDumbbell {
        let mut topology = Topology::new(self.send_jitter, seed);
        let link = LinkAccess { down: self.downlink.clone(), up: self.uplink.clone() };
        let link = topology.add_access("link", &Access::Link(link), None, seed);
        let (mut servers, mut clients) = (Vec::new(), Vec::new());
        for rtt in &self.rtts {
            let server = topology.add_server();
            let client = topology.add_client(&[link]);
            topology.connect(server, &client, *rtt);
            servers.push(server);
            clients.push(client.host);
        }
        let carriers = topology.carriers(link);
        let (downlink, uplink) = (carriers[0].node, carriers[1].node);
        BuiltDumbbell { network: topology.finish(), servers, clients, downlink, uplink }
    }
}
