//! Places for connections: so many in all, and so many for each address that they come from, so
//! that who only opens connections leaves room for others.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{Notify, Semaphore};

/// Places, which endpoints and listeners may share. A network of 64 bits of IPv6, which one host
/// may have all of, counts as one address.
#[derive(Debug)]
pub struct Places {
    all: usize,
    of_one: usize,
    taken: Mutex<Taken>,
    /// Told when the last one is left.
    left: Notify,
}

#[derive(Debug, Default)]
struct Taken {
    all: usize,
    by_network: BTreeMap<IpAddr, OfOne>,
}

/// What the connections of an address have.
#[derive(Debug)]
struct OfOne {
    taken: usize,
    room: Arc<Semaphore>,
}

/// The place of a connection, until it is dropped.
#[derive(Debug)]
pub struct Place {
    of: Arc<Places>,
    network: IpAddr,
    room: Arc<Semaphore>,
}

/// Permits of an address for each connection that it may have.
const PERMITS: usize = 4;

/// Why there is no place for a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoPlace {
    /// All are taken.
    #[error("there are as many connections as there may be")]
    Full,
    /// The address has as many as it may.
    #[error("its address has as many connections as it may")]
    OfOne,
}

impl Places {
    /// `all` places, of which each address may have `of_one`.
    pub fn new(all: usize, of_one: usize) -> Arc<Self> {
        Arc::new(Self { all, of_one, taken: Mutex::default(), left: Notify::new() })
    }

    /// A place for a connection from `address`.
    ///
    /// # Errors
    /// If all are taken, or all that the address may have.
    pub fn enter(self: &Arc<Self>, address: IpAddr) -> Result<Place, NoPlace> {
        let network = network(address);
        let mut taken = self.taken.lock();
        if taken.all >= self.all {
            return Err(NoPlace::Full);
        }
        let new = || {
            let permits = self.of_one.saturating_mul(PERMITS).min(Semaphore::MAX_PERMITS);
            OfOne { taken: 0, room: Arc::new(Semaphore::new(permits)) }
        };
        let of_one = taken.by_network.entry(network).or_insert_with(new);
        if of_one.taken >= self.of_one {
            return Err(NoPlace::OfOne);
        }
        of_one.taken += 1;
        let room = of_one.room.clone();
        taken.all += 1;
        Ok(Place { of: self.clone(), network, room })
    }

    /// Waits until no place is taken.
    pub async fn all_left(&self) {
        loop {
            // From here on it is told of those who leave.
            let left = self.left.notified();
            if self.taken.lock().all == 0 {
                return;
            }
            left.await;
        }
    }

    /// Whether an address has a quarter of the places that it may have. From then on it must show
    /// that it is where it says: who pretends to be elsewhere takes no more from those who are.
    pub fn crowded(&self, address: IpAddr) -> bool {
        let taken = self.taken.lock().by_network.get(&network(address)).map(|one| one.taken);
        taken.unwrap_or(0) >= self.of_one.div_ceil(4)
    }
}

impl Place {
    /// What the connections of the address share: four permits for each that it may have.
    pub fn room(&self) -> &Arc<Semaphore> {
        &self.room
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.of.taken.lock();
        taken.all -= 1;
        if let Some(of_one) = taken.by_network.get_mut(&self.network) {
            of_one.taken -= 1;
            if of_one.taken == 0 {
                taken.by_network.remove(&self.network);
            }
        }
        if taken.all == 0 {
            self.of.left.notify_waiters();
        }
    }
}

/// What counts as one address: that of IPv4, or its network of 64 bits of IPv6.
pub fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into()
        }
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures_util::FutureExt;

    use super::*;

    const OF_ONE: usize = 64;

    #[test]
    fn one_address_leaves_room_for_others_and_all_have_an_end() {
        let places = Places::new(512, OF_ONE);
        let of = |last: u8| IpAddr::from([192, 0, 2, last]);
        let enter = |last| places.enter(of(last)).ok();
        let mut held: Vec<Place> = (0..16).map_while(|_| enter(1)).collect();
        assert!(places.crowded(of(1)) && !places.crowded(of(2)));
        held.extend((16..OF_ONE).map_while(|_| enter(1)));
        assert_eq!(held.len(), OF_ONE);
        assert_eq!(places.enter(of(1)).unwrap_err(), NoPlace::OfOne);
        // The same address as IPv6 sockets see it.
        let mapped = "::ffff:192.0.2.1".parse().unwrap();
        assert_eq!(places.enter(mapped).unwrap_err(), NoPlace::OfOne);
        let others = (2..=8).flat_map(|last| [last; OF_ONE]);
        held.extend(others.map_while(enter));
        assert_eq!(held.len(), 512);
        assert_eq!(places.enter(of(9)).unwrap_err(), NoPlace::Full);
        held.clear();
        assert!(places.enter(of(1)).is_ok());
        assert!(places.taken.lock().by_network.is_empty());
    }

    #[test]
    fn who_waits_until_all_have_left_is_told_by_the_last() {
        let places = Places::new(512, OF_ONE);
        let enter = |last: u8| places.enter(IpAddr::from([192, 0, 2, last])).unwrap();
        let waiting = || pin!(places.all_left()).now_or_never().is_some();
        assert!(waiting(), "nobody is there");
        let (first, last) = (enter(1), enter(2));
        let mut all_left = pin!(places.all_left());
        assert!(all_left.as_mut().now_or_never().is_none());
        drop(first);
        assert!(all_left.as_mut().now_or_never().is_none() && !waiting());
        drop(last);
        assert!(all_left.now_or_never().is_some() && waiting());
    }

    #[test]
    fn a_network_of_ipv6_counts_as_one() {
        let places = Places::new(512, OF_ONE);
        let of = |text: String| text.parse::<IpAddr>().unwrap();
        let held: Vec<Place> =
            (0..OF_ONE).map_while(|i| places.enter(of(format!("2001:db8::{i:x}"))).ok()).collect();
        assert_eq!(held.len(), OF_ONE);
        assert!(places.enter(of("2001:db8::ffff:1".to_owned())).is_err());
        assert!(places.enter(of("2001:db8:0:1::1".to_owned())).is_ok());
    }
}
