//! Limit of offers per address: each makes the server hold keys and answer a handshake.

use std::collections::BTreeMap;
use std::net::IpAddr;

use airlane_base::{Time, network_of};

/// Networks that are remembered.
const MAX_NETWORKS: usize = 4096;

/// Limiter of the offers of each IPv4 address and IPv6 /64: a bucket of tokens, full at first, that fills within a
/// minute.
#[derive(Debug)]
pub(crate) struct OfferLimiter {
    max_per_minute: u32,
    /// Tokens that each network has left, and when that was.
    left: BTreeMap<IpAddr, (f64, Time)>,
}

impl OfferLimiter {
    pub(crate) fn new(max_per_minute: u32) -> Self {
        Self { max_per_minute, left: BTreeMap::new() }
    }

    /// Takes a token for an offer from this address. False if there is none.
    pub(crate) fn admits(&mut self, now: Time, address: IpAddr) -> bool {
        let max = f64::from(self.max_per_minute);
        let network = network_of(address);
        if !self.left.contains_key(&network) && self.left.len() >= MAX_NETWORKS {
            self.forget(now, max);
        }
        let (left, at) = self.left.entry(network).or_insert((max, now));
        *left = (*left + now.since(*at).as_secs_f64() * max / 60.0).min(max);
        *at = now;
        let is_admitted = *left >= 1.0;
        if is_admitted {
            *left -= 1.0;
        }
        is_admitted
    }

    /// Forgets those whose bucket is full, or the one with the most tokens if there is none.
    fn forget(&mut self, now: Time, max: f64) {
        let tokens = |(left, at): (f64, Time)| left + now.since(at).as_secs_f64() * max / 60.0;
        self.left.retain(|_, state| tokens(*state) < max);
        if self.left.len() >= MAX_NETWORKS
            && let Some(network) = self
                .left
                .iter()
                .max_by(|a, b| tokens(*a.1).total_cmp(&tokens(*b.1)))
                .map(|(network, _)| *network)
        {
            self.left.remove(&network);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_so_many_offers_a_minute() {
        let mut limiter = OfferLimiter::new(6);
        let (a, b): (IpAddr, IpAddr) = ([192, 0, 2, 1].into(), [192, 0, 2, 2].into());
        let admitted = |limiter: &mut OfferLimiter, ms: u64, of| {
            (0..100).filter(|_| limiter.admits(Time::from_millis(ms), of)).count()
        };
        assert_eq!(admitted(&mut limiter, 0, a), 6);
        assert_eq!(admitted(&mut limiter, 10_000, a), 1);
        assert_eq!(admitted(&mut limiter, 10_000, b), 6);
        assert_eq!(admitted(&mut limiter, 600_000, a), 6);
        // All addresses of a /64 are one host's.
        let host = |n: u16| IpAddr::from([0x2001, 0xdb8, 0, 0, 0, 0, 0, n]);
        let all = (0..100).filter(|n| limiter.admits(Time::ZERO, host(*n))).count();
        assert_eq!(all, 6);
    }

    #[test]
    fn the_table_is_bounded() {
        let mut limiter = OfferLimiter::new(6);
        for n in 0..3 * MAX_NETWORKS as u32 {
            limiter.admits(Time::from_millis(1), IpAddr::from(n.to_be_bytes()));
        }
        assert_eq!(limiter.left.len(), MAX_NETWORKS);
    }
}
