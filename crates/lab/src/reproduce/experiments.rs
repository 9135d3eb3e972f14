//! Which worlds the claims need. What two claims have in common is run once.

use std::collections::{BTreeMap, BTreeSet};

use airlane_base::InputError;

use super::measured::{self, Metrics};
use crate::claims::{ByMetric, Claim, ClaimSet, Draws, Patch, Purpose, Size, Statistic, Stream};
use crate::error::LabError;
use crate::plan::{Plan, RunKey, Sources, TraceUse, identity};
use crate::request::Common;
use crate::workload::{ClaimChapter, ClaimRun, Compared, Stocks};
use crate::world::SharedStocks;

/// More actors than this are not drawn over time: nobody could tell their lines apart.
const MOST_DRAWN: usize = 16;

/// What a scene is to its claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part<'a> {
    /// The claim's own.
    Whole,
    /// One of several that it is measured in.
    Cell(&'a str),
    /// Beside it, with one thing changed.
    Variant(&'a str),
}

impl<'a> Part<'a> {
    /// The name of cell or variant.
    pub(super) fn name(self) -> Option<&'a str> {
        match self {
            Self::Whole => None,
            Self::Cell(name) | Self::Variant(name) => Some(name),
        }
    }

    /// Whether it is beside the claim: no verdict hangs on it.
    pub(super) fn is_variant(self) -> bool {
        matches!(self, Self::Variant(_))
    }
}

/// A claim's scene, one of its cells or a variant of it, with the runs that it means.
pub(super) struct Experiment<'a> {
    /// The claim.
    pub(super) claim: &'a Claim,
    /// What it is to the claim.
    pub(super) part: Part<'a>,
    /// What it draws from; cells with draws of their own split it.
    pub(super) stream: Stream,
    /// The metrics that it can have.
    pub(super) metrics: Metrics,
    /// The figures over all draws that are shown.
    pub(super) shown: Vec<Statistic>,
    /// The scene.
    pub(super) plan: Plan,
    /// What its runs share.
    pub(super) stocks: Stocks,
    /// The runs, each with the number of the world that it is.
    pub(super) runs: Vec<(RunKey, usize)>,
    /// The claim's schemes among those of the scene.
    compare: Vec<usize>,
}

/// The experiments of some claims.
pub(super) struct Experiments<'a> {
    /// The experiments: claim by claim, cells before variants.
    pub(super) list: Vec<Experiment<'a>>,
    /// Each distinct world: the experiment and run that it is run as.
    pub(super) worlds: Vec<(usize, RunKey)>,
    /// Those that are drawn over time.
    pub(super) drawn: BTreeSet<usize>,
    known: BTreeMap<String, usize>,
    shared: SharedStocks,
    sources: Sources,
}

impl Default for Experiments<'_> {
    fn default() -> Self {
        Self {
            list: Vec::new(),
            worlds: Vec::new(),
            drawn: BTreeSet::new(),
            known: BTreeMap::new(),
            shared: SharedStocks::default(),
            sources: Sources::new(TraceUse::InTurn),
        }
    }
}

impl<'a> Experiments<'a> {
    /// Adds a claim. To look around it is as large as a quick run, and so are its variants, which
    /// are there beside verdicts only.
    pub(super) fn add(
        &mut self,
        set: &'a ClaimSet,
        claim: &'a Claim,
        purpose: Purpose,
        common: &Common<'_>,
    ) -> Result<(), LabError> {
        let quick = purpose == Purpose::Exploration;
        let size = if quick { claim.quick } else { claim.full };
        let stream = set.stream(claim, purpose)?;
        let none = Patch::default();
        let cells: Vec<(Part<'a>, &Patch)> = match claim.cells.as_slice() {
            [] => vec![(Part::Whole, &none)],
            names => names.iter().map(|n| (Part::Cell(n), &set.variants[n])).collect(),
        };
        let base = cells[0].1;
        let scene = set.scenario(claim, size, &stream, common.content.is_some(), &[base])?;
        let (variants, statistics) = beside(set, claim, &Metrics::of(claim, &scene))?;
        let first = self.list.len();
        for (part, patch) in &cells {
            self.add_scene(set, claim, *part, (size, &stream), &[patch], &statistics, common)?;
        }
        self.drawn.extend(self.list[first].drawn().map(|(_, world)| world));
        for name in variants.iter().filter(|_| !quick) {
            let (part, patches) = (Part::Variant(name), [base, &set.variants[*name]]);
            self.add_scene(
                set,
                claim,
                part,
                (claim.quick, &stream),
                &patches,
                &statistics,
                common,
            )?;
        }
        Ok(())
    }

