//! Limit of connections: so many in all, and so many of each address, so that a peer that only opens
//! connections leaves room for others.
//!
//! A connection on which nothing was asked for is idle. Where the limit is reached, the connection that
//! has been idle for longest is evicted: of the same address if that has reached its own limit, else of
//! the address with most idle ones (of several, the one whose oldest is the oldest). An active
//! connection never is.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use airlane_base::network_of;
use parking_lot::Mutex;
use tokio::sync::{Notify, Semaphore};

/// Limits of connections, which endpoints and listeners may share. A network of 64 bits of IPv6, which
/// one host may have all of, counts as one address.
#[derive(Debug)]
pub struct ConnectionLimiter {
    max_total: usize,
    max_per_address: usize,
    connections: Mutex<Connections>,
    /// Notified when no connection is left.
    drained: Notify,
}

#[derive(Debug, Default)]
struct Connections {
    total: usize,
    by_network: BTreeMap<IpAddr, NetworkConnections>,
    /// Networks with idle connections, by rank: a connection of the last one is evicted first.
    by_idle: BTreeSet<(IdleRank, IpAddr)>,
    /// Number of the next connection that becomes idle.
    next_idle: u64,
}

/// Order of eviction of a network: the number of its idle connections, then the age of the oldest.
type IdleRank = (usize, Reverse<u64>);

/// The connections of an address.
#[derive(Debug)]
struct NetworkConnections {
    count: usize,
    shared_permits: Arc<Semaphore>,
    /// Its idle connections, the oldest first.
    idle: BTreeMap<u64, Arc<Slot>>,
}

/// Permit of a connection, until it is dropped.
#[derive(Debug)]
pub struct Permit {
    activity: ActivityHandle,
    shared_permits: Arc<Semaphore>,
}

/// Permit of a connection that is idle at first, and waits itself for its eviction.
#[derive(Debug)]
pub struct IdlePermit {
    permit: Permit,
    evicted: Arc<Notify>,
}

/// Handle by which a connection with a permit says whether it is active.
#[derive(Clone, Debug)]
pub struct ActivityHandle {
    limiter: Arc<ConnectionLimiter>,
    slot: Arc<Slot>,
}

/// A connection that holds a permit.
struct Slot {
    network: IpAddr,
    is_idle: AtomicBool,
    state: Mutex<SlotState>,
}

#[derive(Default)]
struct SlotState {
    /// Its number among the idle ones, while it is idle.
    idle_number: Option<u64>,
    /// True if the permit was revoked, and is not to be given back.
    is_evicted: bool,
    on_evicted: Option<Arc<dyn Fn() + Send + Sync>>,
}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slot").field("network", &self.network).finish_non_exhaustive()
    }
}

/// Shared permits of an address for each connection that it may have.
const SHARED_PERMITS_PER_CONNECTION: usize = 4;

/// Limit that denies a connection its permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LimitExceeded {
    /// There are as many connections as there may be.
    #[error("there are as many connections as there may be")]
    Total,
    /// The address has as many as it may.
    #[error("its address has as many connections as it may")]
    PerAddress,
}

impl ConnectionLimiter {
    /// Limits of `max_total` connections, of which each address may have `max_per_address`.
    pub fn new(max_total: usize, max_per_address: usize) -> Arc<Self> {
        Arc::new(Self {
            max_total,
            max_per_address,
            connections: Mutex::default(),
            drained: Notify::new(),
        })
    }

