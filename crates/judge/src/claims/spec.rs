//! The schema of `claims/SYSTEM.toml`, version 3.

use std::collections::BTreeMap;

use serde::ser::{SerializeStructVariant, Serializer};
use serde::{Deserialize, Serialize};
use toml::Table;

use super::chart::Chart;
use super::statistic::Statistic;
use super::table::TableSpec;
use super::unit::ClaimUnit;
use crate::Registry;
use crate::summary::PaperValue;

/// The version of the schema that is read.
pub const SCHEMA: u32 = 3;

/// The claims of one system.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClaimSet {
    /// The workloads that its scenes may have.
    #[serde(skip)]
    pub registry: Registry,
    /// Version of the schema.
    pub schema: u32,
    /// The system's name.
    pub system: String,
    /// The seed that mixes, offsets and seeds of runs are split from, by name.
    pub seed: u64,
    /// Keys of a scenario that hold for every claim.
    #[serde(default)]
    pub scenario: Table,
    /// Keys of a scenario that quick runs change in every claim, as a shorter `duration_s`.
    #[serde(default)]
    pub quick_scenario: Table,
    /// The schemes that claims compare, by name: entries of a scenario's list `scheme`.
    #[serde(default)]
    pub schemes: BTreeMap<String, Table>,
    /// Variants of a scene, by name: what each changes.
    #[serde(default)]
    pub variants: BTreeMap<String, Patch>,
    /// The claims, in order.
    #[serde(rename = "claim")]
    pub claims: Vec<Claim>,
    /// Claims with what quick runs have of them, in the order of `claims`.
    #[serde(skip)]
    pub(super) quick_claims: Vec<Claim>,
    /// Tables in the system's page of documentation, beside that of the claims.
    #[serde(default, rename = "table")]
    pub tables: Vec<TableSpec>,
}

/// Changes to a scene.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Patch {
    /// Keys of the scenario.
    #[serde(default)]
    pub scenario: Table,
    /// Keys of schemes, by name; schemes that a claim does not compare are ignored.
    #[serde(default)]
    pub schemes: BTreeMap<String, Table>,
}

/// One claim.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Its id, such as `minerva.fig9.10`.
    pub id: String,
    /// Place where the paper states it.
    pub source: String,
    /// Statement that is claimed, in one sentence.
    pub statement: String,
    /// The published figure.
    pub paper: Paper,
    /// The unit in which its figures are told.
    pub unit: ClaimUnit,
    /// Description in words of the statistic that is judged.
    pub statistic: String,
    /// The rule in words.
    pub rule_text: String,
    /// The rule.
    pub rule: Rule,
    /// The scheme that is judged, then what it is compared with.
    pub compare: Vec<String>,
    /// The stream of mixes that it draws from.
    pub mixes: String,
    /// The measure of a workload that computes its figures without runs; `None`: figures of runs.
    #[serde(default)]
    pub measure: Option<String>,
    /// Keys that the claim changes in the set's scenario.
    #[serde(default)]
    pub scenario: Table,
    /// Keys that it changes in schemes that it compares, by name.
    #[serde(default)]
    pub schemes: BTreeMap<String, Table>,
    /// Names of the variants that it is measured in; empty: its scene without a variant.
    #[serde(default)]
    pub cells: Vec<String>,
    /// Sharing of draws between its cells.
    #[serde(default)]
    pub draws: Draws,
    /// The number of draws and seeds.
    pub full: Size,
    /// Draws and seeds with `--quick`.
    pub quick: Size,
    /// Keys of the scenario that quick runs of this claim change, after those of the set.
    #[serde(default)]
    pub quick_scenario: Table,
    /// Schemes of `compare` that quick runs have, the judged one first; empty: all.
    #[serde(default)]
    pub quick_compare: Vec<String>,
    /// Cells that quick runs have; empty: all.
    #[serde(default)]
    pub quick_cells: Vec<String>,
    /// Figures that are shown with it and do not affect its verdict: statistics of metrics, and
    /// names of variants.
    #[serde(default)]
    pub beside: Vec<String>,
    /// A chart of all schemes that it compares.
    #[serde(default)]
    pub chart: Option<Chart>,
    /// Changes to the claim on real content.
    #[serde(default)]
    pub real: RealContentPatch,
    /// Rules that this one replaced.
    #[serde(default)]
    pub superseded: Vec<SupersededRule>,
    /// Verdicts of before 2026-11-24 with their figures, by content: on other draws, by the rule of
    /// that day (the last of `superseded`, else this one), and with an interval over rows instead
    /// of draws.
    #[serde(default)]
    pub before: BTreeMap<String, String>,
}

