//! How often the peer of a server's connection may come from another address.
//!
//! noq answers the first packet from a new address with up to two datagrams of 1200 bytes, since it begins a
//! datagram as long as a single byte may be sent, and pads challenges. A client that moves to and fro in
//! somebody else's name would so have him sent many times what it sends (RFC 9000, section 9.3.1). So
//! moves are counted: some are free, further ones need as much from the new address as may be sent there.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Moves to other hosts that are free at a time, and the time after which another one is.
const MAX_FREE: u32 = 4;
const FREE_INTERVAL: Duration = Duration::from_secs(10);
/// The same of other ports of the host at which the handshake found the peer: a NAT may give it another
/// with every few packets, and what is sent there goes to no other host.
const MAX_FREE_PORTS: u32 = 8;
const FREE_PORT_INTERVAL: Duration = Duration::from_millis(500);
/// Bytes that noq sends to an address at most before it knows more of it.
const CHALLENGE_BYTES: u64 = 2 * 1200;
/// Times what came from an address that may be sent there.
const FACTOR: u64 = 3;

/// The moves of one connection's peer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moves {
    /// Address at which the handshake found the peer, and the source of its latest packets; `None`:
    /// the peer does not move.
    addresses: Option<(SocketAddr, SocketAddr)>,
    hosts: Free,
    ports: Free,
    /// An address whose packets are not taken yet, and bytes that came from it.
    waiting: Option<(SocketAddr, u64)>,
}

/// Moves of one kind that are free.
#[derive(Clone, Copy, Debug)]
struct Free {
    left: u32,
    max: u32,
    interval: Duration,
    /// Since when moves have become free again.
    since: Instant,
}

impl Free {
    fn new(now: Instant, max: u32, interval: Duration) -> Self {
        Self { left: max, max, interval, since: now }
    }

    /// Takes one, if there is one.
    fn take(&mut self, now: Instant) -> bool {
        let intervals =
            now.saturating_duration_since(self.since).as_nanos() / self.interval.as_nanos();
        let earned = u32::try_from(intervals).unwrap_or(self.max).min(self.max);
        if self.left + earned >= self.max {
            (self.left, self.since) = (self.max, now);
        } else {
            self.left += earned;
            self.since += self.interval * earned;
        }
        let is_taken = self.left > 0;
        self.left = self.left.saturating_sub(1);
        is_taken
    }
}

impl Moves {
    /// A peer that is at `home`; `None`: one that does not move.
    pub(super) fn new(now: Instant, home: Option<SocketAddr>) -> Self {
        let addresses = home.map(|home| (home, home));
        Self {
            addresses,
            hosts: Free::new(now, MAX_FREE, FREE_INTERVAL),
            ports: Free::new(now, MAX_FREE_PORTS, FREE_PORT_INTERVAL),
            waiting: None,
        }
    }

    /// True if a packet of so many bytes from an address is taken.
    pub(super) fn admit(&mut self, now: Instant, from: SocketAddr, bytes: u64) -> bool {
        let Some((home, last)) = &mut self.addresses else { return true };
        if *last == from {
            return true;
        }
        if *home == from {
            *last = from;
            return true;
        }
        let is_same_host = home.ip() == from.ip();
        let free = if is_same_host { &mut self.ports } else { &mut self.hosts };
        if !free.take(now) {
            let known = self.waiting.filter(|(address, _)| *address == from);
            let came = known.map_or(0, |(_, came)| came) + bytes;
            if came * FACTOR < CHALLENGE_BYTES {
                self.waiting = Some((from, came));
                return false;
            }
        }
        self.waiting = None;
        *last = from;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(host: u8) -> SocketAddr {
        SocketAddr::from(([10, 0, 0, host], 4_000))
    }

    #[expect(clippy::disallowed_methods, reason = "a base to count from")]
    fn start() -> Instant {
        Instant::now()
    }

    #[test]
    fn moves_to_and_fro_cost_what_they_cause() {
        let now = start();
        let mut moves = Moves::new(now, Some(at(1)));
        let (mut came, mut taken) = (0, 0);
        for step in 0..10_000_u64 {
            let now = now + Duration::from_millis(step);
            assert!(moves.admit(now, at(1), 30));
            came += 30;
            taken += u64::from(moves.admit(now, at(2), 30));
        }
        assert!(taken <= u64::from(MAX_FREE) + came * FACTOR / CHALLENGE_BYTES, "{taken}");
        assert!(taken > u64::from(MAX_FREE));
    }

    #[test]
    fn a_peer_that_has_moved_is_heard_and_may_move_again_later() {
        let mut now = start();
        let mut moves = Moves::new(now, Some(at(1)));
        for host in 2..100 {
            assert!((0..5).all(|_| moves.admit(now, at(host), 30)), "{host}");
            now += FREE_INTERVAL;
        }
        let mut fixed = Moves::new(now, None);
        assert!((0..100).all(|host| fixed.admit(now, at(host), 30)));
    }

    #[test]
    fn ports_of_one_host_may_change_twice_a_second() {
        let now = start();
        let mut moves = Moves::new(now, Some(at(1)));
        let home = at(1).ip();
        let mut taken = 0;
        for step in 0..1_000_u64 {
            let from = SocketAddr::new(home, 10_000 + step as u16);
            taken += u64::from(moves.admit(now + Duration::from_millis(10 * step), from, 30));
        }
        assert!((26..=28).contains(&taken), "{taken}");
    }
}
