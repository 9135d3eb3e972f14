//! Verdicts: compares the 95 % interval of each statistic with the bounds of its rule.
//!
//! A condition holds if the whole interval is on the good side of its bound, fails if the whole of
//! it is on the other side, and is undecided otherwise. A claim fails if one of its conditions
//! fails over all cells together or in one cell; it holds if all hold over all cells together.

use airlane_base::Seed;
use airlane_quality::stats;

use super::chart::chart_rows;
use super::estimate::{
    Estimate, estimate_share_difference, interval_estimate, simultaneous_estimate,
};
use super::samples::Samples;
use super::spec::{Claim, Rule};
use super::statistic::Statistic;
use super::unit::{ClaimUnit, Units};
use crate::summary::{CheckEntry, ClaimEntry, Verdict};
use airlane_sim::workload::Unit;

/// The outcome of a rule.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleOutcome {
    /// The unit of the headline figure, and what it is of.
    pub unit: String,
    /// The headline figure.
    pub measured: Option<f64>,
    /// Its interval.
    pub ci95: Option<[f64; 2]>,
    /// Independent draws.
    pub n: usize,
    /// The verdict.
    pub verdict: Verdict,
    /// Reason for the verdict, where the figures do not say it; else empty.
    pub reason: String,
    /// The conditions that it is made of, each followed by the same in every cell.
    pub checks: Vec<CheckEntry>,
}

/// Judges a claim by its rule. `seed` feeds the resampling: the same samples and seed give the
/// same interval. Figures are told in the claim's unit, or in their own where that is of another
/// dimension; `units` are those that samples and bounds have.
///
/// A claim without samples fails, and so does one with a condition that fails in one of its cells.
pub fn judge(claim: &Claim, samples: &Samples, units: &Units, seed: Seed) -> RuleOutcome {
    let seed = resampling(claim, seed);
    Judge { samples, units, unit: &claim.unit, seed, together: 1 }.judge_rule(&claim.rule)
}

/// The seed of all intervals of a claim.
fn resampling(claim: &Claim, seed: Seed) -> Seed {
    seed.split("judge").split(&claim.id)
}

/// The entry of `summary.json` for a claim judged on `content`.
pub fn entry(
    claim: &Claim,
    content: &str,
    (samples, units): (&Samples, &Units),
    seed: Seed,
) -> ClaimEntry {
    let judged = judge(claim, samples, units, seed);
    ClaimEntry {
        id: claim.id.clone(),
        content: content.to_owned(),
        source: claim.source.clone(),
        statement: claim.statement.clone(),
        paper: claim.paper.clone().into(),
        measured: judged.measured,
        unit: judged.unit,
        n: judged.n as u64,
        ci95: judged.ci95,
        rule: claim.rule_text.clone(),
        verdict: judged.verdict,
        reason: judged.reason,
        stream: String::new(),
        checks: judged.checks,
        chart: chart_rows(claim, samples, resampling(claim, seed)),
        draws: Vec::new(),
    }
}

#[derive(Clone, Copy)]
struct Judge<'a> {
    samples: &'a Samples,
    units: &'a Units,
    unit: &'a ClaimUnit,
    seed: Seed,
    /// Number of intervals that are to hold together.
    together: usize,
}

/// A bound that an interval is compared with.
#[derive(Clone, Copy)]
struct Bound {
    at: f64,
    /// True if values above it are on the good side.
    above: bool,
    /// True if a value equal to the bound is on neither side.
    excluded: bool,
}

