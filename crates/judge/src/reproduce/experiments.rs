//! The experiments behind the claims, and the worlds that they need. A world that several
//! experiments have in common runs once.

use std::collections::{BTreeMap, BTreeSet};

use airlane_base::InputError;

use super::measured::{self, Metrics};
use crate::claims::{
    ByMetric, CellSamples, Claim, ClaimSet, Draws, Patch, Purpose, Size, Statistic, Stream,
};
use crate::journal::Identities;
use airlane_sim::Common;
use airlane_sim::LabError;
use airlane_sim::plan::{GivenTrace, Plan, RunKey, Sources, TraceUse, identity};
use airlane_sim::workload::{Caches, ClaimRun, ClaimSection, SceneRuns, traffic_of};
use airlane_sim::world::SharedCaches;

/// With more actors than this nothing is plotted over time: their lines could not be told apart.
const MAX_PLOTTED_ACTORS: usize = 16;

/// Role of a scene for its claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SceneKind<'a> {
    /// The only one that the claim is judged by.
    Single,
    /// One of several that the claim is judged by, by the variant's name.
    Cell(&'a str),
    /// Shown beside the claim, with one thing changed.
    Beside(&'a str),
}

impl<'a> SceneKind<'a> {
    /// The name of cell or variant.
    pub(super) fn name(self) -> Option<&'a str> {
        match self {
            Self::Single => None,
            Self::Cell(name) | Self::Beside(name) => Some(name),
        }
    }

    /// True if it is only shown beside the claim, and does not affect its verdict.
    pub(super) fn is_beside(self) -> bool {
        matches!(self, Self::Beside(_))
    }
}

/// A scene of a claim with its plan, its runs and what is shown of it.
pub(super) struct Experiment<'a> {
    /// The claim.
    pub(super) claim: &'a Claim,
    /// Role of the scene for the claim.
    pub(super) kind: SceneKind<'a>,
    /// The claim's stream; a cell with draws of its own splits it by its name.
    pub(super) stream: Stream,
    /// The metrics that its statistics may use.
    pub(super) metrics: Metrics,
    /// The statistics over all draws that are shown.
    pub(super) statistics: Vec<Statistic>,
    /// The scene, with its cases: a case is a draw.
    pub(super) plan: Plan,
    /// Data that its runs share.
    pub(super) caches: Caches,
    /// The runs, each with the index of its world in [`Experiments::worlds`]; none for a claim with
    /// a `measure`.
    pub(super) runs: Vec<(RunKey, usize)>,
    /// The indices, among the schemes of the scene, of those that the claim compares.
    compared_schemes: Vec<usize>,
}

/// A world: a run of one or of several experiments.
pub(super) struct World {
    /// The index in [`Experiments::list`] of an experiment that has it.
    pub(super) experiment: usize,
    /// Key of one of its runs.
    pub(super) key: RunKey,
    /// Key of the world in a journal.
    pub(super) id: String,
}

/// The experiments of some claims.
pub(super) struct Experiments<'a> {
    /// The experiments: claim by claim, cells before variants.
    pub(super) list: Vec<Experiment<'a>>,
    /// The distinct worlds.
    pub(super) worlds: Vec<World>,
    /// The worlds that a page plots over time, by index.
    pub(super) plotted: BTreeSet<usize>,
    /// The index of each world by its identity: the text of all that it depends on.
    world_of_identity: BTreeMap<String, usize>,
    shared: SharedCaches,
    identities: Identities,
    sources: Sources,
}

impl Default for Experiments<'_> {
    fn default() -> Self {
        Self {
            list: Vec::new(),
            worlds: Vec::new(),
            plotted: BTreeSet::new(),
            world_of_identity: BTreeMap::new(),
            shared: SharedCaches::default(),
            identities: Identities::default(),
            sources: Sources::new(TraceUse::Windows),
        }
    }
}

