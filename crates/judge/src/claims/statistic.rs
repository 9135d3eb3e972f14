//! Statistics over the draws of a claim, written as in `claims/SYSTEM.toml`.

use std::fmt;

use airlane_quality::stats::{mean, quantile};
use serde::{Deserialize, Serialize};

use super::samples::cell_of;

/// A statistic over draws: `x`, `share(x)`, `median(x)`, `lower(x)`, `upper(x)`, `x - y`,
/// `sum(x / y)` or `sum(x / y) - 1`, where `x` and `y` are metrics, with `@CELL` behind them or
/// not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub enum Statistic {
    /// The mean over draws.
    Mean(String),
    /// The mean of a metric that is yes (1) or no (0): a share.
    Share(String),
    /// A quantile over draws, from 0 to 1.
    Quantile(String, f64),
    /// The mean over draws of the first less the second.
    Difference(String, String),
    /// The sum of the first over the sum of the second.
    Ratio(String, String),
    /// The same less one.
    Change(String, String),
}

impl Statistic {
    /// The metrics that it is of.
    pub fn metrics(&self) -> Vec<&str> {
        match self {
            Self::Mean(x) | Self::Share(x) | Self::Quantile(x, _) => vec![x],
            Self::Difference(x, y) | Self::Ratio(x, y) | Self::Change(x, y) => vec![x, y],
        }
    }

    /// The same within one cell: without the cell's name. `None` if it compares cells.
    pub fn within_cell(&self) -> Option<Self> {
        let parted = |metric: &str| -> (String, String) {
            let (name, cell) = metric.split_once('@').unwrap_or((metric, ""));
            (name.to_owned(), cell.to_owned())
        };
        let of_two = |x: &str, y: &str| {
            let [(x, of_x), (y, of_y)] = [parted(x), parted(y)];
            (of_x == of_y).then_some((x, y))
        };
        Some(match self {
            Self::Mean(x) => Self::Mean(parted(x).0),
            Self::Share(x) => Self::Share(parted(x).0),
            Self::Quantile(x, q) => Self::Quantile(parted(x).0, *q),
            Self::Difference(x, y) => of_two(x, y).map(|(x, y)| Self::Difference(x, y))?,
            Self::Ratio(x, y) => of_two(x, y).map(|(x, y)| Self::Ratio(x, y))?,
            Self::Change(x, y) => of_two(x, y).map(|(x, y)| Self::Change(x, y))?,
        })
    }

    /// The same of scheme `name` instead of the one that is judged: of `METRIC_of_NAME`, in the same
    /// cell. `None` if it is of two metrics.
    pub fn of_scheme(&self, name: &str) -> Option<Self> {
        let metric = |metric: &str| match metric.split_once('@') {
            Some((metric, cell)) => format!("{metric}_of_{name}@{cell}"),
            None => format!("{metric}_of_{name}"),
        };
        match self {
            Self::Mean(x) => Some(Self::Mean(metric(x))),
            Self::Share(x) => Some(Self::Share(metric(x))),
            Self::Quantile(x, q) => Some(Self::Quantile(metric(x), *q)),
            Self::Difference(..) | Self::Ratio(..) | Self::Change(..) => None,
        }
    }

    /// True if its interval comes from resampling, of which there are simultaneous ones.
    pub(super) fn is_resampled(&self) -> bool {
        !matches!(self, Self::Share(_) | Self::Quantile(..))
    }

    /// True if it names a cell.
    pub fn names_a_cell(&self) -> bool {
        self.metrics().into_iter().any(|m| cell_of(m).is_some())
    }

    /// Its value on pairs of figures, of each metric one; a metric alone stands in the first place.
    pub(super) fn of(&self, pairs: impl Iterator<Item = [f64; 2]> + Clone) -> f64 {
        let first = || pairs.clone().map(|p| p[0]);
        let ratio = || first().sum::<f64>() / pairs.clone().map(|p| p[1]).sum::<f64>();
        match self {
            Self::Mean(_) | Self::Share(_) => {
                mean(&first().collect::<Vec<_>>()).unwrap_or(f64::NAN)
            }
            Self::Quantile(_, q) => quantile(&first().collect::<Vec<_>>(), *q).unwrap_or(f64::NAN),
            Self::Difference(..) => {
                let all: Vec<f64> = pairs.map(|[x, y]| x - y).collect();
                mean(&all).unwrap_or(f64::NAN)
            }
            Self::Ratio(..) => ratio(),
            Self::Change(..) => ratio() - 1.0,
        }
    }
}

