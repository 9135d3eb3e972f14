//! Verdicts: a rule, and the 95 % interval of what was measured.

use std::collections::BTreeMap;

use airlane_base::Seed;
use airlane_quality::Bootstrap;

use super::spec::{Claim, Rule};
use super::statistic::Statistic;
use crate::summary::{CheckEntry, ClaimEntry, Verdict};

/// What was measured: for each metric a list of pairs, each with its figure per seed. The lists of
/// all metrics of a claim are about the same pairs and seeds in the same order; of cells, those of
/// one after the other, and again for each cell alone under `metric@cell`.
pub type Samples = BTreeMap<String, Vec<Vec<f64>>>;

/// The outcome of a rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// The headline figure.
    pub measured: Option<f64>,
    /// Its interval.
    pub ci95: Option<[f64; 2]>,
    /// Independent pairs.
    pub n: usize,
    /// The verdict.
    pub verdict: Verdict,
    /// Why, where the figures do not say it; else empty.
    pub reason: String,
    /// The conditions that it is made of.
    pub checks: Vec<CheckEntry>,
}

/// Judges a claim by its rule. `seed` feeds the resampling: the same samples and seed give the
/// same interval.
///
/// A claim without samples is not held.
pub fn judge(claim: &Claim, samples: &Samples, seed: Seed) -> Judged {
    let judge = Judge { samples, seed: seed.split("judge").split(&claim.id) };
    let judged = judge.rule(&claim.rule);
    // Shares and changes are of 1 among the samples, and in the claim's unit when shown.
    if claim.unit.starts_with('%') { judged.times(100.0) } else { judged }
}

/// A statistic of samples as judged ones are: its value, `None` if there is none.
pub fn estimate(of: &Statistic, samples: &Samples) -> Option<f64> {
    let pairs = pairs_of(of, samples).ok()?;
    Some(value(of, &pairs)).filter(|x| x.is_finite())
}

/// The entry of `summary.json` for a claim judged on `content`.
pub fn entry(claim: &Claim, content: &str, samples: &Samples, seed: Seed) -> ClaimEntry {
    let judged = judge(claim, samples, seed);
    ClaimEntry {
        id: claim.id.clone(),
        content: content.to_owned(),
        source: claim.source.clone(),
        statement: claim.statement.clone(),
        paper: claim.paper.clone().into(),
        measured: judged.measured,
        unit: claim.unit.clone(),
        n: judged.n as u64,
        ci95: judged.ci95,
        rule: claim.rule_text.clone(),
        verdict: judged.verdict,
        reason: judged.reason,
        checks: judged.checks,
    }
}

/// A statistic over pairs and its interval.
#[derive(Clone, Copy)]
struct Estimate {
    value: f64,
    ci95: Option<[f64; 2]>,
    n: usize,
}

struct Judge<'a> {
    samples: &'a Samples,
    seed: Seed,
}

