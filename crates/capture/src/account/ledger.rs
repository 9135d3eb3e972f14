//! Sums of attempts by station and direction, and over time.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use airlane_base::Time;
use airlane_wifi::{Address, Frame, FrameExchange, What};

use super::attempt::{Airtime, Attempt};
use super::attempts::Attempts;
use super::series::{Bins, MAX_BINS, Series};
use super::usage::{StationUse, Use};
use crate::transmission::Transmission;

/// Options of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The width of bins of time, as long as there are few enough of them.
    pub bin: Duration,
    /// Stations told apart at most; further ones are put together.
    pub stations: usize,
}

impl Default for Options {
    /// Bins of 100 ms, 1024 stations.
    fn default() -> Self {
        Self { bin: Duration::from_millis(100), stations: 1_024 }
    }
}

/// Time that a station counts as active behind its last MPDU of more than 200 bytes.
const ACTIVE: Duration = Duration::from_secs(1);

/// Interfaces that are told apart at a time.
const MAX_INTERFACES: usize = 64;

/// The account of airtime. Transmissions go in, in the order of their ends; [`Account::finish`] says who
/// used the air.
///
/// Memory is bounded: stations beyond the limit share an entry, and bins of time become wider.
#[derive(Clone, Debug, Default)]
pub struct Account {
    options: Options,
    /// By interface: what one hears does not answer what another does.
    attempts: BTreeMap<u32, Attempts>,
    stations: BTreeMap<Address, StationUse>,
    access_points: BTreeSet<Address>,
    /// The first transmission's beginning and the last one's end.
    span: Option<(Time, Time)>,
    bins: Option<Bins>,
    active: ActiveStations,
    interfaces: BTreeSet<u32>,
    /// Sums so far.
    summary: AirSummary,
}

/// One of the three directions of a station.
type Way = fn(&mut StationUse) -> &mut Use;

/// Seconds of air per bin of time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AirSeries {
    /// Airtime with contention.
    pub with_contention: Series,
    /// Airtime without contention.
    pub without_contention: Series,
    /// Airtime that was inferred.
    pub inferred: Series,
}

/// Number of active stations, second by second.
#[derive(Clone, Debug, Default)]
struct ActiveStations {
    second: u64,
    now: BTreeSet<Address>,
    /// Stations, summed over seconds.
    sum: u64,
    max: usize,
    /// The first second that counts.
    first: u64,
    /// Station seconds per bin, and the seconds of a bin.
    over_time: Series,
    seconds: u64,
}

/// Summary of an account: who used the air.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AirSummary {
    /// Time from the beginning of the first transmission to the end of the last.
    pub span: Duration,
    /// Transmissions (PPDUs) heard.
    pub transmissions: u64,
    /// Number of these that did not say at which rate they were sent.
    pub rate_assumed: u64,
    /// Interfaces that heard them, up to 64.
    pub interfaces: usize,
    /// Airtime of all attempts.
    pub air: Airtime,
    /// The utilisation U: air charged over the span, at most 1.
    pub utilisation: f64,
    /// Utilisation without contention.
    pub utilisation_without_contention: f64,
    /// Stations, those that used most first.
    pub stations: Vec<StationUse>,
    /// Attempts that unattributed can be charged with: not decoded, or damaged.
    pub unattributed: Use,
    /// Attempts of stations beyond the limit.
    pub further: Use,
    /// Stations with an MPDU of more than 200 bytes in a second, mean over seconds.
    pub mean_active: f64,
    /// Number of them in the second with the most.
    pub max_active: usize,
    /// The width of bins of time.
    pub bin: Duration,
    /// Seconds of air, per bin.
    pub over_time: AirSeries,
    /// Active stations, mean per bin of their own; later bins have none.
    pub active: Vec<f64>,
    /// The width of these bins, whole seconds.
    pub active_bin: Duration,
}

impl AirSummary {
    /// True if more was in the air than one channel has room for: times are wrong, several channels or
    /// interfaces are in the account, or stations sent at the same time.
    pub fn is_impossible(&self) -> bool {
        self.air.without_contention() > self.span
    }

