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
use super::link::{Built as BuiltLink, LinkAccess};
use crate::direction::Direction;
use crate::network::{Network, Step};

/// Traces wrap: users start somewhere in so much of theirs.
const OFFSETS: Duration = Duration::from_secs(3600);

/// A cell. Every user has a link like this one; the first starts where the supply does, the others at
/// random offsets.
#[derive(Clone, Debug, PartialEq)]
pub struct CellAccess {
    /// What a user has.
    pub user: LinkAccess,
}

/// A cell that stands in a network.
#[derive(Clone, Debug)]
pub(crate) struct Built {
    name: String,
    seed: Seed,
    access: CellAccess,
    /// By the address of the user.
    users: BTreeMap<IpAddr, BuiltLink>,
    /// The users in the order of their first flows.
    order: Vec<IpAddr>,
}

impl CellAccess {
    pub(super) fn build(&self, name: &str, seed: Seed) -> Built {
        let (name, users) = (name.to_owned(), BTreeMap::new());
        Built { name, seed, access: self.clone(), users, order: Vec::new() }
    }
}

impl Built {
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
            return self.access.user.build(&self.name, network, self.seed);
        }
        let seed = self.seed.split("user").index(number as u64);
        let mut link = self.access.user.clone();
        for (way, name) in [(&mut link.down, "down offset"), (&mut link.up, "up offset")] {
            let most = OFFSETS.as_secs_f64();
            way.offset += Duration::from_secs_f64(seed.split(name).rng().random_range(0.0..most));
        }
        link.build(&format!("{}.{}", self.name, number + 1), network, seed)
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
        self.access.user.down.supply.mean()
    }
}
