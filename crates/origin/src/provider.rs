//! Which sessions have a weight, and how it is determined: the decisions of a provider of videos.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

use airlane_abr::{AbrKind, TitleModel};
use airlane_base::Time;
use airlane_media::Metric;
use airlane_minerva::{Config, Minerva, Normalisation, ValueFunction};

use crate::cmcd::Cmcd;

/// Cohort of a session: who sets its weight, and why nobody does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cohort {
    /// Minerva sets its weight.
    Minerva,
    /// It is plain, for comparison with those under Minerva.
    Control,
    /// It is plain: the origin sets no weights.
    Plain,
    /// It is plain: its player sends no CMCD.
    NoCmcd,
    /// It is plain: its title has no quality table.
    NoTable,
}

/// Decision of a policy about a session, made at a request.
#[derive(Clone, Debug)]
pub struct SessionPolicy {
    /// Its cohort.
    pub cohort: Cohort,
    /// Its title as its viewer sees it, if that has a quality table.
    pub setting: Option<Arc<TitleModel>>,
}

impl SessionPolicy {
    /// The policy for all sessions of an origin that sets no weights.
    pub const PLAIN: Self = Self { cohort: Cohort::Plain, setting: None };
}

/// Decides which sessions have a weight, and how it is determined.
pub trait WeightPolicy: Send + Sync + Debug {
    /// The policy for the session with the id `session` (empty if the player sends none) of `title`,
    /// whose player sent `cmcd`.
    fn terms(&self, title: &str, session: &str, cmcd: &Cmcd) -> SessionPolicy;
    /// Rule by which the weight of a session with this cohort is determined; `None`: it has no
    /// weight.
    fn rule(&self, title: &str, cohort: Cohort, cmcd: &Cmcd) -> Option<WeightRule>;
    /// UDP payload of a full packet in bytes, to tell body bytes from packet bytes.
    fn payload_bytes(&self) -> u64;
    /// The bitrate that CMSD suggests to a player of `title` at a rate of `rate_bps`, bits per
    /// second, as the highest to play: it lets through the highest rung that the rate keeps up
    /// with, or the lowest.
    fn suggestion_bps(&self, title: &str, rate_bps: f64) -> Option<u64>;
}

/// Data of a provider of videos: its titles under its measures of quality, and its normalisation.
#[derive(Clone, Debug)]
pub struct Provider {
    /// The titles as decisions see them, by name and measure of quality.
    pub titles: BTreeMap<(String, Metric), Arc<TitleModel>>,
    /// The measure for players that name none.
    pub metric: Metric,
    /// The algorithm of players that name none that is known.
    pub abr: AbrKind,
    /// Value functions that are at hand, by title, measure and name of the algorithm. What is not
    /// here is simulated on demand.
    pub values: BTreeMap<(String, Metric, String), Arc<dyn ValueFunction>>,
    /// f of section 5.4.
    pub normalisation: Arc<Normalisation>,
    /// Configuration by which weights are found.
    pub config: Config,
    /// UDP payload of a full packet in bytes, to tell body bytes from packet bytes.
    pub payload_bytes: u64,
}

impl WeightPolicy for Provider {
    fn terms(&self, title: &str, _: &str, cmcd: &Cmcd) -> SessionPolicy {
        match self.setting(title, cmcd) {
            Some((_, setting)) => {
                SessionPolicy { cohort: Cohort::Minerva, setting: Some(setting.clone()) }
            }
            None => SessionPolicy { cohort: Cohort::NoTable, setting: None },
        }
    }

    fn rule(&self, title: &str, _: Cohort, cmcd: &Cmcd) -> Option<WeightRule> {
        let (metric, setting) = self.setting(title, cmcd)?;
        let (setting, f) = (setting.clone(), self.normalisation.clone());
        let abr = self.abr_of(cmcd);
        let value = self.values.get(&(title.to_owned(), metric, abr.to_string()));
        Some(WeightRule::Minerva(Box::new(match value {
            Some(value) => Minerva::with_value(setting, value.clone(), f, self.config),
            None => Minerva::new(setting, Arc::new(abr), f, self.config),
        })))
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
    /// A title as its viewer sees it, with the measure of quality: the one that the player names,
    /// or the provider's own.
    pub fn setting(&self, title: &str, cmcd: &Cmcd) -> Option<(Metric, &Arc<TitleModel>)> {
        let named = cmcd.metric.as_deref().and_then(Metric::from_name);
        let of = |metric| Some((metric, self.titles.get(&(title.to_owned(), metric))?));
        named.and_then(of).or_else(|| of(self.metric))
    }

    /// The algorithm that the player names, if it is known.
    fn abr_of(&self, cmcd: &Cmcd) -> AbrKind {
        match cmcd.abr.as_deref() {
            Some(name) if name != self.abr.to_string() => name.parse().unwrap_or(self.abr),
            _ => self.abr,
        }
    }
}

/// Rule by which a session's weight is determined.
#[derive(Clone, Debug)]
pub enum WeightRule {
    /// By Minerva: it follows the viewer's experience.
    Minerva(Box<Minerva>),
    /// Fixed, in plain connections.
    Fixed(f64),
}

impl WeightRule {
    /// Weight that it gives now, in plain connections.
    pub(crate) fn weight(&self) -> f64 {
        match self {
            Self::Minerva(minerva) => minerva.weight(),
            Self::Fixed(weight) => *weight,
        }
    }

    /// Time at which the weight may change by itself.
    pub(crate) fn next_event(&self) -> Option<Time> {
        match self {
            Self::Minerva(minerva) => minerva.next_event(),
            Self::Fixed(_) => None,
        }
    }
}
