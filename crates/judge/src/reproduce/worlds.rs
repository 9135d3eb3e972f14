//! The worlds behind claims: read and checked, to be run here or elsewhere.

use airlane_base::InputError;
use airlane_sim::pool::{self, Job, Ticket};
use airlane_sim::workload::{ClaimRecord, ClaimRun};
use airlane_sim::world::{self, Options};
use airlane_sim::{Common, LabError};

use super::experiments::{Experiments, World};
use crate::claims::{Claim, ClaimSet, Purpose};
use crate::pending::PendingWorld;
use crate::reporting::claim_run;
use crate::request::ReproduceRequest;

/// Worlds that some claims are measured on, each once.
pub struct ClaimWorlds<'a> {
    /// The claims, each with its set.
    pub(super) claims: Vec<(&'a ClaimSet, &'a Claim)>,
    pub(super) experiments: Experiments<'a>,
}

impl<'a> ClaimWorlds<'a> {
    /// Reads and checks all that the claims in `sets` need which a request names.
    ///
    /// # Errors
    /// If the input is invalid.
    pub fn new(sets: &'a [ClaimSet], request: &ReproduceRequest<'_>) -> Result<Self, LabError> {
        let purpose = if request.quick { Purpose::Exploration } else { Purpose::Verdict };
        let claims = selected(sets, &request.only, purpose)?;
        let worlds = Self::of_claims(claims, purpose, &request.common)?;
        worlds.experiments.refuse_unused(&request.common.traces)?;
        Ok(worlds)
    }

    /// Reads and checks all that these claims need.
    pub(super) fn of_claims(
        claims: Vec<(&'a ClaimSet, &'a Claim)>,
        purpose: Purpose,
        common: &Common<'_>,
    ) -> Result<Self, LabError> {
        let mut experiments = Experiments::default();
        for (set, claim) in &claims {
            experiments.add(set, claim, purpose, common)?;
        }
        Ok(Self { claims, experiments })
    }

    /// Number of the worlds.
    pub fn planned(&self) -> usize {
        self.experiments.worlds.len()
    }

    /// Worlds without a run in `runs`, which has a place for each, that are wanted by their number.
    pub(super) fn pending(
        &self,
        runs: &[Option<ClaimRun>],
        is_wanted: &dyn Fn(usize) -> bool,
    ) -> Vec<PendingWorld> {
        let missing =
            (0..runs.len()).filter(|number| runs[*number].is_none() && is_wanted(*number));
        let pending = missing.map(|number| {
            let World { experiment, key, .. } = self.experiments.worlds[number];
            let plan = &self.experiments.list[experiment].plan;
            let units = u64::try_from(plan.scenario.duration.as_millis()).unwrap_or(u64::MAX);
            PendingWorld { number, label: plan.label(key), units }
        });
        pending.collect()
    }

    /// Runs worlds of these numbers over the cores, and gives each run to `take` as soon as it is there. True if a stop
    /// kept some from finishing.
    ///
    /// # Errors
    /// The first fault of a run, or of `take`.
    pub fn run_all(
        &self,
        pending: &[PendingWorld],
        what: &str,
        common: &Common<'_>,
        take: impl Fn(&PendingWorld, &ClaimRecord) -> Result<(), LabError> + Sync,
    ) -> Result<(Vec<Option<ClaimRun>>, bool), LabError> {
        let options = Options { captures: common.captures.clone(), ..Options::default() };
        let (options, take) = (&options, &take);
        let mut jobs = Vec::with_capacity(pending.len());
        for world in pending {
            let number = world.number;
            let World { experiment, key, .. } = *self.world(number)?;
            let plotted = self.experiments.plotted.contains(&number);
            let experiment = &self.experiments.list[experiment];
            jobs.push(Job {
                label: world.label.clone(),
                seed: key.seed,
                command: common.repeat_command(key.seed),
                units: world.units,
                work: Box::new(move |ticket: &Ticket<'_>| {
                    let plan = &experiment.plan;
                    let output = world::run(plan, &experiment.caches, key, options, ticket)?;
                    let run = claim_run(plan, &output, plotted);
                    take(world, &run.record())?;
                    Ok(run)
                }),
            });
        }
        let done = pool::run(jobs, common.jobs, what, &common.stop, common.progress);
        match done.error {
            Some(error) => Err(error),
            None => Ok((done.results, done.stopped)),
        }
    }

    /// The run of a world as a record has it; `None` if the record lacks something that is asked for.
    pub(super) fn restored(&self, number: usize, record: ClaimRecord) -> Option<ClaimRun> {
        let experiment = self.experiments.worlds[number].experiment;
        let plotted = self.experiments.plotted.contains(&number);
        ClaimRun::from_record(&self.experiments.list[experiment].plan, record, plotted)
    }

    /// The world of this number.
    pub(super) fn world(&self, number: usize) -> Result<&World, LabError> {
        let unknown = || LabError::fault(format!("no run {number} among {}", self.planned()));
        self.experiments.worlds.get(number).ok_or_else(unknown)
    }
}

/// The claims that `only` names (all if it is empty), each with its set.
pub(super) fn selected<'a>(
    sets: &'a [ClaimSet],
    only: &[String],
    purpose: Purpose,
) -> Result<Vec<(&'a ClaimSet, &'a Claim)>, InputError> {
    let all = || {
        sets.iter().flat_map(|set| set.claims_for(purpose).iter().map(move |claim| (set, claim)))
    };
    let meant = |claim: &Claim, name: &String| {
        let rest = claim.id.strip_prefix(name.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    if let Some(unknown) = only.iter().find(|name| !all().any(|(_, c)| meant(c, name))) {
        let ids: Vec<&str> = all().map(|(_, claim)| claim.id.as_str()).collect();
        let expected = format!("expected one of {}", ids.join(", "));
        return Err(InputError::new(format!("\"{unknown}\""), expected).at_key("--only"));
    }
    let wanted = |claim: &Claim| only.is_empty() || only.iter().any(|name| meant(claim, name));
    Ok(all().filter(|(_, claim)| wanted(claim)).collect())
}
