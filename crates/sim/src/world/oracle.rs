//! What only an oracle can know of a run: what its links will carry. For rows that are named so, and
//! for charts of what has been.

use std::time::Duration;

use airlane_base::{InputError, Time};
use airlane_net::Direction;
use airlane_net::link::{Services, Supply};

use super::network::supply;
use super::seed_of;
use crate::plan::{Plan, RunKey};

/// The way down of an access as an oracle knows it.
#[derive(Clone, Debug)]
pub struct OracleLink {
    supply: Supply,
    offset: Duration,
    /// From a server to its queue.
    pub delay: Duration,
}

impl OracleLink {
    /// Of an access that lies at the core, in a run, for a pair whose round trip in the core is `rtt`.
    /// In a cell it is the first client's.
    ///
    /// # Errors
    /// As when the network is built.
    pub fn of(plan: &Plan, key: RunKey, access: usize, rtt: Duration) -> Result<Self, InputError> {
        let of = &plan.scenario.network.accesses[access];
        let (supply, offset) =
            supply(plan, key, seed_of(plan, key), (access, of), Direction::Down)?;
        Ok(Self { supply, offset, delay: rtt / 2 + of.way(Direction::Down).delay })
    }

    /// Times at which it begins to serve each of endless packets of so many IP bytes that wait from
    /// `from` on.
    pub fn services(&self, from: Time, bytes: u32) -> Services {
        self.supply.services(self.offset, from, bytes)
    }

    /// IP bytes that it can carry from the start of the run until `at`, past and future alike.
    pub fn bytes_until(&self, at: Time) -> f64 {
        self.supply.bytes_until(self.offset, at)
    }
}