    #[expect(clippy::too_many_arguments, reason = "one place calls it, twice")]
    fn add_scene(
        &mut self,
        set: &ClaimSet,
        claim: &'a Claim,
        part: Part<'a>,
        (size, stream): (Size, &Stream),
        patches: &[&Patch],
        shown: &[Statistic],
        common: &Common<'_>,
    ) -> Result<(), LabError> {
        let draws = match part {
            Part::Cell(name) if claim.draws == Draws::Own => stream.of_cell(name),
            _ => stream.clone(),
        };
        let scenario = set.scenario(claim, size, &draws, common.content.is_some(), patches)?;
        let plan = Plan::with(scenario, common, &mut self.sources)?;
        let stocks = self.shared.of(&plan)?;
        let place = |name: &String| plan.scenario.schemes.iter().position(|s| s.name == *name);
        let compare: Vec<usize> = claim.compare.iter().filter_map(place).collect();
        let index = self.list.len();
        let mut runs = Vec::new();
        for key in plan.runs().filter(|_| claim.measure.is_none()) {
            let next = self.worlds.len();
            let world = *self.known.entry(identity(&plan, key)).or_insert(next);
            if world == next {
                self.worlds.push((index, key));
            }
            runs.push((key, world));
        }
        self.list.push(Experiment {
            claim,
            part,
            stream: stream.clone(),
            metrics: Metrics::of(claim, &plan.scenario),
            shown: shown.to_vec(),
            plan,
            stocks,
            runs,
            compare,
        });
        Ok(())
    }
}

/// The variants that a claim lists beside it, and all statistics that are shown of its scenes.
fn beside<'a>(
    set: &'a ClaimSet,
    claim: &'a Claim,
    metrics: &Metrics,
) -> Result<(Vec<&'a str>, Vec<Statistic>), InputError> {
    let mut statistics = claim.rule.statistics();
    let mut variants = Vec::new();
    for text in &claim.beside {
        if set.variants.contains_key(text) {
            variants.push(text.as_str());
            continue;
        }
        let bad = |found: String| {
            let expected = "expected a variant or a statistic of metrics that are known";
            InputError::new(found, expected).at_key(format!("{}.beside", claim.id))
        };
        let statistic = Statistic::try_from(text.clone()).map_err(bad)?;
        if let Some(unknown) = statistic.metrics().into_iter().find(|m| !metrics.has(m, claim)) {
            return Err(bad(format!("\"{unknown}\"")));
        }
        if !statistics.contains(&statistic) {
            statistics.push(statistic);
        }
    }
    for statistic in &statistics {
        if let Some(unknown) = statistic.metrics().into_iter().find(|m| !metrics.has(m, claim)) {
            let found = format!("\"{unknown}\"");
            let error = InputError::new(found, "expected a metric that is known");
            return Err(error.at_key(format!("{}.rule", claim.id)));
        }
    }
    Ok((variants, statistics))
}

impl Experiment<'_> {
    /// What it is called in rows: the claim's id, with the cell or variant behind a `/`.
    pub(super) fn name(&self) -> String {
        match self.part.name() {
            None => self.claim.id.clone(),
            Some(part) => format!("{}/{part}", self.claim.id),
        }
    }

    /// Those of its runs that a page draws over time, a world each: the first draw under the first
    /// seed, which was drawn before anything was measured.
    pub(super) fn drawn(&self) -> impl Iterator<Item = (RunKey, usize)> {
        let scenario = &self.plan.scenario;
        let few = scenario.casts.iter().map(|c| c.names().len()).sum::<usize>() <= MOST_DRAWN;
        let first = scenario.seeds.first().copied();
        let is = move |key: &RunKey| few && key.case == 0 && Some(key.seed) == first;
        self.runs.iter().copied().filter(move |(key, _)| is(key))
    }

    /// How many of its runs finished.
    pub(super) fn finished(&self, worlds: &[Option<ClaimRun>]) -> usize {
        self.runs.iter().filter(|(_, world)| worlds[*world].is_some()).count()
    }

    /// Its runs under the schemes of the claim; `None` unless all finished, or if it takes none.
    fn compared<'w>(&'w self, worlds: &'w [Option<ClaimRun>]) -> Option<Compared<'w>> {
        if self.claim.measure.is_some() {
            return None;
        }
        let done: BTreeMap<(usize, usize, u64), &ClaimRun> = self
            .runs
            .iter()
            .filter_map(|(k, world)| Some(((k.case, k.scheme, k.seed), worlds[*world].as_ref()?)))
            .collect();
        let schemes = (self.claim.compare.as_slice(), self.compare.as_slice());
        Compared::new(&self.plan, &self.stocks, schemes, &done)
    }

    /// Its samples; none unless every run finished.
    pub(super) fn samples(&self, worlds: &[Option<ClaimRun>]) -> ByMetric {
        match &self.claim.measure {
            Some(measure) => measured::of_measure(measure, &self.plan, &self.stocks),
            None => self.compared(worlds).map(|c| measured::figures(&c)).unwrap_or_default(),
        }
    }

    /// What workloads say of it, given its samples.
    pub(super) fn chapters(
        &self,
        worlds: &[Option<ClaimRun>],
        samples: &ByMetric,
    ) -> Vec<ClaimChapter> {
        let Some(compared) = self.compared(worlds) else { return Vec::new() };
        let casts = self.plan.scenario.casts.iter().filter(|cast| !cast.is_empty());
        casts.map(|cast| cast.claim_chapter(&compared, samples)).collect()
    }
}
