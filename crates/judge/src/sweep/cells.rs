//! The cells of a grid as plans, all of them checked before anything runs, and their runs.

use std::collections::{BTreeMap, BTreeSet};

use airlane_base::InputError;

use crate::journal::Identities;
use airlane_scenario::{Grid, OPTION_KEYS, within};
use airlane_sim::Common;
use airlane_sim::plan::{Plan, RunKey, Sources, TraceUse};
use airlane_sim::workload::RunResult;
use airlane_sim::world::SharedCaches;

/// Most runs of a sweep.
const MAX_RUNS: usize = 1_000_000;

/// A cell of the grid.
pub(super) struct Cell {
    /// Index of its value on each axis.
    pub(super) position: Vec<usize>,
    /// Its scenario; the name of it is the scenario's and the cell's.
    pub(super) plan: Plan,
    /// Its runs in the order of [`Plan::runs`], each with the key of its world.
    pub(super) runs: Vec<(RunKey, String)>,
}

/// All cells, and the name of the scenario without the cell.
pub(super) struct Cells {
    pub(super) name: String,
    pub(super) list: Vec<Cell>,
}

impl Cells {
    /// Reads and checks every cell of `grid`.
    pub(super) fn new(grid: &Grid, common: &Common<'_>) -> Result<Self, InputError> {
        refuse_overridden(grid, common)?;
        let (mut sources, mut identities) = (Sources::new(TraceUse::Each), Identities::default());
        let mut cells = Self { name: String::new(), list: Vec::new() };
        let mut shared = SharedCaches::default();
        let mut count = 0;
        for index in 0..grid.cells() {
            let scenario = grid.scenario(index)?;
            let label = grid.label(index);
            let in_cell = |e| within(e, &label);
            let mut plan = Plan::with(scenario, common, &mut sources).map_err(in_cell)?;
            if cells.name.is_empty() {
                cells.name.clone_from(&plan.scenario.name);
            }
            plan.scenario.name = format!("{}: {label}", cells.name);
            shared.check(&plan).map_err(in_cell)?;
            let runs: Vec<_> = plan.runs().map(|key| (key, identities.key(&plan, key))).collect();
            count += runs.len();
            if count > MAX_RUNS {
                let found = format!("more than {MAX_RUNS} runs");
                let expected = "expected fewer cells, cases, schemes or seeds";
                return Err(InputError::new(found, expected).at_file(&plan.scenario.source.name));
            }
            cells.list.push(Cell { position: grid.position(index), plan, runs });
        }
        Ok(cells)
    }

    /// Number of runs.
    pub(super) fn planned(&self) -> usize {
        self.list.iter().map(|c| c.runs.len()).sum()
    }

    /// Number of runs that have a record.
    pub(super) fn finished(&self, records: &BTreeMap<String, RunResult>) -> usize {
        let runs = self.list.iter().flat_map(|c| &c.runs);
        runs.filter(|(_, id)| records.contains_key(id)).count()
    }

    /// The run of this number: its cell, and its place in it.
    pub(super) fn numbered(&self, number: usize) -> Option<(&Cell, usize)> {
        let mut left = number;
        for cell in &self.list {
            if left < cell.runs.len() {
                return Some((cell, left));
            }
            left -= cell.runs.len();
        }
        None
    }

    /// The runs whose worlds are not among `records`, each world once: first the first pair of
    /// every cell, then the second, so that a sweep that is stopped has something of all cells.
    pub(super) fn pending(&self, records: &BTreeMap<String, RunResult>) -> Vec<Pending<'_>> {
        let mut all = Vec::new();
        let mut first = 0;
        for cell in &self.list {
            let schemes = cell.plan.scenario.schemes.len().max(1);
            for (place, (key, id)) in cell.runs.iter().enumerate() {
                if !records.contains_key(id) {
                    let number = first + place;
                    all.push((place / schemes, Pending { cell, key: *key, id, number }));
                }
            }
            first += cell.runs.len();
        }
        all.sort_by_key(|(round, _)| *round);
        let mut seen = BTreeSet::new();
        all.into_iter().map(|(_, run)| run).filter(|run| seen.insert(run.id)).collect()
    }
}

/// A world that has to be run.
#[derive(Clone, Copy)]
pub(super) struct Pending<'a> {
    pub(super) cell: &'a Cell,
    pub(super) key: RunKey,
    pub(super) id: &'a str,
    /// Its number among all runs.
    pub(super) number: usize,
}

/// An option that takes the place of a key in every cell leaves nothing to an axis of that key.
fn refuse_overridden(grid: &Grid, common: &Common<'_>) -> Result<(), InputError> {
    for (option, keys) in OPTION_KEYS {
        let given = match option {
            "--trace" => !common.traces.is_empty(),
            _ => common.cipher.is_some(),
        };
        let hit =
            |axis: &str| keys.iter().any(|k| *k == axis || k.starts_with(&format!("{axis}.")));
        if let Some(axis) = grid.axes().iter().find(|a| given && hit(&a.key)) {
            let found = format!("it takes away what the grid sets: {}", axis.key);
            return Err(InputError::new(found, "expected one of the two").at_key(option));
        }
    }
    Ok(())
}
