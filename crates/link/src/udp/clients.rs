//! Who the forwarder forwards for: a bounded table that forgets.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use airlane_base::Time;

use crate::totals::ClientTotals;

/// What tells clients apart: where they send from, and which of our addresses they send to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientKey {
    /// The client's own address.
    pub peer: SocketAddr,
    /// Which of the forwarder's sockets it sent to, counted from 0.
    pub listener: u32,
    /// The address that it sent to, if that socket has several, from which it expects the answers.
    pub local: Option<IpAddr>,
}

#[derive(Debug)]
struct Entry<T> {
    key: ClientKey,
    value: T,
    used: Time,
}

/// A table with a bounded number of clients. A client without packets for the idle time is removed;
/// when the table is full, a new client replaces the one that was idle for longest. Pure.
#[derive(Debug)]
pub struct Clients<T> {
    most: usize,
    idle: Duration,
    numbers: BTreeMap<ClientKey, u32>,
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
            entries: BTreeMap::new(),
            next: 0,
            look_at: Time::FAR_FUTURE,
            totals: ClientTotals::default(),
        }
    }

    /// The number of a client that is known, which is heard of at `now`.
    pub fn find(&mut self, key: &ClientKey, now: Time) -> Option<u32> {
        let number = *self.numbers.get(key)?;
        self.hear(number, now);
        Some(number)
    }

    /// Adds a client that [`find`](Self::find) did not find. Returns its number, which none had
    /// before (but for billions of clients), and whom it displaced.
    pub fn insert(&mut self, key: ClientKey, value: T, now: Time) -> (u32, Option<T>) {
        let displaced = if self.entries.len() >= self.most {
            let longest = self.entries.iter().min_by_key(|(number, e)| (e.used, **number));
            let longest = longest.map(|(number, _)| *number);
            self.totals.evicted += 1;
            longest.and_then(|number| self.remove(number))
        } else {
            None
        };
        while self.entries.contains_key(&self.next) {
            self.next = self.next.wrapping_add(1);
        }
        let number = self.next;
        self.next = self.next.wrapping_add(1);
        self.numbers.insert(key, number);
        self.entries.insert(number, Entry { key, value, used: now });
        self.look_at = self.look_at.min(now + self.idle);
        self.totals.seen += 1;
        (number, displaced)
    }

    /// A client by its number; `None` if it was forgotten.
    pub fn get(&self, number: u32) -> Option<(&ClientKey, &T)> {
        self.entries.get(&number).map(|e| (&e.key, &e.value))
    }

    /// What is kept for a client.
    pub fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        self.entries.get_mut(&number).map(|e| &mut e.value)
    }

    /// Notes a packet from or to a client at `now`.
    pub fn hear(&mut self, number: u32, now: Time) {
        if let Some(entry) = self.entries.get_mut(&number) {
            entry.used = entry.used.max(now);
        }
    }

    /// When to ask for the [`expired`](Self::expired) next; `None` while there are no clients.
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
        Some(entry.value)
    }

    /// What is kept for each client, in the order of their numbers.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.entries.values().map(|e| &e.value)
    }

    /// How many there are and were.
    pub fn totals(&self) -> ClientTotals {
        ClientTotals { now: self.entries.len(), ..self.totals }
    }
}
