//! The part of a result that the seed determines: `summary.json`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use airlane_report::model;
use airlane_sim::{COMMIT, VERSION};
use serde::{Deserialize, Serialize};

/// The version of the layout of `summary.json`.
pub const SCHEMA: u32 = 3;

/// Measured figures and judged claims: the whole content of `summary.json`.
///
/// It holds nothing but what the seeds determine: two runs of the same commit give the same bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Summary {
    /// Version of this file's layout: [`SCHEMA`]. It was not told before 3.
    #[serde(default)]
    pub schema: u32,
    /// Version of Airlane.
    pub airlane: String,
    /// Commit of Airlane.
    pub commit: String,
    /// Name of the scenario, or of the set of claims.
    pub scenario: String,
    /// The seeds of the runs.
    pub seeds: Vec<u64>,
    /// Virtual time of all runs together, seconds.
    pub virtual_s: f64,
    /// One entry per run.
    pub runs: Vec<RunEntry>,
    /// One entry per figure, in the order of the runs.
    pub rows: Vec<Row>,
    /// The claims judged.
    pub claims: Vec<ClaimEntry>,
    /// Number of verdicts, and of those that chance would get wrong; `None` without one.
    #[serde(default)]
    pub judgement: Option<Judgement>,
}

/// Number of verdicts, and of those that chance would get wrong.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Judgement {
    /// Claims with a verdict by an interval.
    pub claims: u64,
    /// Conditions that these are made of, those of cells included.
    pub conditions: u64,
    /// False outcomes to expect, were the truth of every condition exactly at its bound:
    /// [`FALSE_RATE`] per condition.
    pub expected_false: f64,
}

/// Nominal probability that the whole of a 95 % interval is on one given side of what it estimates.
pub const FALSE_RATE: f64 = 0.025;

/// A run that finished.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunEntry {
    /// The experiment: the scenario's name or the claim's.
    pub experiment: String,
    /// The case within the experiment.
    pub case: String,
    /// The scheme.
    pub scheme: String,
    /// The seed.
    pub seed: u64,
    /// Hash over every packet's (time, hop, flow, addresses, size, ECN, fate, clear header), 16
    /// hexadecimal digits; none of what was measured elsewhere than in the laboratory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packet_hash: Option<String>,
}

/// One figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// The experiment: the scenario's name or the claim's.
    pub experiment: String,
    /// The case within the experiment, with the viewer or flow behind a `/` if the figure is of
    /// one.
    pub case: String,
    /// The scheme.
    pub scheme: String,
    /// The seed.
    pub seed: u64,
    /// Name of the metric.
    pub metric: String,
    /// Its unit; empty for counts and shares.
    pub unit: String,
    /// Value; a finite number.
    pub value: f64,
}

/// A claim and its verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClaimEntry {
    /// Its id, such as `minerva.fig9.10`.
    pub id: String,
    /// Content that it was judged on: `embedded` or the folder's name.
    pub content: String,
    /// Place where the paper states it.
    pub source: String,
    /// Statement that is claimed.
    pub statement: String,
    /// The published figure.
    pub paper: PaperValue,
    /// The measured figure; `None` if nothing was measured.
    pub measured: Option<f64>,
    /// Unit of both.
    pub unit: String,
    /// Independent draws.
    pub n: u64,
    /// 95 % interval of `measured`; `None` below ten draws.
    pub ci95: Option<[f64; 2]>,
    /// The rule in words.
    pub rule: String,
    /// Verdict of the rule on the measured figures.
    pub verdict: Verdict,
    /// Reason for the verdict, where the figures do not say it by themselves; else empty.
    pub reason: String,
    /// The stream that its draws are from; its name changes with rule, n and defaults.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stream: String,
    /// The conditions that the rule is made of, each followed by the same in every cell.
    pub checks: Vec<CheckEntry>,
    /// The figures of its chart, a row per scheme; none without a chart.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub chart: Vec<ChartRow>,
    /// Statistics of each draw, by name, for tables of draws; none without such a table.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub draws: Vec<BTreeMap<String, f64>>,
}

/// The figures of one scheme in the chart of a claim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChartRow {
    /// The scheme.
    pub scheme: String,
    /// Its figures: those of the axes, then those beside them.
    pub figures: Vec<ChartFigure>,
}

/// A figure of a scheme in a chart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChartFigure {
    /// The statistic, as the claim names it for the scheme that is judged.
    pub of: String,
    /// Its value; `None` if it was not measured.
    pub value: Option<f64>,
    /// Its 95 % interval; `None` below ten draws.
    pub ci95: Option<[f64; 2]>,
}

/// One condition of a claim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckEntry {
    /// Name of the statistic that is compared.
    pub metric: String,
    /// The unit of its figures; empty for counts, shares and ratios.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unit: String,
    /// The cell that it is of; empty over all cells.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cell: String,
    /// True if it is the condition in the worst of the cells.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub worst: bool,
    /// The condition in words.
    pub rule: String,
    /// Bound that it is compared with.
    pub bound: f64,
    /// True if the good side is above the bound.
    pub above: bool,
    /// The measured figure.
    pub measured: Option<f64>,
    /// Its 95 % interval.
    pub ci95: Option<[f64; 2]>,
    /// Independent draws.
    pub n: u64,
    /// The outcome of this condition alone.
    pub verdict: Verdict,
}

/// A published figure: a number, a range or words.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum PaperValue {
    /// A number.
    Value(f64),
    /// From, to.
    Range([f64; 2]),
    /// Words.
    Text(String),
}

/// Verdict of a rule on the measured figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The whole interval is on the good side.
    Holds,
    /// The whole interval is on the other side, or there is no figure.
    Fails,
    /// The interval spans the rule.
    Undecided,
    /// A stop left runs of the claim out.
    NotMeasured,
    /// Shown without a judgement.
    Reported,
}

