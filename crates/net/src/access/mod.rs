//! Accesses: the last miles around the ideal core, where bottlenecks are. A file per kind.

mod cell;
mod half_duplex;
mod link;
mod wifi;

use std::net::IpAddr;

use airlane_base::{Rate, Seed};

pub use cell::CellAccess;
pub use half_duplex::{HalfDuplexAccess, HalfDuplexWay};
pub use link::{LinkAccess, Way};
pub(crate) use wifi::Channels;
pub use wifi::WifiAccess;

use crate::air::{Air, StationConfig, StationId};
use crate::direction::Direction;
use crate::network::{Network, NodeId, Step};
use crate::node::Port;

/// An access, as a scenario says it.
#[derive(Clone, Debug, PartialEq)]
pub enum Access {
    /// A link with a queue, each way.
    Link(LinkAccess),
    /// A link and a queue for each user.
    Cell(CellAccess),
    /// One link for both directions.
    HalfDuplex(Box<HalfDuplexAccess>),
    /// An access point of 802.11, with hosts on it as stations.
    Wifi(Box<WifiAccess>),
    /// Stations of another kind; it lies behind a [`Self::Wifi`].
    Station(Box<StationConfig>),
}

/// An access that stands in a network.
#[derive(Clone, Debug)]
pub(crate) enum Built {
    Link(link::Built),
    Cell(Box<cell::Built>),
    Wifi(Box<wifi::Built>),
}

/// A part of an access that measures what it carries: the link of one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carrier {
    /// The direction that it carries.
    pub direction: Direction,
    /// Its node.
    pub node: NodeId,
    /// The port of that node.
    pub port: Port,
    /// Number of the user in a cell, in the order of their first flows; 0 of a part that all share.
    pub user: u32,
}

impl Access {
    /// Puts the access into a network, behind `outer` if there is one. Nodes are named after it;
    /// everything random draws from a part of `seed` of its own.
    ///
    /// # Panics
    /// If it is stations that do not lie behind a WiFi.
    pub(crate) fn build(
        &self,
        name: &str,
        outer: Option<&Built>,
        (network, channels): (&mut Network, &mut Channels),
        seed: Seed,
    ) -> Built {
        match self {
            Self::Link(link) => Built::Link(link.build(name, network, seed)),
            Self::Cell(cell) => Built::Cell(Box::new(cell.build(name, seed))),
            Self::HalfDuplex(link) if link.per_host => {
                let user = cell::User::HalfDuplex(HalfDuplexAccess::clone(link));
                Built::Cell(Box::new(cell::Built::new(name, seed, user)))
            }
            Self::HalfDuplex(link) => Built::Link(link.build(name, network, seed)),
            Self::Wifi(wifi) => Built::Wifi(Box::new(wifi.build(name, network, channels, seed))),
            Self::Station(station) => match outer {
                Some(Built::Wifi(wifi)) => {
                    Built::Wifi(Box::new(wifi.others(StationConfig::clone(station))))
                }
                _ => panic!("stations lie behind a WiFi"),
            },
        }
    }
}

impl Built {
    /// Steps that a packet of flow number `flow` passes in this access, on which the flow's client
    /// has the address `client`.
    pub(crate) fn steps(
        &mut self,
        direction: Direction,
        (flow, client): (u32, IpAddr),
        network: &mut Network,
    ) -> Vec<Step> {
        match self {
            Self::Link(link) => link.steps(direction, flow, network),
            Self::Cell(cell) => cell.steps(direction, (flow, client), network),
            Self::Wifi(wifi) => wifi.steps(direction, client),
        }
    }

    /// Nodes at which the access is measured, down before up.
    pub(crate) fn carriers(&self) -> Vec<Carrier> {
        match self {
            Self::Link(link) => link.carriers(),
            Self::Cell(cell) => cell.carriers(),
            Self::Wifi(wifi) => wifi.carriers(),
        }
    }

    /// The mean rate towards the hosts.
    pub(crate) fn mean_down(&self) -> Rate {
        match self {
            Self::Link(link) => link.mean_down(),
            Self::Cell(cell) => cell.mean_down(),
            Self::Wifi(wifi) => wifi.mean_down(),
        }
    }

    /// True if the accesses behind it use it as their own: stations of an access point cross the
    /// air once.
    pub(crate) fn is_shared(&self) -> bool {
        matches!(self, Self::Wifi(_))
    }

    /// The air that a host is on, and which station of it.
    pub(crate) fn station(&self, host: IpAddr) -> Option<(Air, StationId)> {
        match self {
            Self::Wifi(wifi) => wifi.station(host),
            Self::Link(_) | Self::Cell(_) => None,
        }
    }
}
