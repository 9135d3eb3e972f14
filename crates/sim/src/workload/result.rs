//! The result of a run: figures by actor and metric. It is what every command makes tables, claims
//! and summaries of.

use serde::{Deserialize, Serialize};

use super::Unit;

/// A figure: metric, unit, value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure(
    /// The metric's name.
    pub String,
    /// Its unit; empty for counts and shares.
    pub String,
    /// Value.
    pub f64,
);

/// Figures in the order of rows. What was not measured has none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Figures(Vec<Figure>);

impl Figures {
    /// Adds a figure, if there is one.
    pub fn add(&mut self, metric: &str, unit: Unit, value: Option<f64>) {
        self.0
            .extend(value.map(|value| Figure(metric.to_owned(), unit.symbol().to_owned(), value)));
    }

    /// The value of a metric; `None` if it was not measured.
    pub fn value(&self, metric: &str) -> Option<f64> {
        self.0.iter().find(|f| f.0 == metric).map(|f| f.2)
    }

    /// Adds others behind.
    pub fn extend(&mut self, others: Self) {
        self.0.extend(others.0);
    }

    /// All figures.
    pub fn iter(&self) -> impl Iterator<Item = &Figure> {
        self.0.iter()
    }
}

/// Results of an actor.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ActorResult {
    /// The name of its workload.
    pub workload: String,
    /// Its own name.
    pub name: String,
    /// Its name for people, if it is another.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// The name that actors of one entry of the scenario share.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// Reason for which it ended early, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Its mean rate, by which the rates of a run are compared; `None` if it does not count there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_bps: Option<f64>,
    /// It is a part of the actor before it, such as one of its connections, and counted there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub part: bool,
    /// Its figures.
    pub figures: Figures,
    /// Samples that distributions are made of, by metric; journals do not keep them.
    #[serde(skip)]
    pub samples: Vec<(&'static str, Vec<f64>)>,
}

impl ActorResult {
    /// A figure of its own; `None` if it was not measured.
    pub fn value(&self, metric: &str) -> Option<f64> {
        self.figures.value(metric)
    }

    /// Its name for people.
    pub fn shown(&self) -> &str {
        if self.title.is_empty() { &self.name } else { &self.title }
    }

    /// The samples of a distribution; none if there are none.
    pub fn samples_of(&self, metric: &str) -> &[f64] {
        self.samples.iter().find(|(name, _)| *name == metric).map_or(&[], |(_, samples)| samples)
    }
}

/// The result of a run: what the seed determines, in numbers. It has no names of scenario or scheme
/// in it: a world is the same whatever it is called.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    /// Hash over what happened to every packet, 16 hexadecimal digits; `None` of what was measured
    /// elsewhere than in the laboratory.
    pub packet_hash: Option<String>,
    /// Time that it took, seconds: virtual in the laboratory.
    pub virtual_s: f64,
    /// Results of each actor, workload by workload.
    pub actors: Vec<ActorResult>,
    /// Figures of the run.
    pub figures: Figures,
    /// Results of each direction of each access, where there are several accesses; those of the
    /// only access's way down are among `figures`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ways: Vec<DirectionResult>,
}

/// Results of one direction of an access.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DirectionResult {
    /// Its name: the access and, behind a dot, the direction.
    pub name: String,
    /// Its figures.
    pub figures: Figures,
}

impl RunResult {
    /// A figure of the run; `None` if it was not measured.
    pub fn value(&self, metric: &str) -> Option<f64> {
        self.figures.value(metric)
    }

    /// The actors of a workload, in the order of the scenario.
    pub fn of<'a>(&'a self, workload: &'a str) -> impl Iterator<Item = &'a ActorResult> {
        self.actors.iter().filter(move |a| a.workload == workload)
    }

    /// The mean of a figure over the actors of a workload, without those that are parts of others;
    /// `None` if one of them has none, or there are no actors.
    pub fn mean_of(&self, workload: &str, metric: &str) -> Option<f64> {
        let actors = self.of(workload).filter(|actor| !actor.part);
        let all: Option<Vec<f64>> = actors.map(|actor| actor.value(metric)).collect();
        airlane_quality::stats::mean(&all?)
    }

    /// Actors that ended early, by their names for people, with the reason.
    pub fn failures(&self) -> impl Iterator<Item = (&str, &str)> {
        self.actors.iter().filter_map(|a| Some((a.shown(), a.failure.as_deref()?)))
    }

    /// The first figure that is no finite number, as `metric of actor`: a fault of ours.
    pub fn not_finite(&self) -> Option<String> {
        let of_run = self.figures.iter().map(|f| (f, "the run"));
        let of_actors =
            self.actors.iter().flat_map(|a| a.figures.iter().map(move |f| (f, a.name.as_str())));
        let of_ways =
            self.ways.iter().flat_map(|w| w.figures.iter().map(move |f| (f, w.name.as_str())));
        let wrong = of_run.chain(of_actors).chain(of_ways).find(|(f, _)| !f.2.is_finite());
        wrong.map(|(f, who)| format!("{} of {who}", f.0))
    }
}