    /// Permit for a connection from `address`, for which an idle one may be evicted. It is active until
    /// [`Permit::on_evicted`] says what its own eviction does.
    ///
    /// # Errors
    /// If a limit is reached by connections that are active.
    pub fn acquire(self: &Arc<Self>, address: IpAddr) -> Result<Permit, LimitExceeded> {
        let network = network_of(address);
        let mut connections = self.connections.lock();
        let of_one = connections.by_network.get(&network).map_or(0, |one| one.count);
        let evicted = if of_one >= self.max_per_address {
            Some(connections.evict(network).ok_or(LimitExceeded::PerAddress)?)
        } else if connections.total >= self.max_total {
            let idle = connections.by_idle.last().map(|(_, network)| *network);
            Some(idle.and_then(|network| connections.evict(network)).ok_or(LimitExceeded::Total)?)
        } else {
            None
        };
        let new = || {
            let permits = self
                .max_per_address
                .saturating_mul(SHARED_PERMITS_PER_CONNECTION)
                .min(Semaphore::MAX_PERMITS);
            let shared_permits = Arc::new(Semaphore::new(permits));
            NetworkConnections { count: 0, shared_permits, idle: BTreeMap::new() }
        };
        let of_one = connections.by_network.entry(network).or_insert_with(new);
        of_one.count += 1;
        let shared_permits = of_one.shared_permits.clone();
        connections.total += 1;
        drop(connections);
        // Not under the lock: what it does is not ours.
        if let Some(tell) = evicted {
            tell();
        }
        let (is_idle, state) = (AtomicBool::new(false), Mutex::default());
        let slot = Arc::new(Slot { network, is_idle, state });
        Ok(Permit { activity: ActivityHandle { limiter: self.clone(), slot }, shared_permits })
    }

    /// Permit for a connection from `address` that is idle until it says that it is active.
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire).
    pub fn acquire_idle(self: &Arc<Self>, address: IpAddr) -> Result<IdlePermit, LimitExceeded> {
        let permit = self.acquire(address)?;
        let evicted = Arc::new(Notify::new());
        let tell = evicted.clone();
        permit.on_evicted(move || tell.notify_one());
        Ok(IdlePermit { permit, evicted })
    }

    /// Waits until no connection is left.
    pub async fn drained(&self) {
        loop {
            // From here on no notification is missed.
            let drained = self.drained.notified();
            if self.connections.lock().total == 0 {
                return;
            }
            drained.await;
        }
    }

    /// True if an address has a quarter of the connections that it may have. From then on its peers must
    /// validate it (RFC 9000, section 8.1.2): forged addresses take no more from it.
    pub fn is_crowded(&self, address: IpAddr) -> bool {
        let connections =
            self.connections.lock().by_network.get(&network_of(address)).map(|one| one.count);
        connections.unwrap_or(0) >= self.max_per_address.div_ceil(4)
    }
}

impl Connections {
    /// Revokes the permit of a network's oldest idle connection; returns what tells that one.
    fn evict(&mut self, network: IpAddr) -> Option<Arc<dyn Fn() + Send + Sync>> {
        let slot = self.by_network.get(&network)?.idle.first_key_value()?.1.clone();
        let mut state = slot.state.lock();
        self.end_idle(&slot, &mut state);
        state.is_evicted = true;
        self.leave(network);
        state.on_evicted.clone()
    }

    fn begin_idle(&mut self, slot: &Arc<Slot>, state: &mut SlotState) {
        if state.idle_number.is_some() || state.is_evicted || state.on_evicted.is_none() {
            return;
        }
        let n = self.next_idle;
        self.next_idle += 1;
        state.idle_number = Some(n);
        slot.is_idle.store(true, Ordering::Relaxed);
        self.change_idle(slot.network, |idle| drop(idle.insert(n, slot.clone())));
    }

    fn end_idle(&mut self, slot: &Slot, state: &mut SlotState) {
        let Some(n) = state.idle_number.take() else { return };
        slot.is_idle.store(false, Ordering::Relaxed);
        self.change_idle(slot.network, |idle| drop(idle.remove(&n)));
    }

    fn change_idle(&mut self, network: IpAddr, f: impl FnOnce(&mut BTreeMap<u64, Arc<Slot>>)) {
        let Some(of_one) = self.by_network.get_mut(&network) else { return };
        if let Some(rank) = of_one.idle_rank() {
            self.by_idle.remove(&(rank, network));
        }
        f(&mut of_one.idle);
        if let Some(rank) = of_one.idle_rank() {
            self.by_idle.insert((rank, network));
        }
    }

    /// A connection of a network has no permit any more.
    fn leave(&mut self, network: IpAddr) {
        self.total -= 1;
        if let Some(of_one) = self.by_network.get_mut(&network) {
            of_one.count -= 1;
            if of_one.count == 0 {
                self.by_network.remove(&network);
            }
        }
    }
}

