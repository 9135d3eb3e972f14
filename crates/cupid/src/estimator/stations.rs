//! Stations, their shares of the air, and what changed.

use std::collections::{BTreeMap, VecDeque};

use airlane_base::Time;
use airlane_wifi::Address;

use crate::ring::Ring;

/// The most stations that are kept apart.
const MAX_STATIONS: usize = 1_024;
/// The most events that wait to be taken.
const MAX_EVENTS: usize = 256;
/// Below this part of an equal share a station is limited, and from [`UNLIMITED`] on it no longer is.
const LIMITED: f64 = 0.75;
const UNLIMITED: f64 = 0.9;

/// The use that a station makes of its share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StationState {
    /// Active: it uses about an equal part, or more.
    Active,
    /// Limited: it uses clearly less, as its application limits it, or its rate has not grown yet.
    Limited,
    /// Silent: it counts still, but nothing of it was heard in the window.
    Silent,
}

/// One station's use of the air.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// Address of the station.
    pub address: Address,
    /// Charged airtime over the window, both directions.
    pub airtime: f64,
    /// Charged airtime over the later half of the window.
    pub recent: f64,
    /// Its part of [`Estimate::packed`](super::Estimate::packed), in proportion to what it is charged.
    pub packed: f64,
    /// True if most of it went to aggregates that took as much as they may: more is waiting.
    pub is_backlogged: bool,
    /// The use that it makes of its share.
    pub state: StationState,
}

/// The kind of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It began to count.
    Arrived,
    /// It no longer counts.
    Left,
    /// It came to use clearly less than an equal part.
    Limited,
    /// It uses an equal part, or more, again.
    Unlimited,
    /// Nothing of it was heard in a window.
    Silent,
}

/// A change of one station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Time at which it was found.
    pub at: Time,
    /// Address of the station.
    pub address: Address,
    /// Kind of the change.
    pub change: Change,
}

#[derive(Clone, Debug)]
struct Station {
    /// Charged, and of it what went to aggregates as large as they may be.
    air: Ring<2>,
    /// End of the last large MPDU; `None` before the first, or since it was found to have left.
    big: Option<u64>,
    /// Large frames heard since it arrived.
    heard: u32,
    last: u64,
    state: StationState,
}

#[derive(Clone, Debug)]
pub(super) struct Stations {
    all: BTreeMap<Address, Station>,
    events: VecDeque<Event>,
    bucket: u64,
    span: u64,
    memory: u64,
    swept: u64,
    crowded: u64,
}

/// Result of [`Stations::look`].
pub(super) struct Look {
    pub shares: Vec<Share>,
    pub count: u32,
    /// Large frames heard of the station of which the fewest were.
    pub min_heard: u32,
}

impl Stations {
    pub fn new(bucket: u64, span: u64, memory: u64) -> Self {
        let (all, events) = (BTreeMap::new(), VecDeque::new());
        Self { all, events, bucket, span, memory, swept: 0, crowded: 0 }
    }

    pub fn crowded(&self) -> u64 {
        self.crowded
    }

    pub fn take_events(&mut self) -> VecDeque<Event> {
        std::mem::take(&mut self.events)
    }

    fn event(&mut self, at: u64, address: Address, change: Change) {
        if self.events.len() == MAX_EVENTS {
            self.events.pop_front();
        }
        self.events.push_back(Event { at: Time::from_nanos(at), address, change });
    }

    fn get(&mut self, address: Address, now: u64) -> Option<&mut Station> {
        if !self.all.contains_key(&address) {
            if self.all.len() >= MAX_STATIONS {
                // Those who left make room; looked for at most once per 100 ms, as it takes all of them.
                if now.saturating_sub(self.swept) > 100_000_000 {
                    self.swept = now;
                    let memory = self.memory;
                    self.all.retain(|_, station| now.saturating_sub(station.last) <= memory);
                }
                if self.all.len() >= MAX_STATIONS {
                    self.crowded += 1;
                    return None;
                }
            }
            let station = Station {
                air: Ring::new(self.bucket, self.span),
                big: None,
                heard: 0,
                last: now,
                state: StationState::Active,
            };
            self.all.insert(address, station);
        }
        let station = self.all.get_mut(&address)?;
        station.last = station.last.max(now);
        Some(station)
    }

    pub fn charge(&mut self, address: Address, from: u64, to: u64, charged: f64, full: f64) {
        if let Some(station) = self.get(address, to) {
            station.air.add(from, to, [charged, full]);
        }
    }

    /// A large MPDU of it ended at `at`.
    pub fn big(&mut self, address: Address, at: u64, is_heard: bool) {
        let Some(station) = self.get(address, at) else { return };
        station.heard = station.heard.saturating_add(is_heard.into());
        if station.big.replace(at).is_none() {
            self.event(at, address, Change::Arrived);
        }
    }

    /// Shares from `from` to `to`, and changes of state; an equal part of what is aimed at is `eta/N`.
    /// `filled` is what a charge would come to if all aggregates were full.
    pub fn look(&mut self, (from, to): (u64, u64), eta: f64, filled: f64) -> Look {
        let window = to.saturating_sub(from).max(1) as f64;
        let recent = from + to.saturating_sub(from) / 2;
        let (memory, mut left) = (self.memory, Vec::new());
        for (address, station) in &mut self.all {
            if station.big.is_some_and(|big| to.saturating_sub(big) > memory) {
                station.big = None;
                station.heard = 0;
                station.state = StationState::Active;
                left.push(*address);
            }
        }
        self.all.retain(|_, station| {
            station.big.is_some() || to.saturating_sub(station.last) <= memory
        });
        for address in left {
            self.event(to, address, Change::Left);
        }
        let count = self.all.values().filter(|station| station.big.is_some()).count();
        let equal = eta / count.max(1) as f64;
        let (mut shares, mut changes) = (Vec::with_capacity(count), Vec::new());
        let mut look = Look { shares: Vec::new(), count: count as u32, min_heard: u32::MAX };
        for (&address, station) in self.all.iter_mut().filter(|(_, station)| station.big.is_some())
        {
            let [charged, full] = station.air.sum(from, to).map(|nanos| nanos / window);
            let state = match station.state {
                _ if charged <= 0.0 => StationState::Silent,
                StationState::Limited if charged < UNLIMITED * equal => StationState::Limited,
                _ if charged < LIMITED * equal => StationState::Limited,
                _ => StationState::Active,
            };
            let old = std::mem::replace(&mut station.state, state);
            if old != state {
                changes.push((
                    address,
                    match state {
                        StationState::Active => Change::Unlimited,
                        StationState::Limited => Change::Limited,
                        StationState::Silent => Change::Silent,
                    },
                ));
            }
            look.min_heard = look.min_heard.min(station.heard);
            shares.push(Share {
                address,
                airtime: charged.min(1.0),
                recent: (station.air.sum(recent, to)[0] / (window / 2.0)).min(1.0),
                packed: (charged * filled).min(1.0),
                is_backlogged: 2.0 * full > charged,
                state,
            });
        }
        for (address, change) in changes {
            self.event(to, address, change);
        }
        look.shares = shares;
        look
    }
}
