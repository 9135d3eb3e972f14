//! The forwarder's clients: a bounded table that forgets.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use airlane_base::{Time, network_of};

use crate::totals::ClientTotals;

/// Key of a client: the address that it sends from, and the address of ours that it sends to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientKey {
    /// The client's own address.
    pub peer: SocketAddr,
    /// Index of the forwarder's socket that the client sent to, from 0.
    pub listener: u32,
    /// The address that it sent to, if that socket has several, from which it expects the answers.
    pub local: Option<IpAddr>,
}

/// The progress of a client's exchange with the target. A client that sends after an answer has
/// most likely received it: its address is not forged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Exchange {
    Unanswered,
    Answered,
    Established,
}

#[derive(Debug)]
struct Entry<T> {
    key: ClientKey,
    value: T,
    used: Time,
    exchange: Exchange,
}

/// A table with a bounded number of clients. A client without packets for the idle time is removed.
/// When the table is full, a new client replaces one that has not sent since the target answered it,
/// if there is one; of these, or of all, one of the network with the most clients; of these the one
/// that was idle for longest. So neither forged addresses nor many clients of one network displace
/// others that are at work. Pure.
#[derive(Debug)]
pub struct Clients<T> {
    most: usize,
    idle: Duration,
    numbers: BTreeMap<ClientKey, u32>,
    /// Number of clients of each network that has some.
    networks: BTreeMap<IpAddr, usize>,
    entries: BTreeMap<u32, Entry<T>>,
    next: u32,
    /// No client can expire before.
    look_at: Time,
    totals: ClientTotals,
}

impl<T> Clients<T> {
    /// An empty table for at most `most` clients (at least one), each of which is forgotten when
    /// it was not heard of for `idle`.
    pub fn new(most: usize, idle: Duration) -> Self {
        Self {
            most: most.max(1),
            idle,
            numbers: BTreeMap::new(),
            networks: BTreeMap::new(),
            entries: BTreeMap::new(),
            next: 0,
            look_at: Time::FAR_FUTURE,
            totals: ClientTotals::default(),
        }
    }

    /// The number of a client that is known, which is heard of at `now`.
    pub fn find(&mut self, key: &ClientKey, now: Time) -> Option<u32> {
        let number = *self.numbers.get(key)?;
        let entry = self.entries.get_mut(&number)?;
        entry.used = entry.used.max(now);
        if entry.exchange == Exchange::Answered {
            entry.exchange = Exchange::Established;
        }
        Some(number)
    }

    /// Adds a client that [`find`](Self::find) did not find. Returns its number, which none had
    /// before (but for billions of clients), and whom it displaced.
    pub fn insert(&mut self, key: ClientKey, value: T, now: Time) -> (u32, Option<T>) {
        let displaced = if self.entries.len() >= self.most {
            self.totals.evicted += 1;
            self.expendable().and_then(|number| self.remove(number))
        } else {
            None
        };
        while self.entries.contains_key(&self.next) {
            self.next = self.next.wrapping_add(1);
        }
        let number = self.next;
        self.next = self.next.wrapping_add(1);
        self.numbers.insert(key, number);
        *self.networks.entry(network_of(key.peer.ip())).or_default() += 1;
        let exchange = Exchange::Unanswered;
        self.entries.insert(number, Entry { key, value, used: now, exchange });
        self.look_at = self.look_at.min(now + self.idle);
        self.totals.seen += 1;
        (number, displaced)
    }

    /// The client whose place a new one takes.
    fn expendable(&self) -> Option<u32> {
        let of_its_network =
            |e: &Entry<T>| self.networks.get(&network_of(e.key.peer.ip())).copied();
        let rank = |number: u32, e: &Entry<T>| {
            let is_established = e.exchange == Exchange::Established;
            (is_established, Reverse(of_its_network(e)), e.used, number)
        };
        self.entries.iter().min_by_key(|(number, e)| rank(**number, e)).map(|(number, _)| *number)
    }

    /// A client by its number; `None` if it was forgotten.
    pub fn get(&self, number: u32) -> Option<(&ClientKey, &T)> {
        self.entries.get(&number).map(|e| (&e.key, &e.value))
    }

    /// Value kept for a client.
    pub fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        self.entries.get_mut(&number).map(|e| &mut e.value)
    }

    /// Notes a packet of the target for a client at `now`.
    pub fn answer(&mut self, number: u32, now: Time) {
        if let Some(entry) = self.entries.get_mut(&number) {
            entry.used = entry.used.max(now);
            entry.exchange = entry.exchange.max(Exchange::Answered);
        }
    }

    /// Time at which to ask for the [`expired`](Self::expired) next; `None` while there are no
    /// clients.
    pub fn next_look(&self) -> Option<Time> {
        (!self.entries.is_empty()).then_some(self.look_at)
    }

    /// Removes the clients that are idle for long enough at `now`, and returns them.
    pub fn expired(&mut self, now: Time) -> Vec<T> {
        if now < self.look_at {
            return Vec::new();
        }
        let over = |e: &Entry<T>| e.used + self.idle <= now;
        let gone: Vec<u32> =
            self.entries.iter().filter(|(_, e)| over(e)).map(|(n, _)| *n).collect();
        self.totals.expired += gone.len() as u64;
        let gone = gone.into_iter().filter_map(|number| self.remove(number)).collect();
        let oldest = self.entries.values().map(|e| e.used).min();
        self.look_at = oldest.map_or(Time::FAR_FUTURE, |used| used + self.idle);
        gone
    }

    /// Forgets a client, and returns what was kept for it.
    pub fn remove(&mut self, number: u32) -> Option<T> {
        let entry = self.entries.remove(&number)?;
        self.numbers.remove(&entry.key);
        let network = network_of(entry.key.peer.ip());
        match self.networks.get_mut(&network) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(self.networks.remove(&network)),
        }
        Some(entry.value)
    }

    /// Values kept for the clients, in the order of their numbers.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.entries.values().map(|e| &e.value)
    }

    /// Numbers of clients now and so far.
    pub fn totals(&self) -> ClientTotals {
        ClientTotals { now: self.entries.len(), ..self.totals }
    }
}
