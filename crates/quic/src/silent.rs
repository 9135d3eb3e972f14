//! Connections that have not said a word: so many in all, and so many of each address. A new one is
//! always let in; where there are too many, the one that has been silent for longest goes.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::places::network;

/// Limits of connections that have not said a word, which listeners may share. A network of 64 bits
/// of IPv6, which one host may have all of, counts as one address.
#[derive(Debug)]
pub struct SilentConnections {
    max: usize,
    max_per_address: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Number of the next connection.
    next: u64,
    count: usize,
    /// Of each address its connections, the oldest first.
    by_network: BTreeMap<IpAddr, BTreeMap<u64, Arc<Notify>>>,
}

/// The permit of a connection until it has said its first word; then it is to be dropped.
#[derive(Debug)]
pub struct SilentPermit {
    of: Arc<SilentConnections>,
    network: IpAddr,
    number: u64,
    evicted: Arc<Notify>,
}

impl SilentConnections {
    /// Limits of `max` silent connections in all and `max_per_address` of one address, both above 0.
    pub fn new(max: usize, max_per_address: usize) -> Arc<Self> {
        let max = max.max(1);
        let max_per_address = max_per_address.clamp(1, max);
        Arc::new(Self { max, max_per_address, state: Mutex::default() })
    }

    /// A permit for a connection from `address`. If that has too many, its oldest is evicted; if there
    /// are too many in all, the oldest of the address that has most.
    pub fn admit(self: &Arc<Self>, address: IpAddr) -> SilentPermit {
        let network = network(address);
        let mut state = self.state.lock();
        let own = state.by_network.get(&network).map_or(0, BTreeMap::len);
        if own >= self.max_per_address {
            state.evict(network);
        } else if state.count >= self.max
            && let Some(crowded) = state.most_crowded()
        {
            state.evict(crowded);
        }
        let number = state.next;
        state.next += 1;
        state.count += 1;
        let evicted = Arc::new(Notify::new());
        state.by_network.entry(network).or_default().insert(number, evicted.clone());
        SilentPermit { of: self.clone(), network, number, evicted }
    }

    /// Number of connections that are silent.
    pub fn count(&self) -> usize {
        self.state.lock().count
    }
}

impl State {
    /// The address that has most connections; of several, the one whose oldest is the oldest.
    fn most_crowded(&self) -> Option<IpAddr> {
        let age = |of: &BTreeMap<u64, _>| of.keys().next().map_or(0, |oldest| u64::MAX - oldest);
        let most = self.by_network.iter().max_by_key(|(_, of)| (of.len(), age(of)));
        most.map(|(network, _)| *network)
    }

    /// Tells the oldest connection of an address that its place is taken.
    fn evict(&mut self, network: IpAddr) {
        let oldest = self.by_network.get(&network).and_then(|of| of.keys().next().copied());
        if let Some(evicted) = oldest.and_then(|oldest| self.remove(network, oldest)) {
            evicted.notify_one();
        }
    }

    fn remove(&mut self, network: IpAddr, number: u64) -> Option<Arc<Notify>> {
        let of = self.by_network.get_mut(&network)?;
        let removed = of.remove(&number)?;
        if of.is_empty() {
            self.by_network.remove(&network);
        }
        self.count -= 1;
        Some(removed)
    }
}

impl SilentPermit {
    /// Waits until another connection has taken this one's place: then it is to be closed at once.
    pub async fn evicted(&self) {
        self.evicted.notified().await;
    }
}

impl Drop for SilentPermit {
    fn drop(&mut self) {
        self.of.state.lock().remove(self.network, self.number);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn of(last: u8) -> IpAddr {
        [192, 0, 2, last].into()
    }

    fn is_evicted(permit: &SilentPermit) -> bool {
        permit.evicted().now_or_never().is_some()
    }

    #[test]
    fn of_an_address_that_has_too_many_the_oldest_goes_and_others_stay() {
        let silent = SilentConnections::new(8, 3);
        let other = silent.admit(of(2));
        let held: Vec<_> = (0..5).map(|_| silent.admit(of(1))).collect();
        let gone: Vec<bool> = held.iter().map(is_evicted).collect();
        assert_eq!(gone, [true, true, false, false, false]);
        assert!(!is_evicted(&other));
        assert_eq!(silent.count(), 4);
        // What was evicted gives nothing back a second time.
        drop(held);
        assert_eq!(silent.count(), 1);
        drop(other);
        assert!(silent.state.lock().by_network.is_empty());
    }

    #[test]
    fn where_all_are_taken_the_address_that_has_most_gives_way() {
        let silent = SilentConnections::new(6, 4);
        let one = silent.admit(of(9));
        let many: Vec<_> = (0..4).map(|_| silent.admit(of(1))).collect();
        let two = silent.admit(of(2));
        let three = silent.admit(of(3));
        let gone: Vec<bool> = many.iter().map(is_evicted).collect();
        assert_eq!(gone, [true, false, false, false]);
        assert!(![&one, &two, &three].into_iter().any(is_evicted));
        // Where each has one, the oldest goes.
        drop(many);
        let rest: Vec<_> = (10..14).map(|last| silent.admit(of(last))).collect();
        assert!(is_evicted(&one) && !is_evicted(&two) && !rest.iter().any(is_evicted));
    }

    #[test]
    fn a_network_of_ipv6_counts_as_one_address() {
        let silent = SilentConnections::new(8, 1);
        let of = |text: &str| silent.admit(text.parse().unwrap());
        let (first, other) = (of("2001:db8::1"), of("2001:db8:0:1::1"));
        let second = of("2001:db8::ffff:1");
        assert!(is_evicted(&first) && !is_evicted(&other) && !is_evicted(&second));
    }
}
