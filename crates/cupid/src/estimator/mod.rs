//! Estimates of how the air is used, from what a receiver hears.
//!
//! Records are joined to exchanges (`exchange.rs`), which are charged (`close.rs`) to windows, stations and
//! the own station (`books.rs`); what numbers and responses tell of frames that were missed is inferred on
//! the way (`flows.rs`, `missed.rs`, `unread.rs`).

mod association;
mod books;
mod close;
mod exchange;
mod flows;
mod missed;
mod stations;
mod unread;

use std::collections::VecDeque;
use std::time::Duration;

use airlane_base::{Rate, Time};
use airlane_wifi::{Address, Band, Heard, MAX_PPDU_DURATION, Timing};

use crate::delta::Aggregation;
use books::Books;
use exchange::Joiner;
pub use stations::{Change, Event, Share, StationState};

/// Age of estimates: a frame that is in the air now is known by then, else it would always be missing.
const LAG: Duration = MAX_PPDU_DURATION;

/// Direction of the payload that delta is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// A download: from the access point to the station.
    #[default]
    Down,
    /// An upload: from the station.
    Up,
}

/// Options of the estimator.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EstimatorOptions {
    /// The own station.
    pub own: Address,
    /// The own network, where it is known.
    pub bssid: Option<Address>,
    /// Time that utilisation, shares and goodput are measured over.
    pub window: Duration,
    /// Time that the own rate and delta are measured over.
    pub own_window: Duration,
    /// Time that a station counts after its last MPDU above [`big`](Self::big): 0.2 to 5 s.
    pub memory: Duration,
    /// Bytes above which an MPDU makes its station count.
    pub big: u32,
    /// Count only stations of the own network, whose name is then needed.
    pub only_own_network: bool,
    /// Direction of the payload.
    pub direction: Direction,
    /// Aggregation of the own network.
    pub aggregation: Aggregation,
    /// The utilisation that is aimed at: who uses clearly less than an equal part of it is limited.
    pub eta: f64,
    /// The band.
    pub band: Band,
}

impl EstimatorOptions {
    /// The defaults, for a station.
    pub fn new(own: Address) -> Self {
        Self {
            own,
            bssid: None,
            window: Duration::from_millis(80),
            own_window: Duration::from_millis(400),
            memory: Duration::from_secs(1),
            big: 200,
            only_own_network: false,
            direction: Direction::Down,
            aggregation: Aggregation::default(),
            eta: 0.8,
            band: Band::Ghz5,
        }
    }

    /// With what is out of range brought to its nearest bound.
    fn bounded(mut self) -> Self {
        let ms = Duration::from_millis;
        self.window = self.window.clamp(ms(10), ms(10_000));
        self.own_window = self.own_window.clamp(self.window, ms(10_000));
        self.memory = self.memory.clamp(ms(200), ms(5_000));
        self.aggregation.frames = self.aggregation.frames.clamp(1, 1_024);
        self
    }
}