/// Sharing of draws between the cells of a claim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Draws {
    /// All cells are measured on the same draws: a draw's figures in all cells are one cluster.
    #[default]
    Shared,
    /// Each cell has draws of its own: cells are strata.
    Own,
}

/// Changes to a claim on real content.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RealContentPatch {
    /// Keys of the scenario.
    #[serde(default)]
    pub scenario: Table,
    /// Keys of schemes, by name.
    #[serde(default)]
    pub schemes: BTreeMap<String, Table>,
    /// True if there is no verdict on real content.
    #[serde(default)]
    pub reported: bool,
    /// Reason for which there is no verdict there.
    #[serde(default)]
    pub why: String,
}

/// A rule that was replaced.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SupersededRule {
    /// The rule in words.
    pub rule_text: String,
    /// Reason for which it was replaced.
    pub reason: String,
    /// Date of its replacement: year, month and day; empty if unknown.
    #[serde(default)]
    pub date: String,
}

/// A published figure.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Paper {
    /// A number in the claim's unit.
    Value(f64),
    /// From, to.
    Range([f64; 2]),
    /// Words.
    Text(String),
}

impl From<Paper> for PaperValue {
    fn from(paper: Paper) -> Self {
        match paper {
            Paper::Value(v) => Self::Value(v),
            Paper::Range(r) => Self::Range(r),
            Paper::Text(t) => Self::Text(t),
        }
    }
}

/// The number of draws and seeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Size {
    /// Independent draws, in each cell.
    pub pairs: usize,
    /// Seeds per draw.
    pub seeds: usize,
}

/// A rule as it is computed.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Rule {
    /// The statistic is at least the bound.
    Above {
        /// The statistic.
        of: Statistic,
        /// The bound.
        bound: f64,
    },
    /// The statistic is at most the bound.
    Below {
        /// The statistic.
        of: Statistic,
        /// The bound.
        bound: f64,
    },
    /// The statistic is between two bounds.
    Within {
        /// The statistic.
        of: Statistic,
        /// Least.
        low: f64,
        /// Most.
        high: f64,
    },
    /// The statistic has the paper's sign and at least half of its size.
    HalfOfPaper {
        /// The statistic.
        of: Statistic,
        /// The paper's figure, in the unit of the metric.
        paper: f64,
    },
    /// The share of draws with `metric` is at least `factor` times that with `reference`.
    ShareOfReference {
        /// 0 or 1 per draw and seed.
        metric: String,
        /// The same of what it is compared with.
        reference: String,
        /// The fraction of the reference that is required.
        factor: f64,
        /// With a reference below this there is no verdict: the case is saturated.
        saturated_below: f64,
    },
    /// All of several rules; the first has the headline figure.
    All {
        /// The rules.
        of: Vec<Rule>,
    },
    /// At least one of several rules with bounds; the first has the headline figure. It fails only
    /// where all fail: so "not worse in both figures" is judged (an intersection-union test), and
    /// not by the mean of the better one. Intervals are so wide that all of them hold their truths
    /// together in 95 of 100 cases.
    Either {
        /// The rules.
        of: Vec<Rule>,
    },
    /// No verdict.
    Reported {
        /// The headline figure.
        of: Statistic,
    },
}

