//! Verdicts: a rule, and the 95 % interval of what was measured.

use airlane_base::Seed;
use airlane_quality::stats;

use super::estimate::{Estimate, measure, measure_shares};
use super::samples::Samples;
use super::spec::{Claim, Rule};
use super::statistic::Statistic;
use crate::summary::{CheckEntry, ClaimEntry, Verdict};

/// The outcome of a rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// The headline figure.
    pub measured: Option<f64>,
    /// Its interval.
    pub ci95: Option<[f64; 2]>,
    /// Independent draws.
    pub n: usize,
    /// The verdict.
    pub verdict: Verdict,
    /// Why, where the figures do not say it; else empty.
    pub reason: String,
    /// The conditions that it is made of, each followed by the same in every cell.
    pub checks: Vec<CheckEntry>,
}

/// Judges a claim by its rule. `seed` feeds the resampling: the same samples and seed give the
/// same interval.
///
/// A claim without samples is not held. One whose condition is wholly on the wrong side in one of
/// its cells is not held either.
pub fn judge(claim: &Claim, samples: &Samples, seed: Seed) -> Judged {
    let judge = Judge { samples, seed: seed.split("judge").split(&claim.id) };
    let judged = judge.rule(&claim.rule);
    // Shares and changes are of 1 among the samples, and in the claim's unit when shown.
    if claim.unit.starts_with('%') { judged.times(100.0) } else { judged }
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
        stream: String::new(),
        checks: judged.checks,
    }
}

struct Judge<'a> {
    samples: &'a Samples,
    seed: Seed,
}

/// What a figure has to meet.
#[derive(Clone, Copy)]
struct Bound {
    at: f64,
    /// Whether its good side is above it.
    above: bool,
    /// Whether meeting it exactly decides nothing.
    excluded: bool,
}

impl Judge<'_> {
    fn rule(&self, rule: &Rule) -> Judged {
        let bound = |at: f64, above: bool| Bound { at, above, excluded: at == 0.0 };
        match rule {
            Rule::Above { of, bound: at } => self.against(of, &[bound(*at, true)]),
            Rule::Below { of, bound: at } => self.against(of, &[bound(*at, false)]),
            Rule::Within { of, low, high } => {
                self.against(of, &[bound(*low, true), bound(*high, false)])
            }
            Rule::HalfOfPaper { of, paper } => {
                let above = *paper > 0.0;
                self.against(of, &[bound(0.5 * paper, above), bound(0.0, above)])
            }
            Rule::ShareOfReference { metric, reference, factor, saturated_below } => {
                self.share(metric, reference, *factor, *saturated_below)
            }
            Rule::All { of } => all(of.iter().map(|rule| self.rule(rule)).collect()),
            Rule::Reported { of } => match measure(of, self.samples, self.seed) {
                Ok(e) => Judged { verdict: Verdict::Reported, ..plain(e) },
                Err(reason) => not_held(reason),
            },
        }
    }

    /// Judges one statistic by bounds, in all cells together and in each.
    fn against(&self, of: &Statistic, bounds: &[Bound]) -> Judged {
        let estimate = match measure(of, self.samples, self.seed) {
            Ok(estimate) => estimate,
            Err(reason) => return not_held(reason),
        };
        let in_cells =
            match self.in_cells(of.names_a_cell(), |samples, seed| measure(of, samples, seed)) {
                Ok(in_cells) => in_cells,
                Err(reason) => return not_held(reason),
            };
        let name = of.to_string();
        let mut checks = Vec::new();
        for &bound in bounds {
            checks.push(check(&name, "", words(bound.at, bound.above), estimate, bound));
            checks.extend(cell_checks(&name, &in_cells, bound));
        }
        Judged {
            verdict: verdict_of(&checks),
            reason: reason_of(estimate.why(), &checks),
            checks,
            ..plain(estimate)
        }
    }

    /// An estimate in each cell; none if there are no cells or the statistic names some.
    fn in_cells(
        &self,
        names_cells: bool,
        of: impl Fn(&Samples, Seed) -> Result<Estimate, String>,
    ) -> Result<Vec<(String, Estimate)>, String> {
        if names_cells || self.samples.cells().count() < 2 {
            return Ok(Vec::new());
        }
        let one = |name: &str| {
            let estimate = of(&self.samples.cell(name), self.seed.split(name))?;
            Ok((name.to_owned(), estimate))
        };
        self.samples.cells().map(one).collect()
    }

    /// Judges the difference of shares metric - factor * reference; shows the share itself. A cell
    /// whose own reference is under the bound is left out.
    fn share(&self, metric: &str, reference: &str, factor: f64, saturated_below: f64) -> Judged {
        let share = |name: &str, samples: &Samples, seed: Seed| {
            measure(&Statistic::Share(name.to_owned()), samples, seed)
        };
        let figures = || {
            let one = |name: &str| share(name, self.samples, self.seed);
            let difference = measure_shares(metric, reference, factor, self.samples)?;
            let in_cells = self.in_cells(false, |samples, seed| {
                share(reference, samples, seed)?;
                measure_shares(metric, reference, factor, samples)
            })?;
            Ok((one(metric)?, one(reference)?, difference, in_cells))
        };
        let (share_of_metric, share_of_reference, difference, in_cells) = match figures() {
            Ok(figures) => figures,
            Err(reason) => return not_held(reason),
        };
        let saturated = |samples: &Samples| {
            let values: Vec<f64> = samples.values(reference).collect();
            stats::mean(&values).is_none_or(|share| share < saturated_below)
        };
        let bound = Bound { at: 0.0, above: true, excluded: false };
        let name = format!("{metric} - {factor} x {reference}");
        let rule = "at least 0".to_owned();
        let mut checks = vec![check(&name, "", rule.clone(), difference, bound)];
        for mut cell in cell_checks(&name, &in_cells, bound) {
            cell.rule.clone_from(&rule);
            if saturated(&self.samples.cell(&cell.cell)) {
                cell.verdict = Verdict::Reported;
            }
            checks.push(cell);
        }
        let percent = 100.0 * share_of_reference.value;
        let mut reason = format!("{reference}: {percent:.1} %");
        let mut verdict = verdict_of(&checks);
        if share_of_reference.value < saturated_below {
            checks.iter_mut().for_each(|c| c.verdict = Verdict::Reported);
            verdict = Verdict::Reported;
            reason = format!("saturated: {reason}, under {:.1} %", 100.0 * saturated_below);
        } else {
            for more in [difference.why(), reason_of(String::new(), &checks)] {
                if !more.is_empty() {
                    reason = format!("{reason}; {more}");
                }
            }
        }
        Judged { verdict, reason, checks, ..plain(share_of_metric) }
    }
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
fn check(metric: &str, cell: &str, rule: String, e: Estimate, bound: Bound) -> CheckEntry {
    // The bound is above or below the figures once the sign is turned.
    let sign = if bound.above { 1.0 } else { -1.0 };
    let ends = e.ci95.map(|ci| ci.map(|x| sign * (x - bound.at)));
    let verdict = match ends.map(|[a, b]| (a.min(b), a.max(b))) {
        Some((least, _)) if least > 0.0 || (least == 0.0 && !bound.excluded) => Verdict::Holds,
        Some((_, most)) if most < 0.0 => Verdict::Fails,
        _ => Verdict::Undecided,
    };
    CheckEntry {
        metric: metric.to_owned(),
        unit: String::new(),
        cell: cell.to_owned(),
        worst: false,
        rule,
        bound: bound.at,
        above: bound.above,
        measured: Some(e.value),
        ci95: e.ci95,
        n: e.n as u64,
        verdict,
    }
}