impl NetworkConnections {
    /// Its rank among networks with idle connections; `None` without one.
    fn idle_rank(&self) -> Option<IdleRank> {
        let (oldest, _) = self.idle.first_key_value()?;
        Some((self.idle.len(), Reverse(*oldest)))
    }
}

impl Permit {
    /// Permits that the connections of the address share: four for each that it may have.
    pub fn shared_permits(&self) -> &Arc<Semaphore> {
        &self.shared_permits
    }

    /// Handle of the connection that has it.
    pub fn activity(&self) -> &ActivityHandle {
        &self.activity
    }

    /// Makes the connection idle, and has `f` end it when it is evicted.
    pub fn on_evicted(&self, f: impl Fn() + Send + Sync + 'static) {
        self.activity.slot.state.lock().on_evicted = Some(Arc::new(f));
        self.activity.mark_idle();
    }
}

impl IdlePermit {
    /// Waits for its eviction: then the connection is to be closed at once.
    pub async fn evicted(&self) {
        self.evicted.notified().await;
    }

    /// Handle of the connection that has it.
    pub fn activity(&self) -> &ActivityHandle {
        self.permit.activity()
    }

    /// Permits that the connections of the address share: see [`Permit::shared_permits`].
    pub fn shared_permits(&self) -> &Arc<Semaphore> {
        self.permit.shared_permits()
    }
}

impl ActivityHandle {
    /// Something was asked for: the connection is not evicted.
    pub fn mark_active(&self) {
        if self.slot.is_idle.load(Ordering::Relaxed) {
            let mut connections = self.limiter.connections.lock();
            connections.end_idle(&self.slot, &mut self.slot.state.lock());
        }
    }

    /// True if no request is outstanding, so that the connection may be evicted.
    pub fn is_idle(&self) -> bool {
        self.slot.is_idle.load(Ordering::Relaxed)
    }

    /// Everything asked for is answered: the connection may be evicted again.
    pub fn mark_idle(&self) {
        let mut connections = self.limiter.connections.lock();
        connections.begin_idle(&self.slot, &mut self.slot.state.lock());
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let ActivityHandle { limiter, slot } = &self.activity;
        let mut connections = limiter.connections.lock();
        let mut state = slot.state.lock();
        // What it holds goes without the locks.
        let told = state.on_evicted.take();
        connections.end_idle(slot, &mut state);
        if !std::mem::replace(&mut state.is_evicted, true) {
            connections.leave(slot.network);
        }
        let is_empty = connections.total == 0;
        drop((state, connections));
        drop(told);
        if is_empty {
            limiter.drained.notify_waiters();
        }
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
        let limiter = ConnectionLimiter::new(512, OF_ONE);
        let of = |last: u8| IpAddr::from([192, 0, 2, last]);
        let enter = |last| limiter.acquire(of(last)).ok();
        let mut held: Vec<Permit> = (0..16).map_while(|_| enter(1)).collect();
        assert!(limiter.is_crowded(of(1)) && !limiter.is_crowded(of(2)));
        held.extend((16..OF_ONE).map_while(|_| enter(1)));
        assert_eq!(held.len(), OF_ONE);
        assert_eq!(limiter.acquire(of(1)).unwrap_err(), LimitExceeded::PerAddress);
        // The same address as IPv6 sockets see it.
        let mapped = "::ffff:192.0.2.1".parse().unwrap();
        assert_eq!(limiter.acquire(mapped).unwrap_err(), LimitExceeded::PerAddress);
        let others = (2..=8).flat_map(|last| [last; OF_ONE]);
        held.extend(others.map_while(enter));
        assert_eq!(held.len(), 512);
        assert_eq!(limiter.acquire(of(9)).unwrap_err(), LimitExceeded::Total);
        held.clear();
        assert!(limiter.acquire(of(1)).is_ok());
        assert!(limiter.connections.lock().by_network.is_empty());
    }