    /// Airtime with contention as a part of the span, 0 to 1; `None` if more was in the air than there was
    /// time, or nothing was captured. Contention is charged with what it takes on average, so that it is cut
    /// to the whole.
    pub fn share(&self, air: &Airtime) -> Option<f64> {
        let span = self.span.as_secs_f64();
        let is_known = span > 0.0 && !self.is_impossible();
        is_known.then(|| (air.with_contention().as_secs_f64() / span).min(1.0))
    }
}

impl Account {
    /// An empty one.
    pub fn new(options: Options) -> Self {
        Self { options, ..Self::default() }
    }

    /// Takes a transmission.
    pub fn add(&mut self, transmission: &Transmission) {
        self.summary.transmissions += 1;
        self.summary.rate_assumed += u64::from(transmission.is_rate_assumed);
        if self.interfaces.len() < MAX_INTERFACES {
            self.interfaces.insert(transmission.interface);
        }
        let (begin, end) = (transmission.heard.at, transmission.end());
        let (first, last) = self.span.unwrap_or((begin, end));
        self.span = Some((first.min(begin), last.max(end)));
        if let What::Frames { frames, .. } = &transmission.heard.what {
            for access_point in frames.iter().filter_map(Frame::access_point) {
                if self.access_points.len() < self.options.stations {
                    self.access_points.insert(access_point);
                }
            }
            if let Some(from) = frames.first().and_then(|frame| frame.transmitter) {
                let signal = transmission.signal_dbm;
                if let Some(station) = self.station(from) {
                    station.sent(frames.len() as u64, signal);
                }
            }
        }
        // Apart while it gives attempts to the rest.
        let mut all = std::mem::take(&mut self.attempts);
        if all.len() >= MAX_INTERFACES && !all.contains_key(&transmission.interface) {
            // The numbers of a file's sections grow: the lowest is over.
            if let Some((_, mut over)) = all.pop_first() {
                over.finish(|attempt| self.charge(attempt));
            }
        }
        let attempts = all.entry(transmission.interface).or_default();
        attempts.push(transmission, |attempt| self.charge(attempt));
        self.attempts = all;
    }

    /// Charges the last attempt, and sums up.
    pub fn finish(mut self) -> AirSummary {
        for mut attempts in std::mem::take(&mut self.attempts).into_values() {
            attempts.finish(|attempt| self.charge(attempt));
        }
        let (first, last) = self.span.unwrap_or_default();
        let span = last.since(first);
        let bin = self.bins.map_or(self.options.bin, |bins| bins.width);
        self.active.turn(u64::MAX);
        let (active, active_bin) = self.active.over_time();
        let share = |air: Duration| {
            if span.is_zero() { 0.0 } else { (air.as_secs_f64() / span.as_secs_f64()).min(1.0) }
        };
        let mut stations: Vec<StationUse> = self.stations.into_values().collect();
        for station in &mut stations {
            station.is_access_point = self.access_points.contains(&station.address);
        }
        stations.sort_by_key(|station| (Reverse(station.air().with_contention()), station.address));
        AirSummary {
            span,
            interfaces: self.interfaces.len(),
            utilisation: share(self.summary.air.with_contention()),
            utilisation_without_contention: share(self.summary.air.without_contention()),
            stations,
            mean_active: self.active.sum as f64 / span.as_secs_f64().ceil().max(1.0),
            max_active: self.active.max,
            bin,
            active,
            active_bin,
            ..self.summary
        }
    }

    /// The entry of a station; `None` beyond the limit.
    fn station(&mut self, address: Address) -> Option<&mut StationUse> {
        let is_full = self.stations.len() >= self.options.stations;
        if is_full && !self.stations.contains_key(&address) {
            return None;
        }
        Some(self.stations.entry(address).or_insert_with(|| StationUse::new(address)))
    }

