//! Airtime that stations were charged with, over sliding windows.

use std::collections::{BTreeMap, BTreeSet};

use airlane_base::{IP_UDP_HEADER_BYTES, Rate, Time};
use airlane_wifi::{Address, mac};

use super::flows::Flows;
use super::stations::Stations;
use super::{Direction, Estimate, EstimatorOptions, MAX_AIR, nanos};
use crate::ring::Ring;

/// Number of access points, and of transmitters with unmatched ACKs, that are kept.
const MAX_KNOWN: usize = 256;
/// Number of unmatched ACKs that are remembered per transmitter.
const MAX_UNMATCHED: f64 = 1_024.0;

/// An exchange, or a part of one that was inferred, as it goes into the books.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Entry {
    /// The first and the last nanosecond that it is spread over.
    pub from: u64,
    pub to: u64,
    /// Nanoseconds: with contention, which is the charge; charged if aggregates were full; without
    /// contention; inferred of the charge.
    pub charge: f64,
    pub packed: f64,
    /// All of the charge of data that goes down; else 0.
    pub down: f64,
    /// All of the charge of an aggregate that took as much as it may; else 0.
    pub full: f64,
    pub airtime: f64,
    pub inferred: f64,
    /// Whose it is; nobody's if that could not be told.
    pub station: Option<Address>,
    pub is_foreign: bool,
    /// Nothing is known of it but that the air was taken.
    pub is_anonymous: bool,
    /// Bits of payload that the own station received (or sent, if delta is about uploads).
    pub payload: f64,
    /// Of own data PPDUs: nanoseconds in the air, and these times the PHY rate.
    pub phy_nanos: f64,
    pub phy_bits: f64,
    /// Exchanges that it stands for.
    pub exchanges: f64,
}

/// A station's part of the charge of all may differ from what its own full aggregates take by this factor.
const MAX_UNEQUAL: f64 = 1.3;

/// The most stations that are measured as if each were the own one.
const MAX_WATCHED: usize = 256;

/// Sums of the own station, or of one that is watched as if it were.
#[derive(Clone, Debug)]
struct Own {
    /// Payload, charged, charged if aggregates were full, time of data in the air, the same times its PHY
    /// rate, exchanges, charged for what goes down.
    sums: Ring<7>,
    goodput: Ring<1>,
    /// The last that was known.
    phy: Option<Rate>,
    delta: Option<(Rate, Rate)>,
}

impl Own {
    fn new(window: u64, own_window: u64) -> Self {
        Self {
            sums: long_ring(own_window),
            goodput: Ring::new(bucket(window), window + 2 * MAX_AIR),
            phy: None,
            delta: None,
        }
    }
}

/// Sums over a station's own window.
fn long_ring<const N: usize>(own_window: u64) -> Ring<N> {
    Ring::new((own_window / 128).max(1_000_000), own_window + 2 * MAX_AIR)
}

/// The buckets of a window.
fn bucket(window: u64) -> u64 {
    (window / 256).max(1_000_000)
}

/// A part of an amount, 0 to 1.
fn part(of: f64, amount: f64) -> f64 {
    if amount > 0.0 { (of / amount).min(1.0) } else { 0.0 }
}

#[derive(Clone, Debug)]
pub(super) struct Books {
    options: EstimatorOptions,
    window: u64,
    own_window: u64,
    /// Charged, charged if aggregates were full, in the air; inferred and foreign of the charge.
    air: Ring<5>,
    /// Charged, charged if aggregates were full, and for what goes down, for as long as is looked back for delta.
    all: Ring<3>,
    own: BTreeMap<Address, Own>,
    pub stations: Stations,
    pub flows: Flows,
    /// Sum of all charges, and of those that are nobody's, nanoseconds.
    pub total: f64,
    pub anonymous: f64,
    access_points: BTreeSet<Address>,
    /// Unmatched ACKs by transmitter of what they acknowledge, and when the last came.
    unmatched: BTreeMap<Address, (f64, u64)>,
    exchanges: u64,
    inferences: u64,
}

impl Books {
    pub fn new(options: &EstimatorOptions) -> Self {
        let (window, own_window) = (nanos(options.window), nanos(options.own_window));
        let memory = nanos(options.memory);
        let span = window + 2 * MAX_AIR;
        let bucket = bucket(window);
        Self {
            options: *options,
            window,
            own_window,
            air: Ring::new(bucket, span),
            all: long_ring(own_window),
            own: BTreeMap::from([(options.own, Own::new(window, own_window))]),
            stations: Stations::new(bucket, span, memory),
            flows: Flows::new(memory),
            total: 0.0,
            anonymous: 0.0,
            access_points: options.bssid.into_iter().collect(),
            unmatched: BTreeMap::new(),
            exchanges: 0,
            inferences: 0,
        }
    }

