//! Which worlds the claims need. What two claims have in common is run once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use airlane_apps::vod::PACKET_OVERHEAD_BYTES;
use airlane_base::{IP_UDP_HEADER_BYTES, InputError};
use airlane_minerva::{RateCurve, fixed_rate_bound, fixed_rate_optimum};

use super::figures::Figures;
use super::samples::{self, Mix};
use super::value;
use crate::claims::{
    ByMetric, Claim, ClaimSet, Draws, Measure, Patch, Purpose, Size, Statistic, Stream,
};
use crate::error::LabError;
use crate::plan::{Plan, RunKey, Sources, TraceUse, identity};
use crate::request::Common;
use crate::scenario::Capacity;
use crate::workload::Stocks;
use crate::workloads::vod::{Drawn, Stock, Viewer, Viewers, metric_unit};
use crate::world::SharedStocks;

/// More viewers than this are not drawn over time: nobody could tell their lines apart.
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
    /// The figures over all mixes that are shown.
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
        let (variants, statistics) = beside(set, claim)?;
        let quick = purpose == Purpose::Exploration;
        let size = if quick { claim.quick } else { claim.full };
        let stream = set.stream(claim, purpose)?;
        let none = Patch::default();
        let cells: Vec<(Part<'a>, &Patch)> = match claim.cells.as_slice() {
            [] => vec![(Part::Whole, &none)],
            names => names.iter().map(|n| (Part::Cell(n), &set.variants[n])).collect(),
        };
        let base = cells[0].1;
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
        for key in plan.runs().filter(|_| claim.measure == Measure::Runs) {
            let next = self.worlds.len();
            let world = *self.known.entry(identity(&plan, key)).or_insert(next);
            if world == next {
                self.worlds.push((index, key));
            }
            runs.push((key, world));
        }
        let shown = shown.to_vec();
        let stream = stream.clone();
        self.list.push(Experiment { claim, part, stream, shown, plan, stocks, runs, compare });
        Ok(())
    }
}

/// The variants that a claim lists beside it, and all statistics that are shown of its scenes.
fn beside<'a>(
    set: &'a ClaimSet,
    claim: &'a Claim,
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
        if let Some(unknown) = statistic.metrics().into_iter().find(|m| !known(m, claim)) {
            return Err(bad(format!("\"{unknown}\"")));
        }
        if !statistics.contains(&statistic) {
            statistics.push(statistic);
        }
    }
    for statistic in &statistics {
        if let Some(unknown) = statistic.metrics().into_iter().find(|m| !known(m, claim)) {
            let found = format!("\"{unknown}\"");
            let error = InputError::new(found, "expected a metric that is known");
            return Err(error.at_key(format!("{}.rule", claim.id)));
        }
    }
    Ok((variants, statistics))
}

/// Whether a claim can have a metric of that name.
fn known(metric: &str, claim: &Claim) -> bool {
    let (name, cell) = match metric.split_once('@') {
        Some((name, cell)) => (name, Some(cell)),
        None => (metric, None),
    };
    let metric = match claim.measure {
        Measure::Runs => samples::is_known(name, &claim.compare),
        Measure::ValueFunction => value::METRICS.contains(&name),
    };
    metric && cell.is_none_or(|cell| claim.cells.iter().any(|c| c == cell))
}