impl<'a> Experiments<'a> {
    /// Adds the experiments of a claim: its cells (or its single scene), then the variants beside
    /// it. For exploration everything has the claim's quick size, and there are no variants;
    /// variants always have the quick size.
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
        let cells: Vec<(SceneKind<'a>, &Patch)> = match claim.cells.as_slice() {
            [] => vec![(SceneKind::Single, &none)],
            names => names.iter().map(|n| (SceneKind::Cell(n), &set.variants[n])).collect(),
        };
        let base = cells[0].1;
        let scene = set.scenario(claim, size, &stream, common.content.is_some(), &[base])?;
        let (variants, statistics) = listed_beside(set, claim, &Metrics::of(claim, &scene))?;
        check_chart(claim, &Metrics::of(claim, &scene))?;
        let first = self.list.len();
        for (kind, patch) in &cells {
            self.add_scene(set, claim, *kind, (size, &stream), &[patch], &statistics, common)?;
        }
        self.plotted.extend(self.list[first].plotted_runs().map(|(_, world)| world));
        for name in variants.iter().filter(|_| !quick) {
            let (kind, patches) = (SceneKind::Beside(name), [base, &set.variants[*name]]);
            self.add_scene(
                set,
                claim,
                kind,
                (claim.quick, &stream),
                &patches,
                &statistics,
                common,
            )?;
        }
        Ok(())
    }

    /// Refuses traces of the command line that concern no scene.
    pub(super) fn refuse_unused(&self, traces: &[GivenTrace]) -> Result<(), LabError> {
        Ok(self.sources.refuse_unused(traces)?)
    }

    #[expect(clippy::too_many_arguments, reason = "one place calls it, twice")]
    fn add_scene(
        &mut self,
        set: &ClaimSet,
        claim: &'a Claim,
        kind: SceneKind<'a>,
        (size, stream): (Size, &Stream),
        patches: &[&Patch],
        statistics: &[Statistic],
        common: &Common<'_>,
    ) -> Result<(), LabError> {
        // What stands beside cells with draws of their own is compared with the first.
        let cell = match kind {
            SceneKind::Single => None,
            SceneKind::Cell(name) => Some(name),
            SceneKind::Beside(_) => claim.cells.first().map(String::as_str),
        };
        let stream_of_scene = match cell.filter(|_| claim.draws == Draws::Own) {
            Some(cell) => stream.of_cell(cell),
            None => stream.clone(),
        };
        let scenario =
            set.scenario(claim, size, &stream_of_scene, common.content.is_some(), patches)?;
        let plan = Plan::with(scenario, common, &mut self.sources)?;
        let caches = self.shared.of(&plan)?;
        let place = |name: &String| plan.scenario.schemes.iter().position(|s| s.name == *name);
        let compared_schemes: Vec<usize> = claim.compare.iter().filter_map(place).collect();
        let index = self.list.len();
        let mut runs = Vec::new();
        for key in plan.runs().filter(|_| claim.measure.is_none()) {
            let next = self.worlds.len();
            let world = *self.world_of_identity.entry(identity(&plan, key)).or_insert(next);
            if world == next {
                let id = self.identities.key(&plan, key);
                self.worlds.push(World { experiment: index, key, id });
            }
            runs.push((key, world));
        }
        self.list.push(Experiment {
            claim,
            kind,
            stream: stream.clone(),
            metrics: Metrics::of(claim, &plan.scenario),
            statistics: statistics.to_vec(),
            plan,
            caches,
            runs,
            compared_schemes,
        });
        Ok(())
    }
}

/// The variants that a claim lists beside it, and the statistics that are shown of its scenes: those
/// of its rule and those that it lists beside it.
fn listed_beside<'a>(
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
    check_units(claim, metrics, &statistics)?;
    Ok((variants, statistics))
}

/// Refuses statistics that compare figures of different units, and a unit in which the headline
/// cannot be told.
fn check_units(
    claim: &Claim,
    metrics: &Metrics,
    statistics: &[Statistic],
) -> Result<(), InputError> {
    let units = metrics.units();
    for statistic in statistics {
        if let Err(found) = units.of(statistic) {
            let error = InputError::new(found, "expected figures of one unit");
            return Err(error.at_key(format!("{}: {statistic}", claim.id)));
        }
    }
    let Some(Ok(headline)) = statistics.first().map(|of| units.of(of)) else { return Ok(()) };
    if headline.in_units_of(claim.unit.unit).is_none() {
        let found = format!("\"{}\"", claim.unit);
        let expected = format!("expected a unit of what is measured, which is in \"{headline}\"");
        return Err(InputError::new(found, expected).at_key(format!("{}.unit", claim.id)));
    }
    Ok(())
}

