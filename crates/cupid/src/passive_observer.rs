//! Rates that agents on several stations would grant, if each heard what one receiver hears.

use std::collections::BTreeMap;
use std::time::Duration;

use airlane_base::{Rate, Time};
use airlane_wifi::{Address, FrameKind, Heard, What};

use crate::agent::AgentOptions;
use crate::estimator::{Estimate, Estimator};
use crate::rule::{RateRule, RuleKind, RuleOptions};

/// The most stations that are looked at.
const MAX_STATIONS: usize = 256;
/// Times above this, 292 years, are taken for it.
const END: Time = Time::from_nanos(u64::MAX / 2);
/// Records that end so long before others did are of a clock that was set.
const SET_BACK: Duration = Duration::from_secs(1);

/// The report that an agent on a station would have made.
#[derive(Clone, Debug, PartialEq)]
pub struct GrantedRates {
    /// The estimate that it would have gone by.
    pub estimate: Estimate,
    /// The rate of the station, all flows together, by the default rule.
    pub rate: Rate,
    /// Airtime-fair rate by the rule of the Cupid paper, as published.
    pub paper_rate: Rate,
}

/// An observer that says for each station that receives data what an agent of Cupid on it would grant.
///
/// One estimator serves all of them, as they hear the same. A station counts while its last frame of data
/// above the size that makes it count ([`EstimatorOptions::big`](crate::EstimatorOptions)) is within the
/// memory; when it comes back, the rules begin anew. Memory is bounded: 256 stations, of which those make
/// room that have been silent for longest.
#[derive(Clone, Debug)]
pub struct PassiveObserver {
    options: AgentOptions,
    estimator: Estimator,
    stations: BTreeMap<Address, Station>,
    /// Time of the next reports; `None` before the first record.
    next: Option<Time>,
    /// Time of the next reports when a station was refused last: nobody leaves before these.
    full: Option<Time>,
    crowded: u64,
}

#[derive(Clone, Debug)]
struct Station {
    /// The end of the last data to it.
    last: Time,
    is_active: bool,
    default: RateRule,
    paper: RateRule,
}

impl PassiveObserver {
    /// An observer that has heard nothing. Of the options the own station and the kind of the rule do not matter.
    pub fn new(options: AgentOptions) -> Self {
        let options = options.bounded();
        Self {
            estimator: Estimator::new(options.estimator),
            options,
            stations: BTreeMap::new(),
            next: None,
            full: None,
            crowded: 0,
        }
    }

    /// Takes a transmission that was heard. Before it is taken in, `tell` gets what was due until it ended.
    pub fn hear(&mut self, heard: &Heard, tell: impl FnMut(Address, &GrantedRates)) {
        // Time goes on behind it.
        let end = (heard.at + heard.duration).min(END);
        self.until(end, tell);
        self.learn(heard, end);
        self.estimator.hear(heard);
    }

    /// Frames of data that came for stations for which there was no room.
    pub fn crowded(&self) -> u64 {
        self.crowded
    }

    /// Reports what is due until `now`.
    fn until(&mut self, now: Time, mut tell: impl FnMut(Address, &GrantedRates)) {
        let interval = self.options.interval;
        let Some(mut due) = self.next else {
            self.next = Some(now + interval);
            return;
        };
        if now + SET_BACK + interval < due {
            self.next = Some(now + interval);
            for station in self.stations.values_mut() {
                station.last = station.last.min(now);
            }
            return;
        }
        while due <= now {
            self.report(due, &mut tell);
            due += interval;
            if !self.stations.values().any(|station| station.is_active) {
                // Nothing more is to be said, however long it is silent.
                let missed = now.since(due).as_nanos() / interval.as_nanos().max(1);
                due += interval * u32::try_from(missed).unwrap_or(u32::MAX);
                if due <= now {
                    due = now + interval;
                }
            }
        }
        self.next = Some(due);
    }

    fn report(&mut self, now: Time, tell: &mut impl FnMut(Address, &GrantedRates)) {
        let memory = self.estimator.options().memory;
        for station in self.stations.values_mut() {
            station.is_active &= now.since(station.last) <= memory;
        }
        let Self { stations, estimator, options, .. } = self;
        let active: Vec<Address> =
            stations.iter().filter(|(_, s)| s.is_active).map(|(address, _)| *address).collect();
        if active.is_empty() {
            return;
        }
        for (address, estimate) in estimator.estimates(now, active) {
            let Some(station) = stations.get_mut(&address) else { continue };
            let Some(air) = options.air(&estimate, address) else { continue };
            let (rate, paper_rate) = (station.default.update(&air), station.paper.update(&air));
            tell(address, &GrantedRates { estimate, rate, paper_rate });
        }
    }

    /// Takes in who receives data.
    fn learn(&mut self, heard: &Heard, end: Time) {
        let What::Frames { frames, .. } = &heard.what else { return };
        let Some(first) = frames.first() else { return };
        let is_data = matches!(first.kind, FrameKind::QosData | FrameKind::Data);
        let to = first.receiver;
        if !is_data || !first.is_down || to.is_group() {
            return;
        }
        let big = self.estimator.options().big;
        if !frames.iter().any(|frame| frame.bytes > big) {
            return;
        }
        if !self.stations.contains_key(&to) && !self.make_room(to) {
            self.crowded += 1;
            return;
        }
        let rule = |kind| RateRule::new(RuleOptions { kind, ..self.options.rule });
        let station = self.stations.entry(to).or_insert_with(|| Station {
            last: end,
            is_active: false,
            default: rule(RuleKind::Default),
            paper: rule(RuleKind::Paper),
        });
        station.last = end;
        if !std::mem::replace(&mut station.is_active, true) {
            station.default.restart();
            station.paper.restart();
        }
    }

    /// Makes room for a station; whether there is.
    fn make_room(&mut self, station: Address) -> bool {
        if self.stations.len() >= MAX_STATIONS {
            if self.full == self.next {
                return false;
            }
            let silent = self.stations.iter().filter(|(_, station)| !station.is_active);
            let Some((&longest, _)) = silent.min_by_key(|(_, station)| station.last) else {
                self.full = self.next;
                return false;
            };
            self.stations.remove(&longest);
            self.estimator.unwatch(longest);
        }
        self.estimator.watch(station)
    }
}