impl Experiment<'_> {
    /// What it is called in rows: the claim's id, with the cell or variant behind a `/`.
    pub(super) fn name(&self) -> String {
        match self.part.name() {
            None => self.claim.id.clone(),
            Some(part) => format!("{}/{part}", self.claim.id),
        }
    }

    /// The name of the scheme that it is about.
    pub(super) fn treatment_name(&self) -> &str {
        &self.claim.compare[0]
    }

    /// The name of what it is compared with, if anything.
    pub(super) fn baseline_name(&self) -> Option<&str> {
        self.claim.compare.get(1).map(String::as_str)
    }

    /// Those of its runs that a page draws over time, a world each: the first mix under the first
    /// seed, which was drawn before anything was measured.
    pub(super) fn drawn(&self) -> impl Iterator<Item = (RunKey, usize)> {
        let scenario = &self.plan.scenario;
        let few = Viewers::of(scenario).viewers.len() <= MOST_DRAWN;
        let first = scenario.seeds.first().copied();
        let is = move |key: &RunKey| few && key.case == 0 && Some(key.seed) == first;
        self.runs.iter().copied().filter(move |(key, _)| is(key))
    }

    /// How many of its runs finished.
    pub(super) fn finished(&self, worlds: &[Option<Figures>]) -> usize {
        self.runs.iter().filter(|(_, world)| worlds[*world].is_some()).count()
    }

    /// Its samples; none unless every run finished.
    pub(super) fn samples(&self, worlds: &[Option<Figures>]) -> ByMetric {
        match self.claim.measure {
            Measure::ValueFunction => value::samples(&self.plan, &self.stocks),
            Measure::Runs => self
                .mixes(worlds)
                .map(|mixes| samples::samples(&mixes, &self.claim.compare))
                .unwrap_or_default(),
        }
    }

    /// Its mixes in order; `None` unless every run finished.
    pub(super) fn mixes<'w>(&self, worlds: &'w [Option<Figures>]) -> Option<Vec<Mix<'w>>> {
        let done: BTreeMap<(usize, usize, u64), &Figures> = self
            .runs
            .iter()
            .filter_map(|(k, world)| Some(((k.case, k.scheme, k.seed), worlds[*world].as_ref()?)))
            .collect();
        (0..self.plan.cases.len())
            .map(|case| {
                let run = |&seed: &u64| -> Option<Vec<&Figures>> {
                    self.compare.iter().map(|s| done.get(&(case, *s, seed)).copied()).collect()
                };
                let runs = self.plan.scenario.seeds.iter().map(run);
                let (optimum, bound) = self.optimum(case);
                Some(Mix { runs: runs.collect::<Option<_>>()?, optimum, bound })
            })
            .collect()
    }

    /// Lowest QoE at the fixed-rate optimum of a mix and at its bound, of the viewers under the
    /// scheme: on what web traffic leaves of the link, and of that on an even share per viewer
    /// where others watch beside them. No number where the link is not constant or shared with
    /// bulk transfers, where viewers come and go, where their QoE has several units, or where
    /// nothing is known of a video.
    fn optimum(&self, case: usize) -> (f64, f64) {
        let scenario = &self.plan.scenario;
        let cast = Viewers::of(scenario);
        let (Some(watched), Some(stock)) =
            (Drawn::in_case(&self.plan, case), Stock::of(&self.stocks))
        else {
            return (f64::NAN, f64::NAN);
        };
        let all = cast.viewers.iter().zip(&watched.videos);
        let own: Vec<_> = all.filter(|(viewer, _)| viewer.control.is_none()).collect();
        let unit = |viewer: &Viewer| metric_unit(cast.metric_of(viewer));
        let curve = |(viewer, video): &(&Viewer, &Arc<airlane_media::Video>)| {
            stock.curve(cast, viewer, &video.name)
        };
        let curves: Option<Vec<&RateCurve>> = own.iter().map(curve).collect();
        let comparable = own.windows(2).all(|pair| unit(pair[0].0) == unit(pair[1].0));
        // Who takes as much as there is leaves nothing that is known beforehand.
        let others: Option<f64> =
            scenario.casts.iter().filter(|c| !c.adapts()).map(|c| c.offered_bps()).sum();
        let steady = others.is_some() && cast.arrivals.is_none() && comparable;
        let (Some(curves), Capacity::Constant(rate), true) =
            (curves, &scenario.link.capacity, steady)
        else {
            return (f64::NAN, f64::NAN);
        };
        let payload = scenario.transport.payload_bytes;
        let body = payload.saturating_sub(PACKET_OVERHEAD_BYTES) as f64;
        let packet = payload + u64::from(IP_UDP_HEADER_BYTES);
        let bodies = rate.bps() as f64 * body / packet as f64 - others.unwrap_or_default();
        let share = own.len() as f64 / cast.viewers.len().max(1) as f64;
        if curves.is_empty() || bodies <= 0.0 {
            return (f64::NAN, f64::NAN);
        }
        let optimum = fixed_rate_optimum(&curves, share * bodies).worst_qoe;
        (optimum, fixed_rate_bound(&curves, share * bodies).worst_qoe)
    }
}