impl Judge<'_> {
    fn judge_rule(&self, rule: &Rule) -> RuleOutcome {
        let bound = |at: f64, above: bool| Bound { at, above, excluded: at == 0.0 };
        match rule {
            Rule::Above { of, bound: at } => self.judge_bounds(of, &[bound(*at, true)]),
            Rule::Below { of, bound: at } => self.judge_bounds(of, &[bound(*at, false)]),
            Rule::Within { of, low, high } => {
                self.judge_bounds(of, &[bound(*low, true), bound(*high, false)])
            }
            Rule::HalfOfPaper { of, paper } => {
                let above = *paper > 0.0;
                self.judge_bounds(of, &[bound(0.5 * paper, above), bound(0.0, above)])
            }
            Rule::ShareOfReference { metric, reference, factor, saturated_below } => {
                self.judge_share(metric, reference, *factor, *saturated_below)
            }
            Rule::All { of } => all_rules(of.iter().map(|rule| self.judge_rule(rule)).collect()),
            Rule::Either { of } => {
                let judge = Self { together: of.len(), ..*self };
                either_rule(of.iter().map(|rule| judge.judge_rule(rule)).collect())
            }
            Rule::Reported { of } => match self.told(of) {
                Ok((unit, _, e)) => {
                    RuleOutcome { verdict: Verdict::Reported, ..self.without_conditions(unit, e) }
                }
                Err(reason) => self.failed(reason),
            },
        }
    }

    /// A statistic in the unit in which it is told, with that unit and by what it was multiplied.
    fn told(&self, of: &Statistic) -> Result<(Unit, f64, Estimate), String> {
        let (unit, factor) = self.unit.of_figures(self.units.of(of)?);
        let estimate = simultaneous_estimate(of, self.samples, self.seed, self.together)?;
        Ok((unit, factor, estimate.scaled(factor)))
    }

    /// Judges one statistic by bounds, in all cells together and in each.
    fn judge_bounds(&self, of: &Statistic, bounds: &[Bound]) -> RuleOutcome {
        let (unit, factor, estimate) = match self.told(of) {
            Ok(told) => told,
            Err(reason) => return self.failed(reason),
        };
        let in_cells = self.in_cells(of.names_a_cell(), |samples, seed| {
            let estimate = simultaneous_estimate(of, samples, seed, self.together)?;
            Ok(estimate.scaled(factor))
        });
        let in_cells = match in_cells {
            Ok(in_cells) => in_cells,
            Err(reason) => return self.failed(reason),
        };
        let told = ReportedStatistic { metric: &of.to_string(), unit };
        let bounds = bounds.iter().map(|bound| bound.scaled(factor)).collect::<Vec<_>>();
        let mut why = estimate.why_no_interval();
        if !why.is_empty() {
            // Few draws decide nothing, and yet point somewhere.
            let holds = bounds.iter().all(|bound| bound.is_met_by(estimate.value));
            why += &format!("; {of} points to {}", if holds { "holds" } else { "fails" });
        }
        let mut checks = Vec::new();
        for bound in bounds {
            checks.push(told.check("", condition_text(bound.at, bound.above), estimate, bound));
            checks.extend(told.cell_checks(&in_cells, bound));
        }
        RuleOutcome {
            verdict: verdict_of(&checks),
            reason: reason_of(why, &checks),
            checks,
            ..self.without_conditions(unit, estimate)
        }
    }

    /// An estimate in each cell, if there are several and the statistic names none, and in each
    /// recording, if there are several.
    fn in_cells(
        &self,
        names_cells: bool,
        of: impl Fn(&Samples, Seed) -> Result<Estimate, String>,
    ) -> Result<Vec<(String, Estimate)>, String> {
        let one = |name: &str, samples: &Samples| {
            Ok((name.to_owned(), of(samples, self.seed.split(name))?))
        };
        let cells = self.samples.cells().count();
        let cells = self.samples.cells().filter(|_| !names_cells && cells > 1);
        let cells = cells.map(|name| one(name, &self.samples.cell(name)));
        let recordings = self.samples.recordings();
        let many = recordings.len() > 1;
        let recordings = recordings.into_iter().filter(|_| many);
        cells.chain(recordings.map(|name| one(name, &self.samples.recording(name)))).collect()
    }

    /// Judges the difference of shares metric - factor * reference; shows the share itself. A cell
    /// whose own reference is under the bound is left out.
    fn judge_share(
        &self,
        metric: &str,
        reference: &str,
        factor: f64,
        saturated_below: f64,
    ) -> RuleOutcome {
        let share = |name: &str, samples: &Samples, seed: Seed| {
            interval_estimate(&Statistic::Share(name.to_owned()), samples, seed)
        };
        let figures = || {
            let one = |name: &str| share(name, self.samples, self.seed);
            let difference = estimate_share_difference(metric, reference, factor, self.samples)?;
            let in_cells = self.in_cells(false, |samples, _| {
                estimate_share_difference(metric, reference, factor, samples)
            })?;
            Ok((one(metric)?, one(reference)?, difference, in_cells))
        };
        let (share_of_metric, share_of_reference, difference, in_cells) = match figures() {
            Ok(figures) => figures,
            Err(reason) => return self.failed(reason),
        };
        let (unit, scale) = self.unit.of_figures(Unit::ONE);
        let difference = difference.scaled(scale);
        let in_cells: Vec<(String, Estimate)> =
            in_cells.into_iter().map(|(cell, e)| (cell, e.scaled(scale))).collect();
        let saturated = |samples: &Samples| {
            let values: Vec<f64> = samples.values(reference).collect();
            stats::mean(&values).is_none_or(|share| share < saturated_below)
        };
        let bound = Bound { at: 0.0, above: true, excluded: false };
        let told =
            ReportedStatistic { metric: &format!("{metric} - {factor} x {reference}"), unit };
        let rule = "at least 0".to_owned();
        let mut checks = vec![told.check("", rule.clone(), difference, bound)];
        for mut cell in told.cell_checks(&in_cells, bound) {
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
            for more in [difference.why_no_interval(), reason_of(String::new(), &checks)] {
                if !more.is_empty() {
                    reason = format!("{reason}; {more}");
                }
            }
        }
        let share = self.without_conditions(unit, share_of_metric.scaled(scale));
        RuleOutcome { verdict, reason, checks, ..share }
    }

    /// An estimate that has not been judged yet.
    fn without_conditions(&self, unit: Unit, e: Estimate) -> RuleOutcome {
        RuleOutcome {
            unit: self.unit.with(unit),
            measured: Some(e.value),
            ci95: e.ci95,
            n: e.n,
            verdict: Verdict::Undecided,
            reason: String::new(),
            checks: Vec::new(),
        }
    }

    /// A claim that fails because something was not measured.
    fn failed(&self, reason: String) -> RuleOutcome {
        RuleOutcome {
            unit: self.unit.to_string(),
            measured: None,
            ci95: None,
            n: 0,
            verdict: Verdict::Fails,
            reason,
            checks: Vec::new(),
        }
    }
}

