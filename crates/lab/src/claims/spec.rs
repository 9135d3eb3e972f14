//! The schema of `claims/SYSTEM.toml`, version 1.

use serde::Deserialize;

use crate::summary::PaperValue;

/// The version of the schema that is read.
pub const SCHEMA: u32 = 1;

/// The claims of one system.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClaimSet {
    /// Version of the schema.
    pub schema: u32,
    /// The system's name.
    pub system: String,
    /// Split by name into mixes, offsets and the runs' own seeds.
    pub seed: u64,
    /// What holds wherever a claim does not say otherwise; [`Claim::scene`] has it merged in.
    #[serde(default)]
    pub defaults: Defaults,
    /// The claims, in order.
    #[serde(rename = "claim")]
    pub claims: Vec<Claim>,
}

/// What holds wherever a claim does not say otherwise.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Defaults {
    /// The scene.
    #[serde(default)]
    pub scene: Scene,
}

/// One claim.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Its id, such as `minerva.fig9.10`.
    pub id: String,
    /// Where the paper states it.
    pub source: String,
    /// What is claimed, in one sentence.
    pub statement: String,
    /// The published figure.
    pub paper: Paper,
    /// Unit of the statistic.
    pub unit: String,
    /// How the judged figure is computed, in words.
    pub statistic: String,
    /// The headline metric.
    pub metric: String,
    /// The rule in words.
    pub rule_text: String,
    /// The rule.
    pub rule: Rule,
    /// The stream of mixes that it draws from.
    pub mixes: String,
    /// Rows printed beside it, without a verdict.
    #[serde(default)]
    pub beside: Vec<String>,
    /// What is run.
    #[serde(default)]
    pub scene: Scene,
    /// How much is run.
    pub full: Size,
    /// How much is run with `--quick`.
    pub quick: Size,
    /// Rules that this one replaced.
    #[serde(default)]
    pub superseded: Vec<Superseded>,
}

/// A rule that was replaced.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Superseded {
    /// The rule in words.
    pub rule_text: String,
    /// Why it was replaced.
    pub reason: String,
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

/// How much is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Size {
    /// Independent pairs.
    pub pairs: usize,
    /// Runs per pair.
    pub seeds: usize,
}

/// What is run. Everything is optional, because a claim says only what differs from the defaults.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scene {
    /// The schemes compared; the second is the baseline.
    pub schemes: Option<Vec<String>>,
    /// Link rate, Mbit/s.
    pub link_mbps: Option<f64>,
    /// Round trip, ms.
    pub rtt_ms: Option<f64>,
    /// Queue in front of the link.
    pub queue: Option<SceneQueue>,
    /// Rate of the way back, Mbit/s.
    pub uplink_mbps: Option<f64>,
    /// UDP payload of a full packet.
    pub payload_bytes: Option<u64>,
    /// Whether the connections look for a larger one.
    pub mtu_discovery: Option<bool>,
    /// Length of a run, s.
    pub duration_s: Option<f64>,
    /// What seals the packets.
    pub cipher: Option<String>,
    /// What chooses the rungs.
    pub abr: Option<String>,
    /// Chunks that it looks ahead.
    pub horizon: Option<usize>,
    /// Most that a player holds, s.
    pub buffer_cap_s: Option<f64>,
    /// Idle time per chunk, s.
    pub chunk_overhead_s: Option<f64>,
    /// Plain connections that a flow of the baseline counts for.
    pub baseline_weight: Option<f64>,
    /// The two columns of content.
    pub content: Option<Vec<String>>,
    /// Which videos are drawn.
    pub content_filter: Option<ContentFilter>,
    /// Viewers, each with a video of its own.
    pub videos: Option<usize>,
    /// When each of them starts, s.
    pub starts_s: Option<Vec<f64>>,
}

/// A queue in a scene.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SceneQueue {
    /// `pie` or `droptail`.
    pub kind: String,
    /// The delay that PIE aims at, ms.
    pub target_ms: Option<f64>,
    /// What it holds, in link rate times 20 ms.
    pub limit_bdp: f64,
    /// Whether it marks instead of dropping.
    #[serde(default)]
    pub ecn: bool,
}

/// Which videos are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContentFilter {
    /// Those of at least so many chunks.
    pub min_chunks: usize,
}

impl Scene {
    /// This scene where it says something, `defaults` where it does not.
    pub(super) fn over(&self, defaults: &Self) -> Self {
        macro_rules! merge {
            ($($field:ident),+) => {
                Self { $($field: self.$field.clone().or_else(|| defaults.$field.clone())),+ }
            };
        }
        merge!(
            schemes,
            link_mbps,
            rtt_ms,
            queue,
            uplink_mbps,
            payload_bytes,
            mtu_discovery,
            duration_s,
            cipher,
            abr,
            horizon,
            buffer_cap_s,
            chunk_overhead_s,
            baseline_weight,
            content,
            content_filter,
            videos,
            starts_s
        )
    }
}

/// A rule for the machine.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Rule {
    /// The mean over pairs is above the bound.
    MeanAbove {
        /// Of which metric.
        metric: String,
        /// The bound.
        bound: f64,
    },
    /// The mean over pairs is below the bound.
    MeanBelow {
        /// Of which metric.
        metric: String,
        /// The bound.
        bound: f64,
    },
    /// The share of pairs with `metric` is at least `factor` times that with `reference`.
    ShareOfReference {
        /// 0 or 1 per pair, or the mean of that over seeds.
        metric: String,
        /// The same of what it is compared with.
        reference: String,
        /// How much of the reference is asked for.
        factor: f64,
        /// A reference below this leaves nothing to judge.
        saturated_below: f64,
    },
    /// All of several rules; the first has the headline figure.
    All {
        /// The rules.
        of: Vec<Rule>,
    },
    /// No verdict.
    Reported,
}

impl Rule {
    /// What no rule can mean: what was found and what was expected.
    pub(super) fn check(&self) -> Result<(), (String, &'static str)> {
        match self {
            Self::MeanAbove { bound, .. } | Self::MeanBelow { bound, .. } => {
                finite(*bound, "a bound")
            }
            Self::ShareOfReference { factor, saturated_below, .. } => {
                finite(*factor, "a factor").and(finite(*saturated_below, "a share"))
            }
            Self::All { of } if of.is_empty() => {
                Err(("no rule".to_owned(), "expected at least one"))
            }
            Self::All { of } => of.iter().try_for_each(|rule| match rule {
                Self::All { .. } => Err(("all within all".to_owned(), "expected a plain rule")),
                rule => rule.check(),
            }),
            Self::Reported => Ok(()),
        }
    }
}

fn finite(x: f64, what: &str) -> Result<(), (String, &'static str)> {
    if x.is_finite() { Ok(()) } else { Err((format!("{what} of {x}"), "expected a number")) }
}