/// Refuses a chart of metrics that are not known of every scheme.
fn check_chart(claim: &Claim, metrics: &Metrics) -> Result<(), InputError> {
    let axes = claim.chart.iter().flat_map(|chart| chart.axes());
    for (key, axis) in axes {
        let all = axis.of_schemes(claim);
        let mut used = all.iter().flat_map(|(_, of)| of.metrics());
        if let Some(unknown) = used.find(|metric| !metrics.has(metric, claim)) {
            let expected = "expected a metric that is known of every scheme of `compare`";
            return Err(InputError::new(format!("\"{unknown}\""), expected)
                .at_key(format!("{}.chart.{key}.of", claim.id)));
        }
    }
    Ok(())
}

impl Experiment<'_> {
    /// Its name in rows: the claim's id, followed by `/` and the cell or variant.
    pub(super) fn name(&self) -> String {
        match self.kind.name() {
            None => self.claim.id.clone(),
            Some(part) => format!("{}/{part}", self.claim.id),
        }
    }

    /// The runs that a page plots over time, with their worlds: the first draw under the first
    /// seed, a run per scheme. They are fixed before anything is measured.
    pub(super) fn plotted_runs(&self) -> impl Iterator<Item = (RunKey, usize)> {
        let scenario = &self.plan.scenario;
        let few = scenario.participants.iter().map(|c| c.names().len()).sum::<usize>()
            <= MAX_PLOTTED_ACTORS;
        let first = scenario.seeds.first().copied();
        let is = move |key: &RunKey| few && key.case == 0 && Some(key.seed) == first;
        self.runs.iter().copied().filter(move |(key, _)| is(key))
    }

    /// Number of its runs that finished.
    pub(super) fn finished(&self, worlds: &[Option<ClaimRun>]) -> usize {
        self.runs.iter().filter(|(_, world)| worlds[*world].is_some()).count()
    }

    /// Its runs by case, seed and compared scheme; `None` unless all finished, or if it has none.
    fn compared<'w>(&'w self, worlds: &'w [Option<ClaimRun>]) -> Option<SceneRuns<'w>> {
        if self.claim.measure.is_some() {
            return None;
        }
        let done: BTreeMap<(usize, usize, u64), &ClaimRun> = self
            .runs
            .iter()
            .filter_map(|(k, world)| Some(((k.case, k.scheme, k.seed), worlds[*world].as_ref()?)))
            .collect();
        let schemes = (self.claim.compare.as_slice(), self.compared_schemes.as_slice());
        SceneRuns::new(&self.plan, &self.caches, schemes, &done)
    }

    /// Its figures by metric; none unless every run finished.
    pub(super) fn figures(&self, worlds: &[Option<ClaimRun>]) -> ByMetric {
        match &self.claim.measure {
            Some(measure) => measured::measure_figures(measure, &self.plan, &self.caches),
            None => self.compared(worlds).map(|c| measured::figures(&c)).unwrap_or_default(),
        }
    }

    /// Its figures as those of a cell of the claim; a claim without cells has one without a name.
    pub(super) fn cell(&self, figures: ByMetric) -> CellSamples {
        CellSamples {
            name: self.kind.name().unwrap_or_default().to_owned(),
            figures,
            windows: self.plan.cases.iter().filter_map(|case| case.window.clone()).collect(),
        }
    }

    /// The chapters that workloads add to the claim's page, given the figures.
    pub(super) fn chapters(
        &self,
        worlds: &[Option<ClaimRun>],
        figures: &ByMetric,
    ) -> Vec<ClaimSection> {
        let Some(compared) = self.compared(worlds) else { return Vec::new() };
        let participants = traffic_of(&self.plan.scenario).filter(|traffic| !traffic.is_empty());
        participants.map(|traffic| traffic.claim_section(&compared, figures)).collect()
    }
}
