//! A bar: what is asked of Airlane, and whether what was measured is enough.

use std::path::PathBuf;

use airlane_sim::LabError;
use serde::Deserialize;

/// Setting in which the bars are measured.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    /// Few rounds and short runs: for a look, not for the record.
    pub(crate) quick: bool,
    /// Rounds of each measurement; `None`: as many as it has by itself.
    pub(crate) rounds: Option<usize>,
    /// The project's folder.
    pub(crate) root: PathBuf,
    /// The shared data.
    pub(crate) data: PathBuf,
}

impl Setting {
    /// Rounds of a measurement that has `full` by itself, and one if it is for a look.
    pub(crate) fn rounds(&self, full: usize) -> usize {
        self.rounds.unwrap_or(if self.quick { 1 } else { full })
    }
}

/// A subject of the bench; it yields one figure or several.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bar {
    /// Its name; the names of its figures begin with it.
    pub(crate) name: &'static str,
    /// Quantity that it measures, for people.
    pub(crate) about: &'static str,
    /// Measures it.
    pub(crate) measure: fn(&Setting) -> Result<Vec<Figure>, Problem>,
}

/// Reason for which there is no figure.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Problem {
    /// Something that it needs is not there: what, and what to do.
    #[error("skipped: {0}")]
    Skipped(String),
    /// It broke.
    #[error("broke: {0}")]
    Broke(String),
}

impl From<LabError> for Problem {
    fn from(error: LabError) -> Self {
        Self::Broke(error.to_string())
    }
}

/// One measured figure.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Figure {
    /// Its name, such as `speed.tls`.
    pub(crate) bar: String,
    /// Value that Airlane reaches.
    pub(crate) ours: f64,
    /// Value that the peer reaches, if there is one.
    pub(crate) peer: Option<f64>,
    /// Unit of both.
    pub(crate) unit: &'static str,
    /// Rule that the figure must meet.
    pub(crate) rule: Rule,
    /// Note on the measurement, and on its other results.
    pub(crate) note: String,
}

/// Rule that a figure must meet.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Rule {
    /// Ours at least this.
    AtLeast(f64),
    /// Ours above this.
    Above(f64),
    /// Ours at most this.
    AtMost(f64),
    /// Ours at least so many times the peer's.
    TimesPeer(f64),
    /// Ours off the peer's by at most this share.
    WithinOfPeer(f64),
    /// Nothing: the figure is there to be seen.
    Reported,
}

/// [`Rule::Reported`] in words.
pub(crate) const REPORTED: &str = "reported";

impl Rule {
    /// The rule in words.
    pub(crate) fn words(self) -> String {
        match self {
            Self::AtLeast(x) => format!("at least {x}"),
            Self::Above(x) => format!("above {x}"),
            Self::AtMost(x) => format!("at most {x}"),
            Self::TimesPeer(x) => format!("at least {x} x peer"),
            Self::WithinOfPeer(x) => format!("within {} % of peer", x * 100.0),
            Self::Reported => REPORTED.to_owned(),
        }
    }
}

impl Figure {
    /// Ours over the peer's, or over what is asked where there is no peer.
    pub(crate) fn ratio(&self) -> Option<f64> {
        let base = match (self.peer, self.rule) {
            (Some(peer), _) => peer,
            (None, Rule::AtLeast(x) | Rule::Above(x) | Rule::AtMost(x)) => x,
            (None, Rule::TimesPeer(_) | Rule::WithinOfPeer(_) | Rule::Reported) => return None,
        };
        Some(self.ours / base).filter(|r| r.is_finite())
    }

    /// True if the bar holds; `None` if its peer is missing or nothing is asked.
    pub(crate) fn holds(&self) -> Option<bool> {
        match self.rule {
            Rule::AtLeast(x) => Some(self.ours >= x),
            Rule::Above(x) => Some(self.ours > x),
            Rule::AtMost(x) => Some(self.ours <= x),
            Rule::TimesPeer(x) => self.peer.map(|peer| self.ours >= x * peer),
            Rule::WithinOfPeer(x) => self.peer.map(|peer| (self.ours - peer).abs() <= x * peer),
            Rule::Reported => None,
        }
    }
}

/// The middle value; NaN of none.
pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let values: Vec<f64> = values.into_iter().collect();
    airlane_quality::stats::median(&values).unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(ours: f64, peer: Option<f64>, rule: Rule) -> Figure {
        Figure { bar: "x".into(), ours, peer, unit: "", rule, note: String::new() }
    }

    #[test]
    fn rules_hold_on_the_good_side_and_miss_on_the_other() {
        for (ours, peer, rule, holds) in [
            (5.0, None, Rule::AtLeast(5.0), Some(true)),
            (4.9, None, Rule::AtLeast(5.0), Some(false)),
            (0.1, None, Rule::Above(0.0), Some(true)),
            (0.0, None, Rule::Above(0.0), Some(false)),
            (5.0, None, Rule::AtMost(5.0), Some(true)),
            (5.1, None, Rule::AtMost(5.0), Some(false)),
            (f64::NAN, None, Rule::AtMost(5.0), Some(false)),
            (9.0, Some(2.0), Rule::TimesPeer(4.5), Some(true)),
            (8.9, Some(2.0), Rule::TimesPeer(4.5), Some(false)),
            (8.9, None, Rule::TimesPeer(4.5), None),
            (110.0, Some(100.0), Rule::WithinOfPeer(0.1), Some(true)),
            (89.0, Some(100.0), Rule::WithinOfPeer(0.1), Some(false)),
            (89.0, Some(100.0), Rule::Reported, None),
        ] {
            assert_eq!(figure(ours, peer, rule).holds(), holds, "{ours} {peer:?} {rule:?}");
        }
    }

    #[test]
    fn a_ratio_is_to_the_peer_or_else_to_what_is_asked() {
        assert_eq!(figure(9.0, Some(2.0), Rule::AtLeast(3.0)).ratio(), Some(4.5));
        assert_eq!(figure(9.0, None, Rule::AtLeast(3.0)).ratio(), Some(3.0));
        assert_eq!(figure(9.0, None, Rule::AtMost(0.0)).ratio(), None);
        assert_eq!(figure(9.0, None, Rule::TimesPeer(3.0)).ratio(), None);
    }

    #[test]
    fn the_median_is_the_middle() {
        assert_eq!(median([3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median([4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median([]).is_nan());
    }
}