impl Judge<'_> {
    fn rule(&self, rule: &Rule) -> Judged {
        match rule {
            Rule::Above { of, bound } => self.against(of, &[(*bound, true)]),
            Rule::Below { of, bound } => self.against(of, &[(*bound, false)]),
            Rule::Within { of, low, high } => self.against(of, &[(*low, true), (*high, false)]),
            Rule::HalfOfPaper { of, paper } => {
                let above = *paper > 0.0;
                self.against(of, &[(0.5 * paper, above), (0.0, above)])
            }
            Rule::ShareOfReference { metric, reference, factor, saturated_below } => {
                self.share(metric, reference, *factor, *saturated_below)
            }
            Rule::All { of } => {
                let parts = of.iter().map(|rule| self.rule(rule)).collect();
                all(parts)
            }
            Rule::Reported { of } => match self.estimate(of) {
                Ok(e) => Judged { verdict: Verdict::Reported, ..plain(e) },
                Err(reason) => not_held(reason),
            },
        }
    }

    /// Judges one statistic by bounds, each with whether its good side is above it.
    fn against(&self, of: &Statistic, bounds: &[(f64, bool)]) -> Judged {
        let estimate = match self.estimate(of) {
            Ok(estimate) => estimate,
            Err(reason) => return not_held(reason),
        };
        let checks = bounds.iter().map(|&(bound, above)| {
            // A sign is one only if the interval excludes zero.
            let excluded = bound == 0.0;
            check(&of.to_string(), words(bound, above), estimate, bound, above, excluded)
        });
        let checks: Vec<CheckEntry> = checks.collect();
        let verdict = together(checks.iter().map(|c| c.verdict));
        Judged { verdict, reason: why(estimate), checks, ..plain(estimate) }
    }

    /// Judges the paired mean of metric - factor * reference; shows the share itself.
    fn share(&self, metric: &str, reference: &str, factor: f64, saturated_below: f64) -> Judged {
        let figures = || {
            let one = |name: &str| self.estimate(&Statistic::Mean(name.to_owned()));
            let (of_metric, of_reference) = (one(metric)?, one(reference)?);
            let both = Statistic::Difference(metric.to_owned(), reference.to_owned());
            let mut pairs = pairs_of(&both, self.samples)?;
            pairs.iter_mut().flatten().for_each(|p| p[1] *= factor);
            let name = format!("{metric} - {factor} {reference}");
            Ok((of_metric, of_reference, self.interval(&name, &both, &pairs)))
        };
        let (share, reference_share, difference) = match figures() {
            Ok(figures) => figures,
            Err(reason) => return not_held(reason),
        };
        let name = format!("{metric} - {factor} x {reference}");
        let rule = "at least 0".to_owned();
        let mut check = check(&name, rule, difference, 0.0, true, false);
        let reference_percent = 100.0 * reference_share.value;
        let mut reason = format!("{reference}: {reference_percent:.1} %");
        if reference_share.value < saturated_below {
            check.verdict = Verdict::Reported;
            reason = format!("saturated: {reason}, under {:.1} %", 100.0 * saturated_below);
        } else if difference.ci95.is_none() {
            reason = format!("{reason}; {}", why(difference));
        }
        Judged { verdict: check.verdict, reason, checks: vec![check], ..plain(share) }
    }

    fn estimate(&self, of: &Statistic) -> Result<Estimate, String> {
        let pairs = pairs_of(of, self.samples)?;
        Ok(self.interval(&of.to_string(), of, &pairs))
    }

    fn interval(&self, name: &str, of: &Statistic, pairs: &[Vec<[f64; 2]>]) -> Estimate {
        let bootstrap = Bootstrap::new(self.seed.split(name));
        let interval = bootstrap.nested(pairs, |sample| value(of, sample));
        Estimate { value: value(of, pairs), ci95: interval.map(Into::into), n: pairs.len() }
    }
}

/// The statistic over pairs of the mean over their seeds.
fn value(of: &Statistic, pairs: &[Vec<[f64; 2]>]) -> f64 {
    let over_seeds = |seeds: &Vec<[f64; 2]>| {
        let n = seeds.len() as f64;
        [0, 1].map(|i| seeds.iter().map(|s| s[i]).sum::<f64>() / n)
    };
    of.of(pairs.iter().map(over_seeds))
}

/// The figures of a statistic's metrics, pair by pair and seed by seed.
fn pairs_of(of: &Statistic, samples: &Samples) -> Result<Vec<Vec<[f64; 2]>>, String> {
    let metrics = of.metrics();
    let first = figures(metrics[0], samples)?;
    let Some(name) = metrics.get(1) else {
        return Ok(first.iter().map(|p| p.iter().map(|x| [*x, 0.0]).collect()).collect());
    };
    let second = figures(name, samples)?;
    if first.len() != second.len() {
        let (n, m) = (first.len(), second.len());
        return Err(format!("{n} pairs of {}, {m} of {name}", metrics[0]));
    }
    let pair = |(a, b): (&Vec<f64>, &Vec<f64>)| match b.as_slice() {
        // An offline reference has one figure per pair, whatever the number of seeds.
        [one] => Ok(a.iter().map(|x| [*x, *one]).collect()),
        b if b.len() == a.len() => Ok(a.iter().zip(b).map(|(x, y)| [*x, *y]).collect()),
        _ => Err(format!("{} and {name} have different seeds", metrics[0])),
    };
    first.iter().zip(second).map(pair).collect()
}

