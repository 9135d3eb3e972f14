//! The access that is a cell: each user has a share of the air and a queue of their own, each way.
//!
//! A base station keeps a queue per user (Octopus, section 4.3), and a trace is what one user got of the
//! air. So users share nothing here: what one does changes nothing for the others.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use airlane_base::{Rate, Seed};
use rand::RngExt;

use super::Carrier;
use super::half_duplex::HalfDuplexAccess;
use super::link::{Built as BuiltLink, LinkAccess};
use crate::direction::Direction;
use crate::network::{Network, Step};

/// Traces wrap: users start somewhere in so much of theirs.
const OFFSETS: Duration = Duration::from_secs(3600);

/// A cell. Every user has a link like this one; the first starts where the supply does, the others at
/// random offsets.
#[derive(Clone, Debug, PartialEq)]
pub struct CellAccess {
    /// Link that each user has.
    pub user: LinkAccess,
}

/// Link or links that each user has of their own.
#[derive(Clone, Debug)]
pub(super) enum User {
    /// A link each way.
    Link(LinkAccess),
    /// One link for both ways.
    HalfDuplex(HalfDuplexAccess),
}

impl User {
    /// The user's link moved on by random offsets.
    fn moved(&self, seed: Seed) -> Self {
        let offset = |name: &str| {
            let max_s = OFFSETS.as_secs_f64();
            Duration::from_secs_f64(seed.split(name).rng().random_range(0.0..max_s))
        };
        let mut moved = self.clone();
        match &mut moved {
            Self::Link(link) => {
                link.down.offset += offset("down offset");
                link.up.offset += offset("up offset");
            }
            Self::HalfDuplex(link) => link.offset += offset("offset"),
        }
        moved
    }

    fn build(&self, name: &str, network: &mut Network, seed: Seed) -> BuiltLink {
        match self {
            Self::Link(link) => link.build(name, network, seed),
            Self::HalfDuplex(link) => link.build(name, network, seed),
        }
    }

    fn mean_down(&self) -> Rate {
        match self {
            Self::Link(link) => link.down.supply.mean(),
            Self::HalfDuplex(link) => link.supply.mean(),
        }
    }
}

/// A cell that stands in a network.
#[derive(Clone, Debug)]
pub(crate) struct Built {
    name: String,
    seed: Seed,
    user: User,
    /// By the address of the user.
    users: BTreeMap<IpAddr, BuiltLink>,
    /// The users in the order of their first flows.
    order: Vec<IpAddr>,
}

impl CellAccess {
    pub(super) fn build(&self, name: &str, seed: Seed) -> Built {
        Built::new(name, seed, User::Link(self.user.clone()))
    }
}

impl Built {
    pub(super) fn new(name: &str, seed: Seed, user: User) -> Self {
        let (name, users) = (name.to_owned(), BTreeMap::new());
        Self { name, seed, user, users, order: Vec::new() }
    }

    pub(super) fn steps(
        &mut self,
        direction: Direction,
        (flow, user): (u32, IpAddr),
        network: &mut Network,
    ) -> Vec<Step> {
        if !self.users.contains_key(&user) {
            let link = self.add_user(network);
            self.users.insert(user, link);
            self.order.push(user);
        }
        self.users[&user].steps(direction, flow, network)
    }

    fn add_user(&self, network: &mut Network) -> BuiltLink {
        let number = self.order.len();
        // The first is as on a link of the same name.
        if number == 0 {
            return self.user.build(&self.name, network, self.seed);
        }
        let seed = self.seed.split("user").index(number as u64);
        self.user.moved(seed).build(&format!("{}.{}", self.name, number + 1), network, seed)
    }

    pub(super) fn carriers(&self) -> Vec<Carrier> {
        let users = self.order.iter().enumerate();
        let of = |(number, user): (usize, &IpAddr)| {
            let carriers = self.users[user].carriers().into_iter();
            carriers.map(move |carrier| Carrier { user: number as u32, ..carrier })
        };
        users.flat_map(of).collect()
    }

    pub(super) fn mean_down(&self) -> Rate {
        self.user.mean_down()
    }
}