    pub fn counts(&self) -> (u64, u64) {
        (self.exchanges, self.inferences)
    }

    pub fn options(&self) -> &EstimatorOptions {
        &self.options
    }

    pub fn is_foreign(&self, bssid: Option<Address>) -> bool {
        match (self.options.bssid, bssid) {
            (Some(own), Some(bssid)) => own != bssid,
            _ => false,
        }
    }

    /// Takes in that a large MPDU from or to a station ended at `at`, if stations of its network count.
    pub fn big(&mut self, station: Option<Address>, is_foreign: bool, at: u64, is_heard: bool) {
        if let Some(station) = station.filter(|_| !(self.options.only_own_network && is_foreign)) {
            self.stations.big(station, at, is_heard);
        }
    }

    pub fn learn_access_point(&mut self, address: Address) {
        if self.access_points.len() < MAX_KNOWN {
            self.access_points.insert(address);
        }
    }

    pub fn is_access_point(&self, address: Address) -> bool {
        self.access_points.contains(&address)
    }

    /// Bits of payload in an MPDU of so many bytes that goes this way.
    pub fn payload(&self, bytes: f64, is_down: bool) -> f64 {
        let is_counted = is_down == (self.options.direction == Direction::Down);
        if !is_counted || bytes <= f64::from(self.options.big) {
            return 0.0;
        }
        let around =
            mac::mpdu(0, self.options.aggregation.is_encrypted) + u32::from(IP_UDP_HEADER_BYTES);
        8.0 * (bytes - f64::from(around)).max(0.0)
    }

    pub fn enter(&mut self, entry: &Entry) {
        let Entry { from, to, .. } = *entry;
        self.total += entry.charge;
        if entry.is_anonymous {
            self.anonymous += entry.charge;
        }
        let foreign = if entry.is_foreign { entry.charge } else { 0.0 };
        let air = [entry.charge, entry.packed, entry.airtime, entry.inferred, foreign];
        self.air.add(from, to, air);
        self.all.add(from, to, [entry.charge, entry.packed, entry.down]);
        self.exchanges += 1;
        self.inferences += u64::from(entry.inferred > 0.0);
        self.attribute(entry);
    }

    /// Charges a station with what is in the books already.
    pub fn attribute(&mut self, entry: &Entry) {
        let Entry { from, to, .. } = *entry;
        let Some(station) = entry.station else { return };
        self.stations.charge(station, from, to, entry.charge, entry.full);
        if let Some(own) = self.own.get_mut(&station) {
            own.goodput.add(from, to, [entry.payload]);
            let Entry { payload, charge, packed, phy_nanos, phy_bits, exchanges, down, .. } =
                *entry;
            let sums = [payload, charge, packed, phy_nanos, phy_bits, exchanges, down];
            own.sums.add(from, to, sums);
        }
    }

    /// Takes in an unmatched ACK: one to a frame of a transmitter that was not heard.
    pub fn unmatched_ack(&mut self, transmitter: Address, at: u64) {
        if self.unmatched.len() >= MAX_KNOWN && !self.unmatched.contains_key(&transmitter) {
            let memory = nanos(self.options.memory);
            self.unmatched.retain(|_, (_, last)| at.saturating_sub(*last) <= memory);
            if self.unmatched.len() >= MAX_KNOWN {
                return;
            }
        }
        let (count, last) = self.unmatched.entry(transmitter).or_insert((0.0, at));
        *count = (*count + 1.0).min(MAX_UNMATCHED);
        *last = at;
    }

    /// Takes back up to so many unmatched ACKs: sequence numbers told of the same frames.
    pub fn match_acks(&mut self, transmitter: Address, mpdus: f64) -> f64 {
        let Some((count, _)) = self.unmatched.get_mut(&transmitter) else { return 0.0 };
        let taken = count.min(mpdus);
        *count -= taken;
        taken
    }

    /// Measures a station as if it were the own one; whether there is room for it.
    pub fn watch(&mut self, station: Address) -> bool {
        let has_room = self.own.len() <= MAX_WATCHED;
        if has_room || self.own.contains_key(&station) {
            let (window, own_window) = (self.window, self.own_window);
            self.own.entry(station).or_insert_with(|| Own::new(window, own_window));
            return true;
        }
        false
    }

    /// Ends that.
    pub fn unwatch(&mut self, station: Address) {
        if station != self.options.own {
            self.own.remove(&station);
        }
    }

