//! From a pair of addresses to a way through the network, in constant time per packet.

use std::net::{IpAddr, Ipv4Addr};

/// The first address that a network hands out.
const FIRST: u32 = Ipv4Addr::new(10, 0, 0, 1).to_bits();
/// Addresses in 10.0.0.0/8 after the first.
const MAX_HOSTS: u32 = (1 << 24) - 2;

/// The address of an interface. Addresses are dense, so that finding back is a subtraction.
pub(super) fn address(interface: u32) -> IpAddr {
    assert!(interface < MAX_HOSTS, "a network has at most {MAX_HOSTS} interfaces");
    IpAddr::V4(Ipv4Addr::from_bits(FIRST + interface))
}

/// The interface that an address would belong to, if it is one of the first `count`.
#[inline]
pub(super) fn interface(address: IpAddr, count: usize) -> Option<u32> {
    let IpAddr::V4(v4) = address else { return None };
    let i = v4.to_bits().wrapping_sub(FIRST);
    ((i as usize) < count).then_some(i)
}

/// A map from (source interface, destination interface) to the number of a route: open addressing
/// with linear probing, never iterated, so that the order of insertion cannot show.
#[derive(Debug, Default)]
pub(super) struct Table {
    /// Keys with route numbers; the length is a power of two or zero; at most half is full.
    slots: Vec<Option<(u64, u32)>>,
    len: usize,
}

impl Table {
    #[inline]
    fn key(src: u32, dst: u32) -> u64 {
        u64::from(src) << 32 | u64::from(dst)
    }

    #[inline]
    fn probe(&self, key: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mut i = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & mask;
        while self.slots[i].is_some_and(|(k, _)| k != key) {
            i = (i + 1) & mask;
        }
        i
    }

    #[inline]
    pub(super) fn get(&self, src: u32, dst: u32) -> Option<u32> {
        if self.slots.is_empty() {
            return None;
        }
        self.slots[self.probe(Self::key(src, dst))].map(|(_, route)| route)
    }

    /// Sets a route; false if the pair has one already.
    pub(super) fn insert(&mut self, src: u32, dst: u32, route: u32) -> bool {
        if (self.len + 1) * 2 > self.slots.len() {
            let bigger = (self.slots.len() * 2).max(16);
            let old = std::mem::replace(&mut self.slots, vec![None; bigger]);
            for entry in old.into_iter().flatten() {
                let i = self.probe(entry.0);
                self.slots[i] = Some(entry);
            }
        }
        let key = Self::key(src, dst);
        let i = self.probe(key);
        if self.slots[i].is_some() {
            return false;
        }
        self.slots[i] = Some((key, route));
        self.len += 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_is_found_again_and_no_other() {
        let mut t = Table::default();
        assert_eq!(t.get(0, 0), None);
        for s in 0..60 {
            for d in 0..60 {
                assert!(t.insert(s * 7, d, s * 100 + d));
            }
        }
        assert!(!t.insert(7, 3, 1), "a pair has one route");
        for s in 0..60 {
            for d in 0..60 {
                assert_eq!(t.get(s * 7, d), Some(s * 100 + d));
            }
            assert_eq!(t.get(s * 7 + 1, 5), None);
        }
    }

    #[test]
    fn addresses_are_dense() {
        assert_eq!(address(0).to_string(), "10.0.0.1");
        assert_eq!(interface(address(1_599), 1_600), Some(1_599));
        assert_eq!(interface(address(1_600), 1_600), None);
        assert_eq!(interface("9.255.255.255".parse().unwrap(), 9), None);
        assert_eq!(interface("::1".parse().unwrap(), 9), None);
    }
}
