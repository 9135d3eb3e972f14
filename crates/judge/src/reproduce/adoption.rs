//! Adoption of runs that another build of Airlane finished.
//!
//! A journal's keys name the build, for another one may compute something else. What it left counts here once a run
//! of each scheme of each scene was repeated and came out the same.

use std::collections::{BTreeMap, BTreeSet};

use airlane_sim::workload::{ClaimRecord, ClaimRun};

use super::experiments::Experiments;
use crate::journal::world_of;

/// Runs of another build, by number of the world.
pub(super) struct Adoption {
    /// Runs that the other build left.
    candidates: BTreeMap<usize, ClaimRecord>,
    /// The candidates of each scheme of each experiment, in their order.
    groups: Vec<Vec<usize>>,
}

impl Adoption {
    /// The runs among `records`, by key, that are missing in `worlds`.
    pub(super) fn new(
        experiments: &Experiments<'_>,
        records: BTreeMap<String, ClaimRecord>,
        worlds: &[Option<ClaimRun>],
    ) -> Self {
        let mut of_world: BTreeMap<String, ClaimRecord> =
            records.into_iter().map(|(key, record)| (world_of(&key).to_owned(), record)).collect();
        let all = experiments.worlds.iter().enumerate();
        let candidates: BTreeMap<_, _> = all
            .filter(|(number, _)| worlds[*number].is_none())
            .filter_map(|(number, world)| Some((number, of_world.remove(world_of(&world.id))?)))
            .collect();
        let mut groups = Vec::new();
        for experiment in &experiments.list {
            let mut of_scheme: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
            let known = experiment.runs.iter().filter(|(_, world)| candidates.contains_key(world));
            for (key, world) in known {
                of_scheme.entry(key.scheme).or_default().push(*world);
            }
            groups.extend(of_scheme.into_values());
        }
        Self { candidates, groups }
    }

    /// The runs that are repeated: the first of each group.
    pub(super) fn witnesses(&self) -> BTreeSet<usize> {
        self.groups.iter().filter_map(|group| group.first().copied()).collect()
    }

    /// The runs that count, once the witnesses have run, and the number of those refused: of groups whose witness
    /// came out different. A group whose witness was stopped is neither.
    pub(super) fn accepted(
        mut self,
        worlds: &[Option<ClaimRun>],
    ) -> (BTreeMap<usize, ClaimRecord>, usize) {
        let mut refused = BTreeSet::<usize>::new();
        let mut stopped = BTreeSet::<usize>::new();
        for group in &self.groups {
            let Some(witness) = group.first() else { continue };
            match &worlds[*witness] {
                None => stopped.extend(group),
                Some(now) if now.record().is_same_run(&self.candidates[witness]) => {}
                Some(_) => refused.extend(group),
            }
        }
        let is_accepted = |world: &usize| !refused.contains(world) && !stopped.contains(world);
        self.candidates.retain(|world, _| is_accepted(world) && worlds[*world].is_none());
        (self.candidates, refused.len())
    }
}