    /// The estimates up to `until` of stations that are watched, as if each were the own one.
    pub fn estimates(
        &mut self,
        until: u64,
        began: Option<u64>,
        stations: impl IntoIterator<Item = Address>,
    ) -> impl Iterator<Item = (Address, Estimate)> {
        let (filled, down) = self.of_all(until, began);
        let whole = Estimate { fill: filled, down, ..self.whole(until, began) };
        stations.into_iter().map(move |station| {
            (station, self.of_station(station, (until, began), whole.clone(), filled))
        })
    }

    /// The charge of all if aggregates were full, and that for what goes down, as parts of what it is, over a
    /// station's own window.
    fn of_all(&self, until: u64, began: Option<u64>) -> (f64, f64) {
        let from = until.saturating_sub(self.own_window).max(began.unwrap_or(until).min(until));
        let [charged, packed, down] = self.all.sum(from, until);
        (part(packed, charged), part(down, charged))
    }

    /// The part of an estimate that is the same for every station.
    fn whole(&mut self, until: u64, began: Option<u64>) -> Estimate {
        let began = began.unwrap_or(until).min(until);
        let from = until.saturating_sub(self.window).max(began);
        let listened = until - from;
        let window = listened.max(1) as f64;
        let [charged, packed, airtime, inferred, foreign] = self.air.sum(from, until);
        let part = |amount: f64| (amount / window).clamp(0.0, 1.0);
        let inferred = if charged > 0.0 { (inferred / charged).min(1.0) } else { 0.0 };
        let filled = if charged > 0.0 { (packed / charged).min(1.0) } else { 1.0 };
        let look = self.stations.look((from, until), self.options.eta, filled);
        let is_quiet = look.count == 0;
        let heard = 1.0 - inferred;
        Estimate {
            at: Time::from_nanos(until),
            utilisation: part(charged),
            without_contention: part(airtime),
            packed: part(packed),
            foreign: part(foreign),
            inferred,
            stations: look.count,
            sharing: look.count,
            shares: look.shares,
            utilisation_confidence: listened as f64 / self.window as f64 * heard,
            stations_confidence: if is_quiet {
                heard
            } else {
                1.0 - inferred.powi(i32::try_from(look.min_heard.min(64)).unwrap_or(0))
            },
            ..Estimate::default()
        }
    }

    /// An estimate with what is a station's own.
    fn of_station(
        &mut self,
        station: Address,
        (until, began): (u64, Option<u64>),
        whole: Estimate,
        filled: f64,
    ) -> Estimate {
        let began = began.unwrap_or(until).min(until);
        let from = until.saturating_sub(self.window).max(began);
        let window = (until - from).max(1) as f64;
        // Shares are in the order of addresses.
        let is_counted = whole.shares.binary_search_by_key(&station, |share| share.address).is_ok();
        let sharing = whole.stations + u32::from(!is_counted);
        let Some(own) = self.own.get_mut(&station) else { return Estimate { sharing, ..whole } };
        let own_from = until.saturating_sub(self.own_window).max(began);
        let [payload, own_charged, own_packed, phy_nanos, phy_bits, exchanges, own_down] =
            own.sums.sum(own_from, until);
        if phy_nanos > 0.0 {
            own.phy = Some(Rate::from_bps_f64(phy_bits / phy_nanos * 1e9));
        }
        let of = |charged: f64| Rate::from_bps_f64(payload / charged * 1e9);
        if payload > 0.0 && own_charged > 0.0 && filled > 0.0 {
            let part = own_charged * filled;
            // Where a station's few frames are made to wait for others, they say little of what it could be
            // served: what they would take in full aggregates does.
            let part = part.clamp(own_packed / MAX_UNEQUAL, own_packed * MAX_UNEQUAL);
            own.delta = Some((of(own_charged), of(part)));
        }
        let own_span = (until - own_from).max(1) as f64;
        let has_sample = payload > 0.0 && own_charged > 0.0 && own_packed > 0.0;
        let aggregation = self.options.aggregation;
        let table = own.phy.map(|phy| aggregation.usual_delta(phy));
        Estimate {
            sharing,
            phy: own.phy,
            delta: own.delta.map(|(delta, _)| delta).or(table),
            packed_delta: own.delta.map(|(_, packed)| packed).or(table),
            own_share: (own_charged / own_span).min(1.0),
            own_fill: part(own_packed, own_charged),
            own_down: part(own_down, own_charged),
            full_delta: has_sample.then(|| of(own_packed)),
            is_measured: own.delta.is_some(),
            goodput: Rate::from_bps_f64(own.goodput.sum(from, until)[0] / window * 1e9),
            own_confidence: exchanges / (exchanges + 1.0) * (1.0 - whole.inferred),
            ..whole
        }
    }
}