/// As its variants are, and not as the schema of claims has it: for its identity.
impl Serialize for Rule {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let variant = |n, name, fields| to.serialize_struct_variant("Rule", n, name, fields);
        match self {
            Self::Above { of, bound } => {
                let mut fields = variant(0, "Above", 2)?;
                fields.serialize_field("of", of)?;
                fields.serialize_field("bound", bound)?;
                fields.end()
            }
            Self::Below { of, bound } => {
                let mut fields = variant(1, "Below", 2)?;
                fields.serialize_field("of", of)?;
                fields.serialize_field("bound", bound)?;
                fields.end()
            }
            Self::Within { of, low, high } => {
                let mut fields = variant(2, "Within", 3)?;
                fields.serialize_field("of", of)?;
                fields.serialize_field("low", low)?;
                fields.serialize_field("high", high)?;
                fields.end()
            }
            Self::HalfOfPaper { of, paper } => {
                let mut fields = variant(3, "HalfOfPaper", 2)?;
                fields.serialize_field("of", of)?;
                fields.serialize_field("paper", paper)?;
                fields.end()
            }
            Self::ShareOfReference { metric, reference, factor, saturated_below } => {
                let mut fields = variant(4, "ShareOfReference", 4)?;
                fields.serialize_field("metric", metric)?;
                fields.serialize_field("reference", reference)?;
                fields.serialize_field("factor", factor)?;
                fields.serialize_field("saturated_below", saturated_below)?;
                fields.end()
            }
            Self::All { of } => {
                let mut fields = variant(5, "All", 1)?;
                fields.serialize_field("of", of)?;
                fields.end()
            }
            Self::Reported { of } => {
                let mut fields = variant(6, "Reported", 1)?;
                fields.serialize_field("of", of)?;
                fields.end()
            }
            Self::Either { of } => {
                let mut fields = variant(7, "Either", 1)?;
                fields.serialize_field("of", of)?;
                fields.end()
            }
        }
    }
}

impl Rule {
    /// The statistics that it uses, the headline first.
    pub fn statistics(&self) -> Vec<Statistic> {
        match self {
            Self::Above { of, .. }
            | Self::Below { of, .. }
            | Self::Within { of, .. }
            | Self::HalfOfPaper { of, .. }
            | Self::Reported { of } => vec![of.clone()],
            Self::ShareOfReference { metric, reference, .. } => {
                [metric, reference].map(|m| Statistic::Share(m.clone())).to_vec()
            }
            Self::All { of } | Self::Either { of } => {
                of.iter().flat_map(Self::statistics).collect()
            }
        }
    }

    /// Checks its numbers. The error has what was found and what was expected.
    pub(super) fn check(&self) -> Result<(), (String, &'static str)> {
        match self {
            Self::Above { bound, .. } | Self::Below { bound, .. } => finite(*bound, "a bound"),
            Self::Within { low, high, .. } if low > high => {
                Err((format!("bounds of {low} and {high}"), "expected them to rise"))
            }
            Self::Within { low, high, .. } => finite(*low, "a bound").and(finite(*high, "a bound")),
            Self::HalfOfPaper { paper, .. } if *paper == 0.0 => {
                Err(("a paper's figure of 0".to_owned(), "expected one with a sign"))
            }
            Self::HalfOfPaper { paper, .. } => finite(*paper, "a paper's figure"),
            Self::ShareOfReference { factor, saturated_below, .. } => {
                finite(*factor, "a factor").and(finite(*saturated_below, "a share"))
            }
            Self::All { of } | Self::Either { of } if of.is_empty() => {
                Err(("no rule".to_owned(), "expected at least one"))
            }
            Self::Either { of } => of.iter().try_for_each(|rule| match rule {
                Self::Above { of, .. } | Self::Below { of, .. } if of.is_resampled() => {
                    rule.check()
                }
                _ => Err((
                    "a rule within either that has no simultaneous interval".to_owned(),
                    "expected above or below, of a mean, a difference or a ratio",
                )),
            }),
            Self::All { of } => of.iter().try_for_each(|rule| match rule {
                Self::All { .. } => Err(("all within all".to_owned(), "expected a plain rule")),
                rule => rule.check(),
            }),
            Self::Reported { .. } => Ok(()),
        }
    }
}

fn finite(x: f64, what: &str) -> Result<(), (String, &'static str)> {
    if x.is_finite() { Ok(()) } else { Err((format!("{what} of {x}"), "expected a number")) }
}