impl fmt::Display for Statistic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mean(x) => f.write_str(x),
            Self::Share(x) => write!(f, "share({x})"),
            Self::Quantile(x, q) => match QUARTILES.iter().find(|(_, known)| known == q) {
                Some((name, _)) => write!(f, "{name}({x})"),
                None => write!(f, "quantile {q} of {x}"),
            },
            Self::Difference(x, y) => write!(f, "{x} - {y}"),
            Self::Ratio(x, y) => write!(f, "sum({x} / {y})"),
            Self::Change(x, y) => write!(f, "sum({x} / {y}) - 1"),
        }
    }
}

const QUARTILES: [(&str, f64); 3] = [("lower", 0.25), ("median", 0.5), ("upper", 0.75)];

impl TryFrom<String> for Statistic {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let bad = || format!("\"{text}\" is no statistic");
        let metric = |name: &str| {
            let name = name.trim();
            let known = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '@';
            let fits = !name.is_empty() && name.chars().all(known);
            if fits { Ok(name.to_owned()) } else { Err(bad()) }
        };
        if let Some(rest) = text.strip_prefix("sum(") {
            let (inner, tail) = rest.split_once(')').ok_or_else(bad)?;
            let (x, y) = inner.split_once('/').ok_or_else(bad)?;
            return match tail.trim() {
                "" => Ok(Self::Ratio(metric(x)?, metric(y)?)),
                "- 1" => Ok(Self::Change(metric(x)?, metric(y)?)),
                _ => Err(bad()),
            };
        }
        let share = text.strip_prefix("share(").and_then(|r| r.strip_suffix(')'));
        if let Some(inner) = share {
            return Ok(Self::Share(metric(inner)?));
        }
        for (name, q) in QUARTILES {
            let inner = text.strip_prefix(name).and_then(|r| r.strip_prefix('('));
            if let Some(inner) = inner.and_then(|r| r.strip_suffix(')')) {
                return Ok(Self::Quantile(metric(inner)?, q));
            }
        }
        match text.split_once(" - ") {
            Some((x, y)) => Ok(Self::Difference(metric(x)?, metric(y)?)),
            None => Ok(Self::Mean(metric(&text)?)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> f64 {
        let s = Statistic::try_from(text.to_owned()).unwrap();
        assert_eq!(s.to_string(), text, "reads as it is written");
        s.of([[1.0, 2.0], [2.0, 2.0], [6.0, 4.0]].into_iter())
    }

    #[test]
    fn statistics_are_what_they_say() {
        assert_eq!(value("a"), 3.0);
        assert_eq!((value("median(a@x)"), value("share(a)")), (2.0, 3.0));
        assert_eq!((value("lower(a)"), value("upper(a)")), (1.5, 4.0));
        assert!((value("a@x - a@y") - 1.0 / 3.0).abs() < 1e-12);
        assert_eq!((value("sum(a / b)"), value("sum(a / b) - 1")), (9.0 / 8.0, 1.0 / 8.0));
    }

    #[test]
    fn within_a_cell_there_is_no_cell() {
        let within = |text: &str| {
            let s = Statistic::try_from(text.to_owned()).unwrap();
            s.within_cell().map(|s| s.to_string())
        };
        assert_eq!(within("a@x").as_deref(), Some("a"));
        assert_eq!(within("upper(a@x)").as_deref(), Some("upper(a)"));
        assert_eq!(within("sum(a@x / b@x) - 1").as_deref(), Some("sum(a / b) - 1"));
        assert_eq!(within("a - b").as_deref(), Some("a - b"));
        assert_eq!((within("a@x - a@y"), within("sum(a@x / b)")), (None, None));
    }

    #[test]
    fn of_another_scheme_it_is_of_its_metric() {
        let of = |text: &str| {
            let s = Statistic::try_from(text.to_owned()).unwrap();
            s.of_scheme("bbr").map(|s| s.to_string())
        };
        assert_eq!(of("a").as_deref(), Some("a_of_bbr"));
        assert_eq!(of("median(a@x)").as_deref(), Some("median(a_of_bbr@x)"));
        assert_eq!((of("a - b"), of("sum(a / b)")), (None, None));
    }

    #[test]
    fn what_is_none_is_refused() {
        for text in ["", "a b", "median()", "sum(a)", "sum(a / b) - 2", "mode(a)", "a - "] {
            let e = Statistic::try_from(text.to_owned()).unwrap_err();
            assert!(e.contains("is no statistic"), "{text}: {e}");
        }
    }
}
