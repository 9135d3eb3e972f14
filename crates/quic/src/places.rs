//! Places for connections: so many in all, and so many for each address that they come from, so
//! that who only opens connections leaves room for others.
//!
//! A connection on which nothing was asked for is silent. Where there is no place left, the oldest
//! silent one gives its place up: of the same address if that has all of its own, else of the address
//! that has most of them (of several, the one whose oldest is the oldest). One that works never does.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use airlane_base::network_of;
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
    /// Networks with silent connections: the one that gives way first is the last.
    by_silent: BTreeSet<(SilenceRank, IpAddr)>,
    /// Numbers connections in the order in which they fell silent.
    silences: u64,
}

/// How soon a network has to give way: the number of its silent connections, then the age of its
/// oldest one.
type SilenceRank = (usize, Reverse<u64>);

/// What the connections of an address have.
#[derive(Debug)]
struct OfOne {
    taken: usize,
    room: Arc<Semaphore>,
    /// Its silent connections, the oldest first.
    silent: BTreeMap<u64, Arc<Seat>>,
}

/// The place of a connection, until it is dropped.
#[derive(Debug)]
pub struct Place {
    occupant: Occupant,
    room: Arc<Semaphore>,
}

/// The place of a connection that is silent at first, and asks itself whether it has to go.
#[derive(Debug)]
pub struct SilentPlace {
    place: Place,
    evicted: Arc<Notify>,
}

/// Who has a place: tells whether it works.
#[derive(Clone, Debug)]
pub struct Occupant {
    of: Arc<Places>,
    seat: Arc<Seat>,
}

/// A place that is taken.
struct Seat {
    network: IpAddr,
    is_silent: AtomicBool,
    state: Mutex<SeatState>,
}

#[derive(Default)]
struct SeatState {
    /// Its number among the silent ones, while it is silent.
    silence: Option<u64>,
    /// It was given to another, and is not its own to give back.
    is_lost: bool,
    on_evicted: Option<Arc<dyn Fn() + Send + Sync>>,
}

impl fmt::Debug for Seat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Seat").field("network", &self.network).finish_non_exhaustive()
    }
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

    /// A place for a connection from `address`, be it that of a silent one. It is not silent itself
    /// until [`Place::on_evicted`] says what happens then.
    ///
    /// # Errors
    /// If all are taken, or all that the address may have, by connections that work.
    pub fn enter(self: &Arc<Self>, address: IpAddr) -> Result<Place, NoPlace> {
        let network = network_of(address);
        let mut taken = self.taken.lock();
        let of_one = taken.by_network.get(&network).map_or(0, |one| one.taken);
        let evicted = if of_one >= self.of_one {
            Some(taken.evict(network).ok_or(NoPlace::OfOne)?)
        } else if taken.all >= self.all {
            let silent = taken.by_silent.last().map(|(_, network)| *network);
            Some(silent.and_then(|network| taken.evict(network)).ok_or(NoPlace::Full)?)
        } else {
            None
        };
        let new = || {
            let permits = self.of_one.saturating_mul(PERMITS).min(Semaphore::MAX_PERMITS);
            let room = Arc::new(Semaphore::new(permits));
            OfOne { taken: 0, room, silent: BTreeMap::new() }
        };
        let of_one = taken.by_network.entry(network).or_insert_with(new);
        of_one.taken += 1;
        let room = of_one.room.clone();
        taken.all += 1;
        drop(taken);
        // Not under the lock: what it does is not ours.
        if let Some(tell) = evicted {
            tell();
        }
        let (is_silent, state) = (AtomicBool::new(false), Mutex::default());
        let seat = Arc::new(Seat { network, is_silent, state });
        Ok(Place { occupant: Occupant { of: self.clone(), seat }, room })
    }

    /// A place for a connection from `address` that is silent until it says that it works.
    ///
    /// # Errors
    /// As [`enter`](Self::enter).
    pub fn enter_silent(self: &Arc<Self>, address: IpAddr) -> Result<SilentPlace, NoPlace> {
        let place = self.enter(address)?;
        let evicted = Arc::new(Notify::new());
        let tell = evicted.clone();
        place.on_evicted(move || tell.notify_one());
        Ok(SilentPlace { place, evicted })
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
        let taken = self.taken.lock().by_network.get(&network_of(address)).map(|one| one.taken);
        taken.unwrap_or(0) >= self.of_one.div_ceil(4)
    }
}

impl Taken {
    /// Takes the place of a network's oldest silent connection; what tells that one.
    fn evict(&mut self, network: IpAddr) -> Option<Arc<dyn Fn() + Send + Sync>> {
        let seat = self.by_network.get(&network)?.silent.first_key_value()?.1.clone();
        let mut state = seat.state.lock();
        self.end_silence(&seat, &mut state);
        state.is_lost = true;
        self.leave(network);
        state.on_evicted.clone()
    }

    fn begin_silence(&mut self, seat: &Arc<Seat>, state: &mut SeatState) {
        if state.silence.is_some() || state.is_lost || state.on_evicted.is_none() {
            return;
        }
        let n = self.silences;
        self.silences += 1;
        state.silence = Some(n);
        seat.is_silent.store(true, Ordering::Relaxed);
        self.change_silent(seat.network, |silent| drop(silent.insert(n, seat.clone())));
    }

    fn end_silence(&mut self, seat: &Seat, state: &mut SeatState) {
        let Some(n) = state.silence.take() else { return };
        seat.is_silent.store(false, Ordering::Relaxed);
        self.change_silent(seat.network, |silent| drop(silent.remove(&n)));
    }

