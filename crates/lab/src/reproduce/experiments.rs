//! Which worlds the claims need. What two claims have in common is run once.

use std::collections::BTreeMap;
use std::sync::Arc;

use airlane_apps::vod::PACKET_OVERHEAD_BYTES;
use airlane_base::{IP_UDP_HEADER_BYTES, InputError};
use airlane_minerva::{RateCurve, fixed_rate_bound, fixed_rate_optimum};

use super::figures::Figures;
use super::samples::{self, Mix};
use super::variants::Variant;
use crate::claims::{Claim, ClaimSet};
use crate::error::LabError;
use crate::plan::{Plan, RunKey};
use crate::request::Common;
use crate::scenario::{Capacity, Scenario};
use crate::world::Content;

/// A claim's scene, or a variant of it, with the runs that it means.
pub(super) struct Experiment<'a> {
    /// The claim.
    pub(super) claim: &'a Claim,
    /// What differs from the claim's scene.
    pub(super) variant: Option<&'static Variant>,
    /// The scene.
    pub(super) plan: Plan,
    /// What its runs share.
    pub(super) content: Arc<Content>,
    /// The runs, each with the number of the world that it is.
    pub(super) runs: Vec<(RunKey, usize)>,
    treatment: usize,
    baseline: usize,
}

/// The experiments of some claims.
#[derive(Default)]
pub(super) struct Experiments<'a> {
    /// The experiments: claim by claim, variants behind their claim.
    pub(super) list: Vec<Experiment<'a>>,
    /// Each distinct world: the experiment and run that it is run as.
    pub(super) worlds: Vec<(usize, RunKey)>,
    known: BTreeMap<String, usize>,
    contents: BTreeMap<String, Arc<Content>>,
}

impl<'a> Experiments<'a> {
    /// Adds a claim; its variants only if not `quick`, and those as large as a quick run.
    pub(super) fn add(
        &mut self,
        set: &ClaimSet,
        claim: &'a Claim,
        quick: bool,
        common: &Common<'_>,
    ) -> Result<(), LabError> {
        let known = |name: &&String| Variant::named(name).is_some() || samples::is_known(name);
        if let Some(name) = claim.beside.iter().find(|name| !known(name)) {
            let error = InputError::new(format!("\"{name}\""), "expected a row that is known");
            return Err(error.at_key(format!("{}.beside", claim.id)).into());
        }
        let size = if quick { claim.quick } else { claim.full };
        let plan = Plan::new(set.scenario(claim, size)?, common)?;
        let variants = claim.beside.iter().filter(|_| !quick).filter_map(|n| Variant::named(n));
        let variants: Vec<_> = variants
            .map(|variant| {
                let mut plan = plan.clone();
                variant.apply(&mut plan.scenario);
                plan.cases.truncate(claim.quick.pairs);
                plan.scenario.seeds.truncate(claim.quick.seeds);
                (Some(variant), plan)
            })
            .collect();
        for (variant, plan) in std::iter::once((None, plan)).chain(variants) {
            self.add_plan(claim, variant, plan)?;
        }
        Ok(())
    }

    fn add_plan(
        &mut self,
        claim: &'a Claim,
        variant: Option<&'static Variant>,
        plan: Plan,
    ) -> Result<(), LabError> {
        let content = self.content(&plan)?;
        let names = claim.scene.schemes.as_deref().unwrap_or_default();
        let scheme = |place: usize| {
            let name = names.get(place);
            name.and_then(|n| plan.scenario.schemes.iter().position(|s| s.name == *n))
        };
        let (Some(treatment), Some(baseline)) = (scheme(0), scheme(1)) else {
            let found = format!("found {} schemes", names.len());
            let error = InputError::new(found, "expected a system and its baseline");
            return Err(error.at_key(format!("{}.scene.schemes", claim.id)).into());
        };
        let index = self.list.len();
        let mut runs = Vec::new();
        for key in plan.runs() {
            let next = self.worlds.len();
            let world = *self.known.entry(identity(&plan, key)).or_insert(next);
            if world == next {
                self.worlds.push((index, key));
            }
            runs.push((key, world));
        }
        self.list.push(Experiment { claim, variant, plan, content, runs, treatment, baseline });
        Ok(())
    }