impl Bound {
    /// True if a figure is on its good side.
    fn is_met_by(self, value: f64) -> bool {
        let above = if self.above { value - self.at } else { self.at - value };
        above > 0.0 || (above == 0.0 && !self.excluded)
    }

    /// The bound in another unit, without the last bits that come of the factor.
    fn scaled(self, factor: f64) -> Self {
        Self { at: (1e9 * factor * self.at).round() / 1e9, ..self }
    }
}

/// A condition on one side of a bound in words.
fn condition_text(bound: f64, above: bool) -> String {
    match (above, bound == 0.0) {
        (true, true) => "above 0".to_owned(),
        (false, true) => "below 0".to_owned(),
        (true, false) => format!("at least {bound}"),
        (false, false) => format!("at most {bound}"),
    }
}

/// A statistic and the unit in which it is told.
struct ReportedStatistic<'a> {
    metric: &'a str,
    unit: Unit,
}

impl ReportedStatistic<'_> {
    /// Judges a condition by where its interval lies. An end equal to the bound is on the good side,
    /// unless the bound is excluded: then the condition is undecided.
    fn check(&self, cell: &str, rule: String, e: Estimate, bound: Bound) -> CheckEntry {
        // With this sign the good side is always above zero.
        let sign = if bound.above { 1.0 } else { -1.0 };
        let ends = e.ci95.map(|ci| ci.map(|x| sign * (x - bound.at)));
        let verdict = match ends.map(|[a, b]| (a.min(b), a.max(b))) {
            Some((least, _)) if least > 0.0 || (least == 0.0 && !bound.excluded) => Verdict::Holds,
            Some((_, most)) if most < 0.0 => Verdict::Fails,
            _ => Verdict::Undecided,
        };
        CheckEntry {
            metric: self.metric.to_owned(),
            unit: self.unit.symbol().to_owned(),
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
    fn cell_checks(&self, in_cells: &[(String, Estimate)], bound: Bound) -> Vec<CheckEntry> {
        let sign = if bound.above { 1.0 } else { -1.0 };
        let good = |e: &Estimate| sign * (e.value - bound.at);
        let worst = in_cells.iter().map(|(_, e)| good(e)).min_by(f64::total_cmp);
        let mut checks: Vec<CheckEntry> = Vec::new();
        for (cell, e) in in_cells {
            let mut check = self.check(cell, condition_text(bound.at, bound.above), *e, bound);
            check.worst = Some(good(e)) == worst && !checks.iter().any(|c| c.worst);
            checks.push(check);
        }
        checks
    }
}

/// The verdict of conditions: of those over all cells together, and of those that fail in a cell.
/// Conditions that are undecided in a cell do not count: a cell alone has few rows.
fn verdict_of(checks: &[CheckEntry]) -> Verdict {
    let counts = checks.iter().filter(|c| c.cell.is_empty() || c.verdict == Verdict::Fails);
    combined_verdict(counts.map(|c| c.verdict))
}

/// Appends to `reason` the cells that fail, unless the condition fails over all cells as well.
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

/// Several rules as one; the first has the headline figure.
fn all_rules(parts: Vec<RuleOutcome>) -> RuleOutcome {
    let mut reasons: Vec<&str> = Vec::new();
    for reason in parts.iter().flat_map(|p| p.reason.split("; ")) {
        if !reason.is_empty() && !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    let headline = parts.first();
    RuleOutcome {
        unit: headline.map(|p| p.unit.clone()).unwrap_or_default(),
        measured: headline.and_then(|p| p.measured),
        ci95: headline.and_then(|p| p.ci95),
        n: parts.iter().map(|p| p.n).min().unwrap_or(0),
        verdict: combined_verdict(parts.iter().map(|p| p.verdict)),
        reason: reasons.join("; "),
        checks: parts.into_iter().flat_map(|p| p.checks).collect(),
    }
}

/// At least one of several rules: holds if one holds, fails if all fail; the first has the headline
/// figure.
fn either_rule(parts: Vec<RuleOutcome>) -> RuleOutcome {
    let any = |verdict| parts.iter().any(|p| p.verdict == verdict);
    let verdict = if any(Verdict::Holds) {
        Verdict::Holds
    } else if parts.iter().all(|p| p.verdict == Verdict::Fails) {
        Verdict::Fails
    } else {
        Verdict::Undecided
    };
    let unmeasured = parts.iter().any(|p| p.measured.is_none());
    let mut judged = all_rules(parts);
    judged.verdict = if unmeasured { Verdict::Fails } else { verdict };
    for check in &mut judged.checks {
        check.rule += ", or another";
    }
    judged
}

/// The verdict of several: fails if one fails, else is undecided if one is, else holds if one
/// holds; reported conditions do not count.
fn combined_verdict(parts: impl Iterator<Item = Verdict> + Clone) -> Verdict {
    let any = |verdict| parts.clone().any(|p| p == verdict);
    [Verdict::Fails, Verdict::Undecided, Verdict::Holds]
        .into_iter()
        .find(|v| any(*v))
        .unwrap_or(Verdict::Reported)
}
