//! What a provider of videos knows.

use std::collections::BTreeMap;
use std::sync::Arc;

use airlane_abr::{AbrKind, Setting};
use airlane_media::Metric;
use airlane_minerva::{Config, Minerva, Normalisation, ValueFunction};

use crate::cmcd::Cmcd;

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
    /// UDP payload of a full packet, to tell body bytes from packet bytes.
    pub payload_bytes: u64,
}

impl Provider {
    /// The controller for a session whose player says `cmcd` of itself; `None` for a title that
    /// nothing is known of.
    pub(super) fn controller(&self, title: &str, cmcd: &Cmcd) -> Option<Minerva> {
        let named = cmcd.metric.as_deref().and_then(Metric::from_name);
        let of = |metric| Some((metric, self.titles.get(&(title.to_owned(), metric))?));
        let (metric, setting) = named.and_then(of).or_else(|| of(self.metric))?;
        let (setting, f) = (setting.clone(), self.normalisation.clone());
        let abr = self.abr_of(cmcd);
        let value = self.values.get(&(title.to_owned(), metric, abr.to_string()));
        Some(match value {
            Some(value) => Minerva::with_value(setting, value.clone(), f, self.config),
            None => Minerva::new(setting, Arc::new(abr), f, self.config),
        })
    }

    /// The algorithm that the player names, if it is known.
    fn abr_of(&self, cmcd: &Cmcd) -> AbrKind {
        match cmcd.abr.as_deref() {
            Some(name) if name != self.abr.to_string() => name.parse().unwrap_or(self.abr),
            _ => self.abr,
        }
    }
}
