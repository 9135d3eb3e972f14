//! Claims: what a paper says, what was measured, and the rule that judges.

use serde::{Deserialize, Serialize};

/// One claim on one content.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Claim {
    /// Id, as in the claims file: `minerva.fig9.10`.
    pub id: String,
    /// Statement that is judged, in a sentence.
    pub statement: String,
    /// Place in the paper that says so: `Minerva, Figure 9`.
    pub source: String,
    /// On which content and traces it was measured: `embedded` or `real`.
    pub content: String,
    /// The paper's figure, as text; empty if it gives none.
    pub paper: String,
    /// The paper's figure, if it is one number in the unit of `measured`.
    pub paper_value: Option<f64>,
    /// Measured value; `None` if the run left the claim out.
    pub measured: Option<f64>,
    /// The 95 % interval, low and high.
    pub ci95: Option<[f64; 2]>,
    /// Unit of `measured`.
    pub unit: String,
    /// Digits after the point.
    pub digits: u8,
    /// Number of independent draws.
    pub n: u64,
    /// The rule, as the claims file has it.
    pub rule: String,
    /// The rule as numbers, to be drawn.
    pub bound: Option<Bound>,
    /// If the rule was changed: the first one and the reason.
    pub rule_before: String,
    /// The outcome.
    pub verdict: Verdict,
    /// Further conditions that belong to the same claim.
    pub also: Vec<Check>,
    /// Reason for the verdict, if the numbers alone do not say.
    pub why: String,
    /// The page with the runs behind it, relative to this one; empty if there is none. A section
    /// of the same report that is titled by the claim's id comes first.
    pub page: String,
}

/// A further condition of a claim.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Check {
    /// Comparison that is made, in a few words.
    pub statement: String,
    /// Measured value; `None` if there is none.
    pub measured: Option<f64>,
    /// The 95 % interval, low and high.
    pub ci95: Option<[f64; 2]>,
    /// Unit of `measured`.
    pub unit: String,
    /// Digits after the point.
    pub digits: u8,
    /// The condition in words.
    pub rule: String,
    /// The condition as numbers, to be drawn; `None` if it is no simple bound.
    pub bound: Option<Bound>,
    /// The outcome of this condition alone.
    pub verdict: Verdict,
}

/// Bound on a measured number.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// At or above.
    AtLeast(f64),
    /// At or below.
    AtMost(f64),
    /// From low to high.
    Within(f64, f64),
}

/// The outcome of a claim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The rule is met.
    Holds,
    /// The rule is not met.
    Fails,
    /// The 95 % interval spans the rule.
    Undecided,
    /// A stop left runs of the claim out.
    NotMeasured,
    /// Shown without a judgement.
    #[default]
    Reported,
}