    /// A idle connection of an address, and whether it lost its place.
    fn idle(limiter: &Arc<ConnectionLimiter>, last: u8) -> (Permit, Arc<AtomicBool>) {
        let place = limiter.acquire(IpAddr::from([192, 0, 2, last])).unwrap();
        let lost = Arc::new(AtomicBool::new(false));
        let tell = lost.clone();
        place.on_evicted(move || tell.store(true, Ordering::Relaxed));
        (place, lost)
    }

    fn is_evicted((_, lost): &(Permit, Arc<AtomicBool>)) -> bool {
        lost.load(Ordering::Relaxed)
    }

    #[test]
    fn the_oldest_silent_one_gives_its_place_up_and_never_one_that_works() {
        let limiter = ConnectionLimiter::new(4, 2);
        let (first, second) = (idle(&limiter, 1), idle(&limiter, 1));
        second.0.activity().mark_active();
        // The address has all of its own: it takes them from itself.
        let third = idle(&limiter, 1);
        assert!(is_evicted(&first) && !is_evicted(&second));
        let other = idle(&limiter, 2);
        third.0.activity().mark_active();
        let refused = limiter.acquire(IpAddr::from([192, 0, 2, 1]));
        assert_eq!(refused.unwrap_err(), LimitExceeded::PerAddress);
        // What was lost is not given back once more.
        drop(first);
        assert_eq!(limiter.connections.lock().total, 3);
        // One that rests again is the youngest.
        let another = idle(&limiter, 3);
        other.0.activity().mark_active();
        other.0.activity().mark_idle();
        let last = idle(&limiter, 4);
        assert!(is_evicted(&another) && !is_evicted(&other));
        drop((second, third, other, another, last));
        let connections = limiter.connections.lock();
        assert!(
            connections.total == 0
                && connections.by_network.is_empty()
                && connections.by_idle.is_empty()
        );
    }

    #[test]
    fn where_all_is_full_the_address_with_most_silent_ones_loses() {
        let limiter = ConnectionLimiter::new(8, 6);
        let honest = idle(&limiter, 1);
        let mut crowd: Vec<_> = (0..6).map(|_| idle(&limiter, 2)).collect();
        crowd.push(idle(&limiter, 3));
        for new in 10..14 {
            let new = idle(&limiter, new);
            new.0.activity().mark_active();
            crowd.push(new);
        }
        assert!(!is_evicted(&honest) && crowd[..4].iter().all(is_evicted));
    }

    #[test]
    fn where_each_address_has_one_the_oldest_gives_way() {
        let limiter = ConnectionLimiter::new(3, 2);
        let enter = |last| limiter.acquire_idle(IpAddr::from([192, 0, 2, last])).unwrap();
        let held = [7, 9, 8, 3, 5].map(enter);
        let gone = held.iter().map(|place| place.evicted().now_or_never().is_some());
        assert_eq!(gone.collect::<Vec<_>>(), [true, true, false, false, false]);
    }

    #[test]
    fn who_waits_until_all_have_left_is_told_by_the_last() {
        let limiter = ConnectionLimiter::new(512, OF_ONE);
        let enter = |last: u8| limiter.acquire(IpAddr::from([192, 0, 2, last])).unwrap();
        let waiting = || pin!(limiter.drained()).now_or_never().is_some();
        assert!(waiting(), "nobody is there");
        let (first, last) = (enter(1), enter(2));
        let mut drained = pin!(limiter.drained());
        assert!(drained.as_mut().now_or_never().is_none());
        drop(first);
        assert!(drained.as_mut().now_or_never().is_none() && !waiting());
        drop(last);
        assert!(drained.now_or_never().is_some() && waiting());
    }

    #[test]
    fn a_network_of_ipv6_counts_as_one() {
        let limiter = ConnectionLimiter::new(512, OF_ONE);
        let of = |text: String| text.parse::<IpAddr>().unwrap();
        let held: Vec<Permit> = (0..OF_ONE)
            .map_while(|i| limiter.acquire(of(format!("2001:db8::{i:x}"))).ok())
            .collect();
        assert_eq!(held.len(), OF_ONE);
        assert!(limiter.acquire(of("2001:db8::ffff:1".to_owned())).is_err());
        assert!(limiter.acquire(of("2001:db8:0:1::1".to_owned())).is_ok());
    }
}