/// The same condition in each cell; the worst is the one whose figure is furthest to the wrong
/// side.
fn cell_checks(metric: &str, in_cells: &[(String, Estimate)], bound: Bound) -> Vec<CheckEntry> {
    let sign = if bound.above { 1.0 } else { -1.0 };
    let good = |e: &Estimate| sign * (e.value - bound.at);
    let worst = in_cells.iter().map(|(_, e)| good(e)).min_by(f64::total_cmp);
    let mut checks: Vec<CheckEntry> = Vec::new();
    for (cell, e) in in_cells {
        let mut check = check(metric, cell, words(bound.at, bound.above), *e, bound);
        check.worst = Some(good(e)) == worst && !checks.iter().any(|c| c.worst);
        checks.push(check);
    }
    checks
}

/// Of the conditions over all cells together, unless one fails in a cell: then it does not hold.
/// That one is undecided in a cell says nothing: a cell has fewer rows than all of them.
fn verdict_of(checks: &[CheckEntry]) -> Verdict {
    let counts = checks.iter().filter(|c| c.cell.is_empty() || c.verdict == Verdict::Fails);
    together(counts.map(|c| c.verdict))
}

/// Why a verdict is not what the figures over all cells say.
fn reason_of(mut reason: String, checks: &[CheckEntry]) -> String {
    let all_fail = checks.iter().any(|c| c.cell.is_empty() && c.verdict == Verdict::Fails);
    let mut cells: Vec<&str> = Vec::new();
    for check in checks.iter().filter(|c| !c.cell.is_empty() && c.verdict == Verdict::Fails) {
        if !cells.contains(&check.cell.as_str()) {
            cells.push(&check.cell);
        }
    }
    if !cells.is_empty() && !all_fail {
        let cells = format!("wholly on the wrong side in {}", cells.join(", "));
        reason = if reason.is_empty() { cells } else { format!("{reason}; {cells}") };
    }
    reason
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

fn not_held(reason: String) -> Judged {
    Judged { measured: None, ci95: None, n: 0, verdict: Verdict::Fails, reason, checks: Vec::new() }
}
