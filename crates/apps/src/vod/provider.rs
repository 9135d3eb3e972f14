//! What a provider of videos knows.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

use airlane_abr::{AbrKind, Setting};
use airlane_media::Metric;
use airlane_minerva::{Config, Minerva, Normalisation, ValueFunction};

use super::sessions::{Entry, Regime};
use crate::cmcd::Cmcd;

/// Decides how the weights of sessions are found.
pub trait Weighing: Send + Sync + Debug {
    /// How the weight of a new session is found, whose first request is for a chunk of `title` and
    /// whose player says `cmcd` of itself; `None`: it has none, and its requests change nothing.
    fn entry(&self, title: &str, session: &str, cmcd: &Cmcd) -> Option<Entry>;
    /// UDP payload of a full packet in bytes, to tell body bytes from packet bytes.
    fn payload_bytes(&self) -> u64;
    /// The bitrate that CMSD suggests to a player of `title` at a rate of `rate_bps`, bits per second,
    /// as the highest to play: it lets through the highest rung that the rate keeps up with, or the
    /// lowest.
    fn suggestion_bps(&self, title: &str, rate_bps: f64) -> Option<u64>;
}

/// What a provider of videos knows: how its titles look under its measures of quality, and its
/// normalisation.
#[derive(Clone, Debug)]
pub struct Provider {
    /// The titles as decisions see them, by name and measure of quality.
    pub titles: BTreeMap<(String, Metric), Arc<Setting>>,
    /// The measure for players that name none.
    pub metric: Metric,
    /// The algorithm of players that name none that is known.
    pub abr: AbrKind,
    /// Value functions that are at hand, by title, measure and name of the algorithm. What is not
    /// here is simulated on demand.
    pub values: BTreeMap<(String, Metric, String), Arc<dyn ValueFunction>>,
    /// f of section 5.4.
    pub normalisation: Arc<Normalisation>,
    /// How weights are found.
    pub config: Config,
    /// UDP payload of a full packet in bytes, to tell body bytes from packet bytes.
    pub payload_bytes: u64,
}

impl Weighing for Provider {
    fn entry(&self, title: &str, _: &str, cmcd: &Cmcd) -> Option<Entry> {
        let named = cmcd.metric.as_deref().and_then(Metric::from_name);
        let of = |metric| Some((metric, self.titles.get(&(title.to_owned(), metric))?));
        let (metric, setting) = named.and_then(of).or_else(|| of(self.metric))?;
        let (setting, f) = (setting.clone(), self.normalisation.clone());
        let chunk = setting.chunk();
        let abr = self.abr_of(cmcd);
        let value = self.values.get(&(title.to_owned(), metric, abr.to_string()));
        let minerva = match value {
            Some(value) => Minerva::with_value(setting, value.clone(), f, self.config),
            None => Minerva::new(setting, Arc::new(abr), f, self.config),
        };
        Some(Entry { regime: Regime::Minerva(Box::new(minerva)), chunk })
    }

    fn payload_bytes(&self) -> u64 {
        self.payload_bytes
    }

    fn suggestion_bps(&self, title: &str, rate_bps: f64) -> Option<u64> {
        let setting = self.titles.get(&(title.to_owned(), self.metric))?;
        let sustained = setting.mean_rate_bps().iter().rposition(|&rate| rate <= rate_bps);
        let (rung, above) = setting.video().rungs.get(sustained.unwrap_or(0)..)?.split_first()?;
        let rate = rung.nominal.as_f64();
        // Halfway to the next rung, since players compare it with the manifest's rates, which are
        // not just the nominal ones, and dash.js takes off the sound's first.
        let next = above.first().map_or(2.0 * rate, |r| r.nominal.as_f64());
        Some(f64::midpoint(rate, next) as u64)
    }
}

impl Provider {
    /// The algorithm that the player names, if it is known.
    fn abr_of(&self, cmcd: &Cmcd) -> AbrKind {
        match cmcd.abr.as_deref() {
            Some(name) if name != self.abr.to_string() => name.parse().unwrap_or(self.abr),
            _ => self.abr,
        }
    }
}
