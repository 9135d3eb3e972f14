//! The conference's coordinator: when bitrates are optimised anew, and what follows for each client.

use std::collections::BTreeMap;
use std::time::Duration;

use airlane_base::{Rate, Time};

use crate::capacity::ChangeDetector;
use crate::coordination::{Decision, State};

/// Settings of a [`Coordinator`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CoordinatorConfig {
    /// Interval of the detection of changes.
    pub interval: Duration,
    /// Detector of changes of capacity.
    pub detector: ChangeDetector,
    /// Share of its capacity whose sudden loss is answered at once; `None`: every change waits for the interval.
    pub immediate_drop: Option<f64>,
    /// Share of a natural rate by which a target must lie below it for its direction to be held.
    pub margin: f64,
    /// A direction is held only where the other one is to get more than it has by itself. Without it every
    /// direction whose target is lower is held, as the paper has it, also where nobody takes what it gives up.
    pub holds_for_use: bool,
}

impl Default for CoordinatorConfig {
    fn default() -> Self {
        Self {
            interval: Duration::from_secs(5),
            detector: ChangeDetector::default(),
            immediate_drop: None,
            margin: 0.02,
            holds_for_use: true,
        }
    }
}

/// Measurement of a client, in IP bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClientChannel {
    /// Capacity of both directions; `None`: not known yet.
    pub capacity: Option<Rate>,
    /// Rate that its uplink's controller allows.
    pub up: Option<Rate>,
    /// Rate that its downlink's controller allows.
    pub down: Option<Rate>,
    /// State that it is in.
    pub state: State,
}

/// Bitrates that the optimiser chose for a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// Of its uplink.
    pub up: Rate,
    /// Of its downlink.
    pub down: Rate,
}

/// A client at the coordinator.
#[derive(Clone, Copy, Debug, Default)]
struct Client {
    capacity: Option<Rate>,
    /// Capacity at the last optimisation.
    optimised: Option<Rate>,
    natural: Option<Natural>,
}

/// Rates that a channel's controllers allowed when neither was held.
#[derive(Clone, Copy, Debug)]
struct Natural {
    up: Rate,
    down: Rate,
    /// Capacity at that time.
    capacity: Rate,
}

impl Natural {
    /// Rates at another capacity: the shares of both directions stay.
    fn at(self, capacity: Option<Rate>) -> (f64, f64) {
        let factor = match capacity {
            Some(now) if self.capacity > Rate::ZERO => now.as_f64() / self.capacity.as_f64(),
            _ => 1.0,
        };
        (self.up.as_f64() * factor, self.down.as_f64() * factor)
    }
}

/// Coordinator of the clients of one conference, each under a key.
///
/// It optimises nothing itself: [`poll`](Self::poll) hands out the capacities to optimise with, and
/// [`decide`](Self::decide) takes what came of it. A solver that takes long, or fails, stops nobody.
#[derive(Clone, Debug)]
pub struct Coordinator<K> {
    config: CoordinatorConfig,
    clients: BTreeMap<K, Client>,
    next: Time,
    /// True if a client came or went since the last optimisation.
    has_new_clients: bool,
}

impl<K: Ord + Copy> Coordinator<K> {
    /// A coordinator without clients, which looks for changes first an interval after `now`.
    pub fn new(config: CoordinatorConfig, now: Time) -> Self {
        let next = now + config.interval;
        Self { config, clients: BTreeMap::new(), next, has_new_clients: false }
    }

    /// Takes what is known of a client now; a client that was not known takes part from now on.
    pub fn on_channel(&mut self, key: K, channel: &ClientChannel) {
        if !self.clients.contains_key(&key) {
            self.has_new_clients = true;
        }
        let client = self.clients.entry(key).or_default();
        client.capacity = channel.capacity.or(client.capacity);
        // A controller that is held says nothing of what it could do, and the other one has more than its own.
        if channel.state == State::Natural
            && let (Some(up), Some(down), Some(capacity)) =
                (channel.up, channel.down, client.capacity)
        {
            client.natural = Some(Natural { up, down, capacity });
        }
    }

    /// Forgets the clients that have left.
    pub fn retain(&mut self, is_there: impl Fn(K) -> bool) {
        let before = self.clients.len();
        self.clients.retain(|key, _| is_there(*key));
        self.has_new_clients |= self.clients.len() < before;
    }

    /// Capacities to optimise with, if a change was detected: of every client, in the order of keys. `None` too
    /// while the capacity of some client is unknown.
    pub fn poll(&mut self, now: Time) -> Option<Vec<(K, Rate)>> {
        let is_due = now >= self.next;
        let is_urgent = self.config.immediate_drop.is_some_and(|drop| {
            self.clients.values().any(|c| {
                let (Some(before), Some(now)) = (c.optimised, c.capacity) else { return false };
                now.as_f64() < (1.0 - drop) * before.as_f64()
            })
        });
        if !is_due && !is_urgent {
            return None;
        }
        if is_due {
            // A poll that came late skips what it missed.
            self.next = now + self.config.interval;
        }
        let detector = self.config.detector;
        let has_changed = self.has_new_clients
            || self.clients.values().any(|c| detector.is_change(c.optimised, c.capacity));
        if !has_changed {
            return None;
        }
        let capacities: Option<Vec<_>> =
            self.clients.iter().map(|(key, c)| Some((*key, c.capacity?))).collect();
        let capacities = capacities?;
        self.has_new_clients = false;
        for client in self.clients.values_mut() {
            client.optimised = client.capacity;
        }
        Some(capacities)
    }

    /// Consequences of an optimisation for every present client. Where there is no valid result, and for a
    /// client that the result does not have, it is the Natural state.
    pub fn decide(&self, targets: Option<&BTreeMap<K, Target>>) -> Vec<(K, Decision)> {
        let of = |(key, client): (&K, &Client)| {
            let target = targets.and_then(|targets| targets.get(key));
            (*key, target.map_or(Decision::Natural, |target| self.decide_one(client, *target)))
        };
        self.clients.iter().map(of).collect()
    }

    /// The direction that is to carry less than its controller allows is held; where both are, the one that is
    /// to give up the larger share.
    fn decide_one(&self, client: &Client, target: Target) -> Decision {
        let Some(natural) = client.natural else { return Decision::Natural };
        let (natural_up, natural_down) = natural.at(client.capacity);
        let (target_up, target_down) = (target.up.as_f64(), target.down.as_f64());
        let CoordinatorConfig { margin, holds_for_use, .. } = self.config;
        // Share that a direction gives up; 0 if that is of no use.
        let cut = |natural: f64, target: f64, other: (f64, f64)| {
            let is_of_use = !holds_for_use || other.1 > other.0 * (1.0 + margin);
            if natural > 0.0 && is_of_use { 1.0 - target / natural } else { 0.0 }
        };
        let up = cut(natural_up, target_up, (natural_down, target_down));
        let down = cut(natural_down, target_down, (natural_up, target_up));
        if up.max(down) <= margin {
            Decision::Natural
        } else if up > down {
            Decision::Client(target.up)
        } else {
            Decision::Server(target.down)
        }
    }
}