/// The use of the air over the last window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Estimate {
    /// The end of the window: the longest PPDU before what was asked for.
    pub at: Time,
    /// U: charged airtime over the window, 0 to 1.
    pub utilisation: f64,
    /// The share of the window in which the air was taken, without what contending costs.
    pub without_contention: f64,
    /// U, if every station filled its aggregates: what it would come to under full load. Not above
    /// [`utilisation`](Self::utilisation).
    pub packed: f64,
    /// Part of the utilisation that foreign networks have, as far as they are known; needs the own BSSID.
    pub foreign: f64,
    /// Part of the charge that was inferred, not heard.
    pub inferred: f64,
    /// N: stations with a large MPDU within the memory.
    pub stations: u32,
    /// N with the own station, which a flow that begins does not have in N yet.
    pub sharing: u32,
    /// C: airtime-weighted PHY rate of own data frames; the last one known.
    pub phy: Option<Rate>,
    /// Payload that the whole air would carry for the own station: payload over charged airtime, both
    /// directions; before the first sample from C.
    pub delta: Option<Rate>,
    /// Delta for a part of [`packed`](Self::packed) instead of one of the utilisation.
    pub packed_delta: Option<Rate>,
    /// Charge of the own station over its window, as a share of the air; 0 before the first sample.
    pub own_share: f64,
    /// That charge if the own aggregates were full, as a part of what it is.
    pub own_fill: f64,
    /// Part of that charge that is for data that goes down.
    pub own_down: f64,
    /// Charge of all stations over the same window if their aggregates were full, as a part of what it is.
    pub fill: f64,
    /// Part of that charge that is for data that goes down.
    pub down: f64,
    /// Payload that the whole air would carry for the own station in full aggregates, by what it was
    /// charged itself: [`packed_delta`](Self::packed_delta) goes by its part of the charge of all.
    pub full_delta: Option<Rate>,
    /// True if delta was measured: else it is the table's.
    pub is_measured: bool,
    /// Payload of the own station over the window, as heard and inferred.
    pub goodput: Rate,
    /// The stations, the own one included, in the order of their addresses.
    pub shares: Vec<Share>,
    /// 0 to 1: the part of the window that was listened to, times the part of the charge that was heard.
    pub utilisation_confidence: f64,
    /// 0 to 1: how likely it is that a station as quiet as the quietest counted one was not missed.
    pub stations_confidence: f64,
    /// 0 to 1: own exchanges n in their window as n/(n+1), times the part of records that were heard.
    pub own_confidence: f64,
}

impl Estimate {
    /// Shares of the other stations: what [`left_share`](crate::left_share) takes; parts of the
    /// utilisation, or of [`packed`](Self::packed); all of it of a station that is
    /// not [limited](StationState::Limited): what chance lets it use less of one window is not left to others.
    pub fn others(&self, own: Address, packed: bool) -> Vec<f64> {
        let others = self.shares.iter().filter(|share| share.address != own);
        others
            .map(|share| {
                let is_limited = share.state != StationState::Active && !share.is_backlogged;
                let all = if packed { share.packed } else { share.airtime };
                // What it used before it was limited it does not use any more.
                let less = share.recent / share.airtime.max(share.recent).max(f64::MIN_POSITIVE);
                if is_limited { all * less } else { 1.0 }
            })
            .collect()
    }
}

/// Counts of records and exchanges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Records heard.
    pub records: u64,
    /// Records that ended before an earlier one did.
    pub backward: u64,
    /// Exchanges charged.
    pub exchanges: u64,
    /// Exchanges or parts of them that were inferred.
    pub inferred: u64,
    /// Stations or flows left out, as there were too many.
    pub crowded: u64,
}

/// Measures the air from what one receiver hears.
///
/// Memory is bounded: windows are buckets, stations at most 1024 and flows 2048, whatever is heard.
#[derive(Clone, Debug)]
pub struct Estimator {
    options: EstimatorOptions,
    joiner: Joiner,
    books: Books,
    /// The end of the newest record, on the estimator's own axis.
    newest: u64,
    /// Added to times of records: a clock that was set goes on where it was.
    offset: i128,
    began: Option<u64>,
    counts: Counts,
}

/// Steps back up to this are jitter of time stamps; above, a clock was set.
const JITTER: i128 = 10_000_000;
/// Steps forward above this, beyond all that is remembered, are cut to it: one wild time stamp must not put
/// all that follows into the past.
const MAX_STEP: u64 = 20_000_000_000;

impl Estimator {
    /// An estimator that has heard nothing. Options out of their range are taken at its nearest bound.
    pub fn new(options: EstimatorOptions) -> Self {
        let options = options.bounded();
        Self {
            joiner: Joiner::new(Timing::of(options.band)),
            books: Books::new(&options),
            options,
            newest: 0,
            offset: 0,
            began: None,
            counts: Counts::default(),
        }
    }

    /// The options, as they hold.
    pub fn options(&self) -> &EstimatorOptions {
        &self.options
    }