    fn change_silent(&mut self, network: IpAddr, f: impl FnOnce(&mut BTreeMap<u64, Arc<Seat>>)) {
        let Some(of_one) = self.by_network.get_mut(&network) else { return };
        if let Some(rank) = of_one.silence_rank() {
            self.by_silent.remove(&(rank, network));
        }
        f(&mut of_one.silent);
        if let Some(rank) = of_one.silence_rank() {
            self.by_silent.insert((rank, network));
        }
    }

    /// A connection of a network has no place any more.
    fn leave(&mut self, network: IpAddr) {
        self.all -= 1;
        if let Some(of_one) = self.by_network.get_mut(&network) {
            of_one.taken -= 1;
            if of_one.taken == 0 {
                self.by_network.remove(&network);
            }
        }
    }
}

impl OfOne {
    /// Its rank among networks with silent connections, if it has one.
    fn silence_rank(&self) -> Option<SilenceRank> {
        let (oldest, _) = self.silent.first_key_value()?;
        Some((self.silent.len(), Reverse(*oldest)))
    }
}

impl Place {
    /// What the connections of the address share: four permits for each that it may have.
    pub fn room(&self) -> &Arc<Semaphore> {
        &self.room
    }

    /// Who has it.
    pub fn occupant(&self) -> &Occupant {
        &self.occupant
    }

    /// The connection is silent from now on, and may have to give its place to another: `f` then ends
    /// it.
    pub fn on_evicted(&self, f: impl Fn() + Send + Sync + 'static) {
        self.occupant.seat.state.lock().on_evicted = Some(Arc::new(f));
        self.occupant.rests();
    }
}

impl SilentPlace {
    /// Completes when the place was given to another: then the connection is to be closed at once.
    pub async fn evicted(&self) {
        self.evicted.notified().await;
    }

    /// Who has it.
    pub fn occupant(&self) -> &Occupant {
        self.place.occupant()
    }

    /// What the connections of the address share: see [`Place::room`].
    pub fn room(&self) -> &Arc<Semaphore> {
        self.place.room()
    }
}

impl Occupant {
    /// Something was asked for: it keeps its place.
    pub fn works(&self) {
        if self.seat.is_silent.load(Ordering::Relaxed) {
            let mut taken = self.of.taken.lock();
            taken.end_silence(&self.seat, &mut self.seat.state.lock());
        }
    }

    /// Whether nothing was asked for, so that it may have to go.
    pub fn is_silent(&self) -> bool {
        self.seat.is_silent.load(Ordering::Relaxed)
    }

    /// It is silent again.
    pub fn rests(&self) {
        let mut taken = self.of.taken.lock();
        taken.begin_silence(&self.seat, &mut self.seat.state.lock());
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let Occupant { of, seat } = &self.occupant;
        let mut taken = of.taken.lock();
        let mut state = seat.state.lock();
        // What it holds goes without the locks.
        let told = state.on_evicted.take();
        taken.end_silence(seat, &mut state);
        if !std::mem::replace(&mut state.is_lost, true) {
            taken.leave(seat.network);
        }
        let is_empty = taken.all == 0;
        drop((state, taken));
        drop(told);
        if is_empty {
            of.left.notify_waiters();
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

    /// A silent connection of an address, and whether it lost its place.
    fn silent(places: &Arc<Places>, last: u8) -> (Place, Arc<AtomicBool>) {
        let place = places.enter(IpAddr::from([192, 0, 2, last])).unwrap();
        let lost = Arc::new(AtomicBool::new(false));
        let tell = lost.clone();
        place.on_evicted(move || tell.store(true, Ordering::Relaxed));
        (place, lost)
    }

    fn is_lost((_, lost): &(Place, Arc<AtomicBool>)) -> bool {
        lost.load(Ordering::Relaxed)
    }

    #[test]
    fn the_oldest_silent_one_gives_its_place_up_and_never_one_that_works() {
        let places = Places::new(4, 2);
        let (first, second) = (silent(&places, 1), silent(&places, 1));
        second.0.occupant().works();
        // The address has all of its own: it takes them from itself.
        let third = silent(&places, 1);
        assert!(is_lost(&first) && !is_lost(&second));
        let other = silent(&places, 2);
        third.0.occupant().works();
        let refused = places.enter(IpAddr::from([192, 0, 2, 1]));
        assert_eq!(refused.unwrap_err(), NoPlace::OfOne);
        // What was lost is not given back once more.
        drop(first);
        assert_eq!(places.taken.lock().all, 3);
        // One that rests again is the youngest.
        let another = silent(&places, 3);
        other.0.occupant().works();
        other.0.occupant().rests();
        let last = silent(&places, 4);
        assert!(is_lost(&another) && !is_lost(&other));
        drop((second, third, other, another, last));
        let taken = places.taken.lock();
        assert!(taken.all == 0 && taken.by_network.is_empty() && taken.by_silent.is_empty());
    }

    #[test]
    fn where_all_is_full_the_address_with_most_silent_ones_loses() {
        let places = Places::new(8, 6);
        let honest = silent(&places, 1);
        let mut crowd: Vec<_> = (0..6).map(|_| silent(&places, 2)).collect();
        crowd.push(silent(&places, 3));
        for new in 10..14 {
            let new = silent(&places, new);
            new.0.occupant().works();
            crowd.push(new);
        }
        assert!(!is_lost(&honest) && crowd[..4].iter().all(is_lost));
    }

    #[test]
    fn where_each_address_has_one_the_oldest_gives_way() {
        let places = Places::new(3, 2);
        let enter = |last| places.enter_silent(IpAddr::from([192, 0, 2, last])).unwrap();
        let held = [7, 9, 8, 3, 5].map(enter);
        let gone = held.iter().map(|place| place.evicted().now_or_never().is_some());
        assert_eq!(gone.collect::<Vec<_>>(), [true, true, false, false, false]);
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