impl Verdict {
    /// The word in tables and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Fails => "fails",
            Self::Undecided => "undecided",
            Self::NotMeasured => "not measured",
            Self::Reported => "reported",
        }
    }

    /// The verdict on a page.
    pub const fn shown(self) -> model::Verdict {
        match self {
            Self::Holds => model::Verdict::Holds,
            Self::Fails => model::Verdict::Fails,
            Self::Undecided => model::Verdict::Undecided,
            Self::NotMeasured => model::Verdict::NotMeasured,
            Self::Reported => model::Verdict::Reported,
        }
    }
}

/// A figure that is no number: a fault of ours, not of the input.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} is no finite number")]
pub struct NotFinite(String);

impl Summary {
    /// A summary of this build without results.
    pub fn new(scenario: impl Into<String>, seeds: Vec<u64>) -> Self {
        Self {
            schema: SCHEMA,
            airlane: VERSION.to_owned(),
            commit: COMMIT.to_owned(),
            scenario: scenario.into(),
            seeds,
            virtual_s: 0.0,
            runs: Vec::new(),
            rows: Vec::new(),
            claims: Vec::new(),
            judgement: None,
        }
    }

    /// Several as one, in the given order, under a name of its own.
    pub fn joined(name: impl Into<String>, parts: Vec<Self>) -> Self {
        let mut all = Self::new(name, Vec::new());
        for part in parts {
            all.virtual_s += part.virtual_s;
            all.runs.extend(part.runs);
            all.rows.extend(part.rows);
            all.claims.extend(part.claims);
            for seed in part.seeds {
                if !all.seeds.contains(&seed) {
                    all.seeds.push(seed);
                }
            }
        }
        all.count_verdicts();
        all
    }

    /// Counts the verdicts of the claims.
    pub fn count_verdicts(&mut self) {
        let by_interval = |c: &CheckEntry| c.ci95.is_some() && c.verdict != Verdict::Reported;
        let judged = self.claims.iter().filter(|c| c.verdict != Verdict::Reported);
        let conditions: Vec<usize> = judged
            .map(|c| c.checks.iter().filter(|c| by_interval(c)).count())
            .filter(|n| *n > 0)
            .collect();
        let all: usize = conditions.iter().sum();
        self.judgement = (all > 0).then(|| Judgement {
            claims: conditions.len() as u64,
            conditions: all as u64,
            expected_false: (FALSE_RATE * all as f64 * 1e3).round() / 1e3,
        });
    }

    /// The summary as JSON text, a line per run, row and claim: it compares and greps well.
    ///
    /// Numbers are the shortest that read back as the same float, so equal results are equal
    /// bytes.
    ///
    /// # Errors
    /// If a figure is no finite number, which JSON cannot say.
    pub fn to_json(&self) -> Result<String, NotFinite> {
        self.all_finite()?;
        let mut out = String::from("{\n");
        let one = |out: &mut String, name: &str, value: String| {
            writeln!(out, "\"{name}\": {value},").expect("a String takes it");
        };
        one(&mut out, "schema", json(&self.schema));
        one(&mut out, "airlane", json(&self.airlane));
        one(&mut out, "commit", json(&self.commit));
        one(&mut out, "scenario", json(&self.scenario));
        one(&mut out, "seeds", json(&self.seeds));
        one(&mut out, "virtual_s", json(&self.virtual_s));
        one(&mut out, "runs", lines(&self.runs));
        one(&mut out, "rows", lines(&self.rows));
        one(&mut out, "claims", lines(&self.claims));
        writeln!(out, "\"judgement\": {}\n}}", json(&self.judgement)).expect("a String takes it");
        Ok(out)
    }

    fn all_finite(&self) -> Result<(), NotFinite> {
        let row = self.rows.iter().find(|r| !r.value.is_finite());
        if let Some(Row { experiment, case, scheme, seed, metric, .. }) = row {
            return Err(NotFinite(format!(
                "{metric} of {experiment}, {case}, {scheme}, seed {seed}"
            )));
        }
        let interval =
            |ci: Option<[f64; 2]>| ci.is_none_or(|[lo, hi]| lo.is_finite() && hi.is_finite());
        let sound = |measured: Option<f64>, ci| measured.is_none_or(f64::is_finite) && interval(ci);
        let claim = self.claims.iter().find(|c| {
            !sound(c.measured, c.ci95) || c.checks.iter().any(|c| !sound(c.measured, c.ci95))
        });
        match claim {
            Some(claim) => Err(NotFinite(format!("a figure of claim {}", claim.id))),
            None if !self.virtual_s.is_finite() => Err(NotFinite("virtual_s".to_owned())),
            None => Ok(()),
        }
    }

    /// Numbers of claims by verdict.
    pub fn tally(&self) -> Tally {
        let of = |verdict| self.claims.iter().filter(|c| c.verdict == verdict).count();
        Tally {
            holds: of(Verdict::Holds),
            fails: of(Verdict::Fails),
            undecided: of(Verdict::Undecided),
            not_measured: of(Verdict::NotMeasured),
            reported: of(Verdict::Reported),
        }
    }
}

/// Numbers of claims by verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "named as the verdicts")]
pub struct Tally {
    pub holds: usize,
    pub fails: usize,
    pub undecided: usize,
    pub not_measured: usize,
    pub reported: usize,
}

fn json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("plain fields and names that are texts")
}

fn lines<T: Serialize>(items: &[T]) -> String {
    if items.is_empty() {
        return "[]".to_owned();
    }
    let items: Vec<String> = items.iter().map(json).collect();
    format!("[\n{}\n]", items.join(",\n"))
}