    fn charge(&mut self, attempt: &Attempt<'_>) {
        self.summary.air += attempt.air;
        let FrameExchange { begin: from, sender, receiver, .. } = *attempt.exchange;
        let charged = attempt.air.with_contention();
        let to = from + charged;
        let bins = self.bins_until(from, to);
        let seconds = Duration::as_secs_f64;
        let series = &mut self.summary.over_time;
        for (series, air) in [
            (&mut series.with_contention, charged),
            (&mut series.without_contention, attempt.air.without_contention()),
            (&mut series.inferred, attempt.air.inferred()),
        ] {
            bins.spread(from, to, seconds(&air), |bin, s| series.add(bin, s));
        }
        let is_point = |address: Option<Address>| {
            address.is_some_and(|address| self.access_points.contains(&address))
        };
        let individual = receiver.filter(|receiver| !receiver.is_group());
        let (from_point, to_point) = (is_point(sender), is_point(individual));
        let (down, up, other): (Way, Way, Way) = (|s| &mut s.down, |s| &mut s.up, |s| &mut s.other);
        let (who, way, network) = match (sender, individual) {
            (Some(sender), Some(receiver)) if from_point && !to_point => {
                (Some(receiver), down, Some(sender))
            }
            (Some(sender), receiver) if to_point && !from_point => (Some(sender), up, receiver),
            // An ACK was heard of it, which does not say who it is from: a station talks to its network.
            (Some(sender), None) if receiver.is_none() && !from_point => {
                let network = self.stations.get(&sender).and_then(|station| station.network);
                (Some(sender), network.map_or(other, |_| up), network)
            }
            (sender, _) => (sender, other, None),
        };
        let Some(who) = who else {
            self.summary.unattributed.add(attempt);
            return;
        };
        if attempt.is_active() {
            let station = if from_point { individual } else { Some(who) };
            self.note_active(from, station);
        }
        let Some(station) = self.station(who) else {
            self.summary.further.add(attempt);
            return;
        };
        station.network = network.or(station.network);
        way(station).add(attempt);
        bins.spread(from, to, seconds(&charged), |bin, s| station.over_time.add(bin, s));
    }

    /// The bins, wide enough that `to` is in one.
    fn bins_until(&mut self, from: Time, to: Time) -> Bins {
        let width = self.options.bin.max(Duration::from_millis(1));
        let bins = self.bins.get_or_insert(Bins { start: from, width });
        for _ in 0..bins.widen(to) {
            let AirSeries { with_contention, without_contention, inferred } =
                &mut self.summary.over_time;
            [with_contention, without_contention, inferred].into_iter().for_each(Series::fold);
            self.stations.values_mut().for_each(|station| station.over_time.fold());
        }
        *bins
    }

    fn note_active(&mut self, at: Time, station: Option<Address>) {
        let second = at.as_nanos() / ACTIVE.as_nanos() as u64;
        if self.active.second == 0 && self.active.now.is_empty() {
            let start = self.bins.map_or(at, |bins| bins.start);
            self.active.first = start.as_nanos() / ACTIVE.as_nanos() as u64;
        }
        self.active.turn(second);
        if let Some(station) = station
            && self.active.now.len() < self.options.stations
        {
            self.active.now.insert(station);
        }
    }
}

impl ActiveStations {
    /// Goes on to a second, if it is a later one.
    fn turn(&mut self, second: u64) {
        if second <= self.second {
            return;
        }
        let count = self.now.len();
        self.sum += count as u64;
        self.max = self.max.max(count);
        if count > 0 {
            let since = self.second.saturating_sub(self.first);
            self.seconds = self.seconds.max(1);
            while since / self.seconds >= MAX_BINS as u64 {
                self.over_time.fold();
                self.seconds *= 2;
            }
            self.over_time.add((since / self.seconds) as usize, count as f64);
        }
        self.now.clear();
        self.second = second;
    }

    /// The stations in each bin, on average, and the width of a bin.
    fn over_time(&self) -> (Vec<f64>, Duration) {
        let seconds = self.seconds.max(1);
        let means = self.over_time.values().iter().map(|sum| sum / seconds as f64).collect();
        (means, ACTIVE * u32::try_from(seconds).unwrap_or(u32::MAX))
    }
}
