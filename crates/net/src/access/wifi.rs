//! The access that is a WiFi: an access point, and stations that share its channel.
//!
//! Hosts on the access point's own access are stations as it says; those on an access behind it, of the
//! kind of a station, are as that one says.

use std::collections::BTreeMap;
use std::net::IpAddr;

use airlane_base::{Rate, Seed};

use super::Carrier;
use crate::air::{Air, ApConfig, ApId, ChannelConfig, InterfererConfig, StationConfig, StationId};
use crate::direction::Direction;
use crate::network::{Network, NodeId, Step};

/// A WiFi.
#[derive(Clone, Debug, PartialEq)]
pub struct WifiAccess {
    /// The name of its channel: WiFis that name the same one share it. `None`: it has one of its own.
    pub shares: Option<String>,
    /// Its channel; where it shares one, the first WiFi on it says what it is.
    pub channel: ChannelConfig,
    /// Transmitters on the channel that are no 802.11.
    pub interferers: Vec<InterfererConfig>,
    /// Its access point.
    pub ap: ApConfig,
    /// A host on it, which is a station.
    pub station: StationConfig,
}

/// Channels that several WiFis may share, by name, with their nodes.
#[derive(Debug, Default)]
pub(crate) struct Channels(BTreeMap<String, (Air, NodeId)>);

/// An access point that stands in a network.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    air: Air,
    node: NodeId,
    ap: ApId,
}

/// Stations of one kind that stand in a network.
#[derive(Clone, Debug)]
pub(crate) struct Built {
    point: Point,
    station: StationConfig,
    /// By the address of the host.
    stations: BTreeMap<IpAddr, StationId>,
    /// The hosts in the order of their first flows.
    order: Vec<IpAddr>,
}

impl WifiAccess {
    pub(super) fn build(
        &self,
        name: &str,
        network: &mut Network,
        channels: &mut Channels,
        seed: Seed,
    ) -> Built {
        let mut stand = || {
            let air = Air::new(self.channel, seed.split("air"));
            let node = network.add_node(name, Box::new(air.clone()));
            (air, node)
        };
        let (air, node) = match &self.shares {
            None => stand(),
            Some(shared) => channels.0.entry(shared.clone()).or_insert_with(stand).clone(),
        };
        for interferer in &self.interferers {
            air.add_interferer(*interferer);
        }
        let ap = air.add_ap(self.ap.clone());
        Built::new(Point { air, node, ap }, self.station.clone())
    }
}

impl Built {
    fn new(point: Point, station: StationConfig) -> Self {
        Self { point, station, stations: BTreeMap::new(), order: Vec::new() }
    }

    /// Stations of another kind at the same access point.
    pub(super) fn others(&self, station: StationConfig) -> Self {
        Self::new(self.point.clone(), station)
    }

    pub(super) fn steps(&mut self, direction: Direction, host: IpAddr) -> Vec<Step> {
        let station = *self.stations.entry(host).or_insert_with(|| {
            self.order.push(host);
            self.point.air.add_station(self.point.ap, self.station.clone())
        });
        vec![Step::Node(self.point.node, Air::port(station, direction))]
    }

    pub(super) fn carriers(&self) -> Vec<Carrier> {
        let stations = self.order.iter().enumerate();
        let both = |(user, host): (usize, &IpAddr)| {
            let station = self.stations[host];
            Direction::BOTH.map(|direction| Carrier {
                direction,
                node: self.point.node,
                port: Air::port(station, direction),
                user: user as u32,
            })
        };
        stations.flat_map(both).collect()
    }

    /// The rate of a frame to a host alone.
    pub(super) fn mean_down(&self) -> Rate {
        self.point.air.rate_of(self.point.ap, &self.station)
    }

    /// The channel, and the station that a host is on it.
    pub(super) fn station(&self, host: IpAddr) -> Option<(Air, StationId)> {
        Some((self.point.air.clone(), *self.stations.get(&host)?))
    }
}
