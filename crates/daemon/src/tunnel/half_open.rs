//! How many connections may be on the way to being let in: in all, and of one address, so that who
//! only opens connections leaves room for others.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};

/// Connections at most that have not been let in.
const ALL: usize = 512;
/// Of one address, or of one network of IPv6 (64 bits), which one host may have all of.
const OF_ONE: usize = 64;

/// Those that have come and are not let in yet, by where they are from.
#[derive(Debug, Default)]
pub(super) struct HalfOpen(Mutex<BTreeMap<IpAddr, usize>>);

/// The place of a connection among them, until it is dropped.
#[derive(Debug)]
pub(super) struct Place {
    of: Arc<HalfOpen>,
    from: IpAddr,
}

impl HalfOpen {
    /// A place for a connection from `address`; `None` if all are taken, or all that it may have.
    pub(super) fn enter(self: &Arc<Self>, address: IpAddr) -> Option<Place> {
        let from = network(address);
        let mut places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if places.values().sum::<usize>() >= ALL {
            return None;
        }
        let taken = places.entry(from).or_default();
        if *taken >= OF_ONE {
            return None;
        }
        *taken += 1;
        Some(Place { of: self.clone(), from })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut places = self.of.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(taken) = places.get_mut(&self.from) {
            *taken -= 1;
            if *taken == 0 {
                places.remove(&self.from);
            }
        }
    }
}

fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into()
        }
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_address_leaves_room_for_others_and_all_have_an_end() {
        let places = Arc::new(HalfOpen::default());
        let of = |last: u8| IpAddr::from([192, 0, 2, last]);
        let mut held: Vec<Place> = (0..OF_ONE).map_while(|_| places.enter(of(1))).collect();
        assert_eq!(held.len(), OF_ONE);
        assert!(places.enter(of(1)).is_none());
        // The same address as IPv6 sockets see it.
        assert!(places.enter("::ffff:192.0.2.1".parse().unwrap()).is_none());
        let others = (2..=8).flat_map(|last| [last; OF_ONE]);
        held.extend(others.map_while(|last| places.enter(of(last))));
        assert_eq!(held.len(), ALL);
        assert!(places.enter(of(9)).is_none());
        held.clear();
        assert!(places.enter(of(1)).is_some());
        assert!(places.0.lock().unwrap().is_empty());
    }

    #[test]
    fn a_network_of_ipv6_counts_as_one() {
        let places = Arc::new(HalfOpen::default());
        let of = |text: String| text.parse::<IpAddr>().unwrap();
        let held: Vec<Place> =
            (0..OF_ONE).map_while(|i| places.enter(of(format!("2001:db8::{i:x}")))).collect();
        assert_eq!(held.len(), OF_ONE);
        assert!(places.enter(of("2001:db8::ffff:1".to_owned())).is_none());
        assert!(places.enter(of("2001:db8:0:1::1".to_owned())).is_some());
    }
}