    /// Contents cost seconds and depend on little of a plan: plans that agree in that share one.
    fn content(&mut self, plan: &Plan) -> Result<Arc<Content>, LabError> {
        let s = &plan.scenario;
        let schemes: Vec<_> = s.schemes.iter().map(|s| (s.control, s.minerva)).collect();
        let key = format!("{:?} {:?} {schemes:?} {:?}", s.player, s.min_chunks, s.transport);
        if let Some(content) = self.contents.get(&key) {
            return Ok(content.clone());
        }
        let content = Arc::new(Content::new(plan)?);
        self.contents.insert(key, content.clone());
        Ok(content)
    }
}

/// All that a run depends on. The names of scenario and schemes do not matter.
fn identity(plan: &Plan, key: RunKey) -> String {
    let Scenario { duration, link, host, transport, player, viewers, bulk, min_chunks, .. } =
        &plan.scenario;
    let scheme = &plan.scenario.schemes[key.scheme];
    let case = &plan.cases[key.case];
    let videos: Vec<&str> = case.videos.iter().map(|v| v.name.as_str()).collect();
    format!(
        "{duration:?} {link:?} {host:?} {transport:?} {player:?} {viewers:?} {bulk:?} \
         {min_chunks} {:?} {:?} {:?} {} {videos:?} {}",
        scheme.control, scheme.queue, scheme.minerva, case.name, key.seed
    )
}

impl Experiment<'_> {
    /// What it is called in rows: the claim's id, with the variant behind a `/`.
    pub(super) fn name(&self) -> String {
        match self.variant {
            None => self.claim.id.clone(),
            Some(variant) => format!("{}/{}", self.claim.id, variant.name),
        }
    }

    /// The name of the scheme that it is about.
    pub(super) fn treatment_name(&self) -> &str {
        &self.plan.scenario.schemes[self.treatment].name
    }

    /// The name of the baseline.
    pub(super) fn baseline_name(&self) -> &str {
        &self.plan.scenario.schemes[self.baseline].name
    }

    /// How many of its runs finished.
    pub(super) fn finished(&self, worlds: &[Option<Figures>]) -> usize {
        self.runs.iter().filter(|(_, world)| worlds[*world].is_some()).count()
    }

    /// Its mixes in order; `None` unless every run finished.
    pub(super) fn mixes<'w>(&self, worlds: &'w [Option<Figures>]) -> Option<Vec<Mix<'w>>> {
        let figures = |case: usize, scheme: usize, seed: u64| {
            let wanted = RunKey { case, scheme, seed };
            let (_, world) = self.runs.iter().find(|(key, _)| *key == wanted)?;
            worlds[*world].as_ref()
        };
        (0..self.plan.cases.len())
            .map(|case| {
                let runs = self.plan.scenario.seeds.iter().map(|&seed| {
                    let treated = figures(case, self.treatment, seed)?;
                    Some((treated, figures(case, self.baseline, seed)?))
                });
                let (optimum, bound) = self.optimum(case);
                Some(Mix { runs: runs.collect::<Option<_>>()?, optimum, bound })
            })
            .collect()
    }

    /// Lowest QoE at the fixed-rate optimum of a mix and at its bound; no number where the link
    /// is not constant or nothing is known of a video.
    fn optimum(&self, case: usize) -> (f64, f64) {
        let curves: Option<Vec<&RateCurve>> =
            self.plan.cases[case].videos.iter().map(|v| self.content.curves.get(&v.name)).collect();
        let (Some(curves), Capacity::Constant(rate)) = (curves, &self.plan.scenario.link.capacity)
        else {
            return (f64::NAN, f64::NAN);
        };
        let payload = self.plan.scenario.transport.payload_bytes;
        let body = payload.saturating_sub(PACKET_OVERHEAD_BYTES) as f64;
        let packet = payload + u64::from(IP_UDP_HEADER_BYTES);
        let bodies = rate.bps() as f64 * body / packet as f64;
        let optimum = fixed_rate_optimum(&curves, bodies).worst_qoe;
        (optimum, fixed_rate_bound(&curves, bodies).worst_qoe)
    }
}
