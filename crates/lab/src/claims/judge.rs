//! Verdicts: a rule, and the 95 % interval of what was measured.

use std::collections::BTreeMap;

use airlane_base::Seed;
use airlane_quality::Bootstrap;
use airlane_quality::stats::mean;

use super::spec::{Claim, Rule};
use crate::summary::{CheckEntry, ClaimEntry, Verdict};

/// What was measured: for each metric a list of pairs, each with its figure per seed. The lists of
/// all metrics of a claim are about the same pairs and seeds in the same order.
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
    let judge = Judge { claim, samples, seed: seed.split("judge").split(&claim.id) };
    judge.rule(&claim.rule)
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

/// A mean over pairs and its interval.
#[derive(Clone, Copy)]
struct Estimate {
    mean: f64,
    ci95: Option<[f64; 2]>,
    n: usize,
}

struct Judge<'a> {
    claim: &'a Claim,
    samples: &'a Samples,
    seed: Seed,
}

impl Judge<'_> {
    fn rule(&self, rule: &Rule) -> Judged {
        match rule {
            Rule::MeanAbove { metric, bound } => self.mean_against(metric, *bound, true),
            Rule::MeanBelow { metric, bound } => self.mean_against(metric, *bound, false),
            Rule::ShareOfReference { metric, reference, factor, saturated_below } => {
                self.share(metric, reference, *factor, *saturated_below)
            }
            Rule::All { of } => self.all(of),
            Rule::Reported => match self.estimate(&self.claim.metric) {
                Ok(e) => Judged { verdict: Verdict::Reported, ..plain(e) },
                Err(reason) => not_held(reason),
            },
        }
    }

    fn mean_against(&self, metric: &str, bound: f64, above: bool) -> Judged {
        let estimate = match self.estimate(metric) {
            Ok(estimate) => estimate,
            Err(reason) => return not_held(reason),
        };
        let side = if above { "above" } else { "below" };
        let check = check(metric, format!("mean {side} {bound}"), estimate, bound, above);
        let verdict = check.verdict;
        Judged { verdict, reason: why(estimate), checks: vec![check], ..plain(estimate) }
    }

    /// Judges the paired mean of metric - factor * reference; shows the share itself, in the unit
    /// of the claim.
    fn share(&self, metric: &str, reference: &str, factor: f64, saturated_below: f64) -> Judged {
        let figures = || {
            let of_metric = self.estimate(metric)?;
            let of_reference = self.estimate(reference)?;
            let difference = self.differences(metric, reference, factor)?;
            let name = format!("{metric} - {factor} {reference}");
            Ok((of_metric, of_reference, self.estimate_of(&name, &difference)))
        };
        let (share, reference_share, difference) = match figures() {
            Ok(figures) => figures,
            Err(reason) => return not_held(reason),
        };
        let name = format!("{metric} - {factor} x {reference}");
        let mut check = check(&name, "mean at least 0".to_owned(), difference, 0.0, true);
        let saturated = reference_share.mean < saturated_below;
        let reference_percent = 100.0 * reference_share.mean;
        let mut reason = format!("{reference}: {reference_percent:.1} %");
        if saturated {
            check.verdict = Verdict::Reported;
            reason = format!("saturated: {reason}, under {:.1} %", 100.0 * saturated_below);
        } else if difference.ci95.is_none() {
            reason = format!("{reason}; {}", why(difference));
        }
        // Shares are from 0 to 1 among the samples, and in the claim's unit when shown.
        let scale = if self.claim.unit.starts_with('%') { 100.0 } else { 1.0 };
        Judged {
            measured: Some(scale * share.mean),
            ci95: share.ci95.map(|ci| ci.map(|x| scale * x)),
            n: share.n,
            verdict: check.verdict,
            reason,
            checks: vec![check],
        }
    }

    fn all(&self, rules: &[Rule]) -> Judged {
        let parts: Vec<Judged> = rules.iter().map(|rule| self.rule(rule)).collect();
        let any = |verdict| parts.iter().any(|p| p.verdict == verdict);
        let verdict = if any(Verdict::Fails) {
            Verdict::Fails
        } else if any(Verdict::Undecided) {
            Verdict::Undecided
        } else if any(Verdict::Holds) {
            Verdict::Holds
        } else {
            Verdict::Reported
        };
        let reasons: Vec<&str> =
            parts.iter().map(|p| p.reason.as_str()).filter(|r| !r.is_empty()).collect();
        let reason = reasons.join("; ");
        let headline = parts.first();
        Judged {
            measured: headline.and_then(|p| p.measured),
            ci95: headline.and_then(|p| p.ci95),
            n: parts.iter().map(|p| p.n).min().unwrap_or(0),
            verdict,
            reason,
            checks: parts.into_iter().flat_map(|p| p.checks).collect(),
        }
    }

    fn pairs(&self, metric: &str) -> Result<&[Vec<f64>], String> {
        let pairs = self.samples.get(metric).map_or(&[][..], Vec::as_slice);
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

    fn estimate(&self, metric: &str) -> Result<Estimate, String> {
        Ok(self.estimate_of(metric, self.pairs(metric)?))
    }

    fn estimate_of(&self, name: &str, pairs: &[Vec<f64>]) -> Estimate {
        let means: Vec<f64> = pairs.iter().filter_map(|seeds| mean(seeds)).collect();
        let interval = Bootstrap::new(self.seed.split(name)).nested_mean(pairs);
        Estimate {
            mean: mean(&means).unwrap_or(f64::NAN),
            ci95: interval.map(Into::into),
            n: pairs.len(),
        }
    }

    fn differences(
        &self,
        metric: &str,
        reference: &str,
        factor: f64,
    ) -> Result<Vec<Vec<f64>>, String> {
        let (a, b) = (self.pairs(metric)?, self.pairs(reference)?);
        if a.len() != b.len() {
            return Err(format!("{} pairs of {metric}, {} of {reference}", a.len(), b.len()));
        }
        // An offline reference has one figure per pair, whatever the number of seeds.
        let pair = |(a, b): (&Vec<f64>, &Vec<f64>)| match b.as_slice() {
            [one] => Ok(a.iter().map(|x| x - factor * one).collect()),
            b if b.len() == a.len() => Ok(a.iter().zip(b).map(|(x, y)| x - factor * y).collect()),
            _ => Err(format!("{metric} and {reference} have different seeds")),
        };
        a.iter().zip(b).map(pair).collect()
    }
}

/// A condition judged by where its interval is. A bound met exactly is on the good side.
fn check(metric: &str, rule: String, e: Estimate, bound: f64, above: bool) -> CheckEntry {
    let verdict = match e.ci95 {
        Some([lo, _]) if above && lo >= bound => Verdict::Holds,
        Some([_, hi]) if above && hi < bound => Verdict::Fails,
        Some([_, hi]) if !above && hi <= bound => Verdict::Holds,
        Some([lo, _]) if !above && lo > bound => Verdict::Fails,
        _ => Verdict::Undecided,
    };
    CheckEntry {
        metric: metric.to_owned(),
        rule,
        bound,
        above,
        measured: Some(e.mean),
        ci95: e.ci95,
        n: e.n as u64,
        verdict,
    }
}

fn plain(e: Estimate) -> Judged {
    Judged {
        measured: Some(e.mean),
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