fn figures<'a>(metric: &str, samples: &'a Samples) -> Result<&'a [Vec<f64>], String> {
    let pairs = samples.get(metric).map_or(&[][..], Vec::as_slice);
    if pairs.is_empty() {
        return Err(format!("no sample of {metric}"));
    }
    if let Some(empty) = pairs.iter().position(Vec::is_empty) {
        return Err(format!("no sample of {metric} in pair {empty}"));
    }
    if pairs.iter().flatten().any(|x| !x.is_finite()) {
        return Err(format!("a sample of {metric} is no finite number"));
    }
    Ok(pairs)
}

/// A condition on one side of a bound in words.
fn words(bound: f64, above: bool) -> String {
    match (above, bound == 0.0) {
        (true, true) => "above 0".to_owned(),
        (false, true) => "below 0".to_owned(),
        (true, false) => format!("at least {bound}"),
        (false, false) => format!("at most {bound}"),
    }
}

/// A condition judged by where its interval is. A bound met exactly is on the good side, unless it
/// has to be excluded: then it decides nothing.
fn check(
    metric: &str,
    rule: String,
    e: Estimate,
    bound: f64,
    above: bool,
    excluded: bool,
) -> CheckEntry {
    // The bound is above or below the figures once the sign is turned.
    let sign = if above { 1.0 } else { -1.0 };
    let ends = e.ci95.map(|ci| ci.map(|x| sign * (x - bound)));
    let verdict = match ends.map(|[a, b]| (a.min(b), a.max(b))) {
        Some((least, _)) if least > 0.0 || (least == 0.0 && !excluded) => Verdict::Holds,
        Some((_, most)) if most < 0.0 => Verdict::Fails,
        _ => Verdict::Undecided,
    };
    CheckEntry {
        metric: metric.to_owned(),
        rule,
        bound,
        above,
        measured: Some(e.value),
        ci95: e.ci95,
        n: e.n as u64,
        verdict,
    }
}

fn all(parts: Vec<Judged>) -> Judged {
    let mut reasons: Vec<&str> = Vec::new();
    for reason in parts.iter().map(|p| p.reason.as_str()) {
        if !reason.is_empty() && !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    let headline = parts.first();
    Judged {
        measured: headline.and_then(|p| p.measured),
        ci95: headline.and_then(|p| p.ci95),
        n: parts.iter().map(|p| p.n).min().unwrap_or(0),
        verdict: together(parts.iter().map(|p| p.verdict)),
        reason: reasons.join("; "),
        checks: parts.into_iter().flat_map(|p| p.checks).collect(),
    }
}

/// Of several conditions: fails if one fails, holds if all do that have a verdict.
fn together(parts: impl Iterator<Item = Verdict> + Clone) -> Verdict {
    let any = |verdict| parts.clone().any(|p| p == verdict);
    [Verdict::Fails, Verdict::Undecided, Verdict::Holds]
        .into_iter()
        .find(|v| any(*v))
        .unwrap_or(Verdict::Reported)
}

impl Judged {
    /// The same in another unit.
    fn times(mut self, scale: f64) -> Self {
        let both = |ci: Option<[f64; 2]>| ci.map(|ci| ci.map(|x| scale * x));
        self.measured = self.measured.map(|x| scale * x);
        self.ci95 = both(self.ci95);
        for check in &mut self.checks {
            if check.bound != 0.0 {
                check.bound *= scale;
                check.rule = words(check.bound, check.above);
            }
            check.measured = check.measured.map(|x| scale * x);
            check.ci95 = both(check.ci95);
        }
        self
    }
}

fn plain(e: Estimate) -> Judged {
    Judged {
        measured: Some(e.value),
        ci95: e.ci95,
        n: e.n,
        verdict: Verdict::Undecided,
        reason: String::new(),
        checks: Vec::new(),
    }
}

fn why(e: Estimate) -> String {
    match e.ci95 {
        Some(_) => String::new(),
        None => format!("no interval over {} pair", e.n),
    }
}

fn not_held(reason: String) -> Judged {
    Judged { measured: None, ci95: None, n: 0, verdict: Verdict::Fails, reason, checks: Vec::new() }
}
