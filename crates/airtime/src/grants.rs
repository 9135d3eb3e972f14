//! What Cupid would grant each station that receives data: reports as an agent on it would make them, put
//! together.

use std::collections::BTreeMap;

use airlane_base::Time;
use airlane_cupid::{AgentOptions, EstimatorOptions, GrantedRates, PassiveObserver};
use airlane_quality::stats;
use airlane_wifi::{Address, Heard};

/// Reports that are kept of a station: each, or as the capture becomes longer each second, fourth and so on.
const KEPT: usize = 512;
/// Stations that are told apart.
const STATIONS: usize = 1_024;

/// Hears what the capture has.
#[derive(Clone, Debug)]
pub(super) struct Granting {
    observer: PassiveObserver,
    grants: Grants,
}

/// Rates that would be granted, by station.
#[derive(Clone, Debug, Default)]
pub(super) struct Grants {
    stations: BTreeMap<Address, Grant>,
    /// Time at which the first transmission was heard.
    begin: Option<Time>,
    /// There were more stations than are looked at.
    pub(super) is_crowded: bool,
}

/// Rates that would be granted to one station.
#[derive(Clone, Debug, Default)]
pub(super) struct Grant {
    /// Reports that its agent would have made.
    pub(super) count: u64,
    /// One of so many is kept.
    stride: u64,
    kept: Vec<Kept>,
}

/// One report.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kept {
    /// Since the first transmission, seconds.
    pub(super) at_s: f64,
    /// U, 0 to 1, as it was charged and as if aggregates had been full.
    pub(super) utilisation: f32,
    pub(super) packed: f32,
    /// N.
    pub(super) stations: f32,
    /// C, where it is known, bit/s.
    pub(super) phy_bps: Option<f32>,
    /// Delta, as it was charged and as if aggregates had been full, bit/s.
    pub(super) delta_bps: f32,
    pub(super) packed_delta_bps: f32,
    /// Granted by the default rule and by the paper's, bit/s.
    pub(super) rate_bps: f32,
    pub(super) paper_bps: f32,
    /// Of U: the part that was heard, 0 to 1.
    pub(super) confidence: f32,
    /// True if delta was measured.
    pub(super) is_measured: bool,
}

impl Default for Granting {
    fn default() -> Self {
        // Whose the estimator is does not matter here.
        let options = AgentOptions::new(EstimatorOptions::new(Address::default()));
        Self { observer: PassiveObserver::new(options), grants: Grants::default() }
    }
}

impl Granting {
    /// One transmission was heard.
    pub(super) fn hear(&mut self, heard: &Heard) {
        let grants = &mut self.grants;
        grants.begin.get_or_insert(heard.at);
        self.observer.hear(heard, |address, granted| grants.add(address, granted));
    }

    /// Rates that would have been granted until now.
    pub(super) fn finish(mut self) -> Grants {
        self.grants.is_crowded |= self.observer.crowded() > 0;
        self.grants
    }
}

impl Grants {
    /// Rates that would be granted to a station; `None` if nothing can be said.
    pub(super) fn of(&self, station: Address) -> Option<&Grant> {
        self.stations.get(&station)
    }

    /// True if there is no grant.
    pub(super) fn is_empty(&self) -> bool {
        self.stations.is_empty()
    }

    /// All of them.
    pub(super) fn all(&self) -> impl Iterator<Item = &Grant> {
        self.stations.values()
    }

    fn add(&mut self, address: Address, granted: &GrantedRates) {
        if self.stations.len() >= STATIONS && !self.stations.contains_key(&address) {
            self.is_crowded = true;
            return;
        }
        let estimate = &granted.estimate;
        let bps = |rate: Option<airlane_base::Rate>| rate.map(|rate| rate.as_f64() as f32);
        let begin = self.begin.unwrap_or(estimate.at);
        self.stations.entry(address).or_default().add(Kept {
            at_s: estimate.at.since(begin).as_secs_f64(),
            utilisation: estimate.utilisation as f32,
            packed: estimate.packed as f32,
            stations: estimate.sharing as f32,
            phy_bps: bps(estimate.phy),
            delta_bps: bps(estimate.delta).unwrap_or_default(),
            packed_delta_bps: bps(estimate.packed_delta).unwrap_or_default(),
            rate_bps: granted.rate.as_f64() as f32,
            paper_bps: granted.paper_rate.as_f64() as f32,
            confidence: estimate.utilisation_confidence as f32,
            is_measured: estimate.is_measured,
        });
    }
}

impl Grant {
    fn add(&mut self, report: Kept) {
        let stride = self.stride.max(1);
        if self.count.is_multiple_of(stride) {
            self.kept.push(report);
        }
        self.count += 1;
        if self.kept.len() > KEPT {
            let mut number = 0_usize;
            self.kept.retain(|_| {
                number += 1;
                number % 2 == 1
            });
            self.stride = 2 * stride;
        } else {
            self.stride = stride;
        }
    }

    /// The reports that were kept.
    pub(super) fn kept(&self) -> &[Kept] {
        &self.kept
    }

    /// Reports that are kept are apart by up to this while it receives data, seconds.
    pub(super) fn pause_s(&self) -> f64 {
        1.0 + 0.04 * self.stride as f64
    }

    /// The median of something over its reports.
    pub(super) fn median(&self, of: impl Fn(&Kept) -> f32) -> f64 {
        self.median_of(|kept| Some(of(kept))).unwrap_or_default()
    }

    /// The same of what is not always known; `None` if it never is.
    pub(super) fn median_of(&self, of: impl Fn(&Kept) -> Option<f32>) -> Option<f64> {
        let values: Vec<f64> = self.kept.iter().filter_map(of).map(f64::from).collect();
        stats::median(&values)
    }

    /// The share of its reports for which delta was measured rather than taken from the PHY rate.
    pub(super) fn measured(&self) -> f64 {
        let measured = self.kept.iter().filter(|kept| kept.is_measured).count();
        measured as f64 / self.kept.len().max(1) as f64
    }
}
