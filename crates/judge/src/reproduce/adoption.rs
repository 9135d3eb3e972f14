//! Adoption of runs that another build of Airlane finished.
//!
//! A journal's keys name the build, for another one may compute something else. What it left counts here once a run
//! of each scheme of each scene was repeated and came out the same in all that the journal has of it.

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

    /// The runs that count, once the witnesses have run, and how many do not: those of a group whose witness came out
    /// different or not at all.
    pub(super) fn accepted(
        mut self,
        worlds: &[Option<ClaimRun>],
    ) -> (BTreeMap<usize, ClaimRecord>, usize) {
        let as_json = |record: &ClaimRecord| serde_json::to_string(record).ok();
        let is_same = |witness: usize| {
            let (then, now) = (&self.candidates[&witness], worlds[witness].as_ref());
            now.is_some_and(|now| as_json(&now.record()) == as_json(then))
        };
        let refused: BTreeSet<usize> = self
            .groups
            .iter()
            .filter(|group| group.first().is_some_and(|witness| !is_same(*witness)))
            .flatten()
            .copied()
            .collect();
        self.candidates.retain(|world, _| !refused.contains(world) && worlds[*world].is_none());
        (self.candidates, refused.len())
    }
}