    /// Takes a transmission that was heard. Records come in the order of their ends; one that ends before an
    /// earlier one is counted and taken for one that ends with it.
    pub fn hear(&mut self, heard: &Heard) {
        self.counts.records += 1;
        let duration = nanos(heard.duration).min(MAX_AIR);
        let mut end = i128::from(heard.at.as_nanos()) + self.offset + i128::from(duration);
        let newest = i128::from(self.newest);
        if self.began.is_none() {
            // Where the axis begins is no matter, but that there is room behind it.
            let begin = end.min(i128::from(MAX_STEP));
            self.offset = begin - end;
            end = begin;
        } else if end > newest + i128::from(MAX_STEP) {
            let most = newest + i128::from(MAX_STEP);
            self.offset -= end - most;
            end = most;
        } else if end < newest {
            self.counts.backward += 1;
            if newest - end > JITTER {
                self.offset += newest - end;
            }
            end = newest;
        }
        let end = u64::try_from(end).unwrap_or(u64::MAX / 2);
        self.newest = end;
        let start = end - duration.min(end);
        self.began.get_or_insert(start);
        self.joiner.hear(&mut self.books, start, end, &heard.what);
    }

    /// Measures a station as if it were the own one, from now on: for [`estimates`](Self::estimates). Up to
    /// 256 are; whether this one is.
    pub fn watch(&mut self, station: Address) -> bool {
        self.books.watch(station)
    }

    /// Ends that, and forgets what was measured.
    pub fn unwatch(&mut self, station: Address) {
        self.books.unwatch(station);
    }

    /// Estimates as if each of these were the own station. Those that are not watched have neither C nor
    /// delta.
    pub fn estimates(
        &mut self,
        now: Time,
        stations: impl IntoIterator<Item = Address>,
    ) -> impl Iterator<Item = (Address, Estimate)> {
        let until = self.settle(now);
        let at = self.outside(until);
        let estimates = self.books.estimates(until, self.began, stations);
        estimates.map(move |(station, estimate)| (station, Estimate { at, ..estimate }))
    }

    /// The use of the air up to `now` (less the longest PPDU), on the clock of the records.
    pub fn estimate(&mut self, now: Time) -> Estimate {
        let own = self.options.own;
        let (_, estimate) = self.estimates(now, [own]).next().expect("one station");
        estimate
    }

    /// Enters into the books what is over at `now`. Returns the time until which they are complete.
    fn settle(&mut self, now: Time) -> u64 {
        let now = self.inside(now).max(self.newest);
        self.joiner.settle(&mut self.books, now);
        now.saturating_sub(nanos(LAG))
    }

    /// A time on the clock of the records as one on the estimator's own axis, and back.
    fn inside(&self, time: Time) -> u64 {
        let inside = i128::from(time.as_nanos()) + self.offset;
        // Far from where sums of nanoseconds would overflow.
        u64::try_from(inside.max(0)).unwrap_or(u64::MAX).min(u64::MAX / 2)
    }

    fn outside(&self, inside: u64) -> Time {
        let outside = (i128::from(inside) - self.offset).max(0);
        Time::from_nanos(u64::try_from(outside).unwrap_or(u64::MAX))
    }

    /// Changes of stations since the last call, oldest first; the last 256.
    pub fn take_events(&mut self) -> VecDeque<Event> {
        let mut events = self.books.stations.take_events();
        for event in &mut events {
            event.at = self.outside(event.at.as_nanos());
        }
        events
    }

    /// Counts so far.
    pub fn counts(&self) -> Counts {
        let (exchanges, inferred) = self.books.counts();
        let crowded = self.books.stations.crowded() + self.books.flows.crowded();
        Counts { exchanges, inferred, crowded, ..self.counts }
    }
}

/// The longest that one record or announcement may take: above what any PPDU, and the duration field's
/// 32.767 ms, say.
const MAX_AIR: u64 = 40_000_000;

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
