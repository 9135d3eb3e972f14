//! The unit of a claim, and the units of the statistics that it is judged by.

use std::collections::BTreeMap;
use std::fmt;

use airlane_sim::workload::{Dimension, Unit};
use serde::Deserialize;

use super::samples::name_of;
use super::statistic::Statistic;

/// The unit in which a claim's figures are told, and what they are of: `"% of mixes"`.
///
/// `"points"` stands for the unit of the content's quality metric, whatever it is.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub struct ClaimUnit {
    /// The unit.
    pub unit: Unit,
    /// Words for people on what the figures are of; empty where the statement says it.
    pub of: String,
}

impl TryFrom<String> for ClaimUnit {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let (symbol, of) = match text.strip_prefix("of ") {
            Some(of) => ("", of),
            None => text.split_once(" of ").unwrap_or((&text, "")),
        };
        let unit = Unit::named(symbol).ok_or_else(|| {
            let symbols: Vec<String> = Unit::symbols().map(|s| format!("\"{s}\"")).collect();
            format!("\"{symbol}\" is no unit; expected one of {}", symbols.join(", "))
        })?;
        Ok(Self { unit, of: of.to_owned() })
    }
}

impl fmt::Display for ClaimUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.unit.symbol(), self.of.as_str()) {
            (symbol, "") => f.write_str(symbol),
            ("", of) => write!(f, "of {of}"),
            (symbol, of) => write!(f, "{symbol} of {of}"),
        }
    }
}

impl ClaimUnit {
    /// In which unit figures of `kept` are told beside figures of this one, and by what they are
    /// multiplied for that.
    pub(super) fn of_figures(&self, kept: Unit) -> (Unit, f64) {
        let own = match kept.in_units_of(self.unit) {
            Some(_) if kept.dimension() != Dimension::Quality => self.unit,
            _ => kept.shown(),
        };
        (own, kept.in_units_of(own).unwrap_or(1.0))
    }

    /// The text beside a headline that is told in `unit`.
    pub(super) fn with(&self, unit: Unit) -> String {
        Self { unit, of: self.of.clone() }.to_string()
    }
}

/// The units of metrics, by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Units(BTreeMap<String, Unit>);

impl FromIterator<(String, Unit)> for Units {
    /// Of several metrics with one name the last counts.
    fn from_iter<T: IntoIterator<Item = (String, Unit)>>(metrics: T) -> Self {
        Self(metrics.into_iter().collect())
    }
}

impl Units {
    /// The unit of a statistic, which is [`Unit::ONE`] for shares and ratios.
    ///
    /// # Errors
    /// If it compares figures of different units, or there is no such metric: what was found.
    pub fn of(&self, statistic: &Statistic) -> Result<Unit, String> {
        let unit = |metric: &str| {
            self.0.get(name_of(metric)).copied().ok_or_else(|| format!("no metric {metric}"))
        };
        let alike = |x: &str, y: &str| match (unit(x)?, unit(y)?) {
            (of_x, of_y) if of_x.in_units_of(of_y) == Some(1.0) => Ok(of_x),
            (of_x, of_y) => Err(format!("{x} in {} and {y} in {}", told(of_x), told(of_y))),
        };
        match statistic {
            Statistic::Mean(x) | Statistic::Quantile(x, _) => unit(x),
            Statistic::Difference(x, y) => alike(x, y),
            Statistic::Share(x) => unit(x).map(|_| Unit::ONE),
            Statistic::Ratio(x, y) | Statistic::Change(x, y) => alike(x, y).map(|_| Unit::ONE),
        }
    }
}

fn told(unit: Unit) -> &'static str {
    match unit.symbol() {
        "" => "no unit",
        symbol => symbol,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(text: &str) -> ClaimUnit {
        ClaimUnit::try_from(text.to_owned()).unwrap()
    }

    #[test]
    fn a_text_names_a_unit_and_what_it_is_of() {
        for text in ["", "% of mixes", "share of the better radio", "of both", "Mbit/s", "dB"] {
            assert_eq!(unit(text).to_string(), text);
        }
        assert_eq!(unit("% of mixes").unit, Unit::PERCENT);
        let e = ClaimUnit::try_from("furlongs of mixes".to_owned()).unwrap_err();
        assert!(e.starts_with("\"furlongs\" is no unit; expected one of \"\", \"%\""), "{e}");
    }

    #[test]
    fn a_figure_is_told_in_the_unit_of_the_claim_or_in_its_own() {
        let shown = |text: &str, kept| unit(text).of_figures(kept);
        assert_eq!(shown("share", Unit::BITS_PER_SECOND), (Unit::MEGABITS_PER_SECOND, 1e-6));
        assert_eq!(shown("Mbit/s", Unit::ONE), (Unit::ONE, 1.0));
        assert_eq!(shown("% of mixes", Unit::ONE), (Unit::PERCENT, 100.0));
        assert_eq!(shown("ms", Unit::SECONDS), (Unit::MILLISECONDS, 1e3));
        let psnr = Unit::quality("dB");
        assert_eq!(shown("points of QoE", psnr), (psnr, 1.0), "as the content has it");
        assert_eq!(unit("points of QoE").with(psnr), "dB of QoE");
    }
}
