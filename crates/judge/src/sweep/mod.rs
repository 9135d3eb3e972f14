//! The command `sweep`: a scenario under every combination of some values, each world written
//! down as it finishes, so that a sweep goes on where it was stopped.

mod cells;
mod headline;
mod page;
#[cfg(feature = "parquet")]
mod parquet;
mod places;
mod table;
mod terminal;
mod verdict;

use std::collections::BTreeMap;

use crate::Registry;
use crate::journal::{Journal, JournalContent, JournalKind};
use crate::leave::{RunCounts, leave_after};
use crate::pending::PendingWorld;
use crate::reporting::{entry, rows};
use crate::request::{Outcome, SweepRequest};
use crate::summary::Summary;
use airlane_scenario::Grid;
use airlane_sim::Common;
use airlane_sim::LabError;
use airlane_sim::OutFolder;
use airlane_sim::pool::{self, Job, Ticket};
use airlane_sim::workload::RunResult;
use airlane_sim::world::{self, Options, SharedCaches};
use cells::{Cells, Pending};
use headline::Findings;

/// Runs a scenario under every combination of the values of its grid; leaves `summary.json`,
/// `sweep.csv` (and `sweep.parquet` with the feature `parquet`), `report.html`, `report.json.gz`,
/// `run.json` and the journal from which the next start in the same folder goes on.
///
/// What a start leaves depends on the grid and the seeds alone, not on how many starts it took. A
/// stop is no error: what had finished is written, and the outcome says so.
///
/// # Errors
/// What is wrong with the input, before anything runs; the first fault of a run; what the disk
/// refuses.
pub fn sweep(registry: &Registry, request: &SweepRequest<'_>) -> Result<Outcome, LabError> {
    let scenarios = registry.scenarios();
    let grid = Grid::from_file(scenarios, &request.scenario, &request.set, &request.grid)?;
    let mut sweep =
        Sweep::open(SweepWorlds::new(grid, &request.common)?, &request.common, request.fresh)?;
    let stopped = sweep.run_pending(&request.common)?;
    sweep.finish(&request.common, stopped)
}

/// Worlds of a sweep: a scenario under every combination of the values of a grid, read and checked.
pub struct SweepWorlds {
    grid: Grid,
    cells: Cells,
    caches: SharedCaches,
}

impl SweepWorlds {
    /// Reads and checks every cell of `grid`.
    ///
    /// # Errors
    /// If the input is invalid.
    pub fn new(grid: Grid, common: &Common<'_>) -> Result<Self, LabError> {
        let cells = Cells::new(&grid, common)?;
        Ok(Self { grid, cells, caches: SharedCaches::default() })
    }

    fn unknown(&self, number: usize) -> LabError {
        LabError::fault(format!("no run {number} among {}", self.cells.planned()))
    }

    /// Runs the world of this number, and returns its result.
    ///
    /// # Errors
    /// A fault of the run, or a stop.
    pub fn run(
        &self,
        number: usize,
        common: &Common<'_>,
        ticket: &Ticket<'_>,
    ) -> Result<RunResult, LabError> {
        let (cell, run) = self.cells.numbered(number).ok_or_else(|| self.unknown(number))?;
        let plan = &cell.plan;
        let caches = self.caches.of(plan)?;
        let options = Options { captures: common.captures.clone(), ..Options::default() };
        let result = world::run(plan, &caches, cell.runs[run].0, &options, ticket)?.result(plan);
        match result.not_finite() {
            Some(what) => Err(LabError::fault(format!("{what} is no finite number"))),
            None => Ok(result),
        }
    }

    /// Runs worlds of these numbers over the cores, and gives each result to `take` as soon as it is there. True if a
    /// stop kept some from finishing.
    ///
    /// # Errors
    /// The first fault of a run, or of `take`.
    pub fn run_all(
        &self,
        worlds: &[PendingWorld],
        what: &str,
        common: &Common<'_>,
        take: impl Fn(&PendingWorld, &RunResult) -> Result<(), LabError> + Sync,
    ) -> Result<(Vec<Option<RunResult>>, bool), LabError> {
        let take = &take;
        let mut jobs = Vec::with_capacity(worlds.len());
        for pending in worlds {
            let number = pending.number;
            let (cell, run) = self.cells.numbered(number).ok_or_else(|| self.unknown(number))?;
            let (seed, position) = (cell.runs[run].0.seed, Some(cell.position.as_slice()));
            jobs.push(Job {
                label: pending.label.clone(),
                seed,
                command: places::command(&self.grid, position, &cell.plan, common, Some(seed)),
                units: pending.units,
                work: Box::new(move |ticket: &Ticket<'_>| {
                    let result = self.run(number, common, ticket)?;
                    take(pending, &result)?;
                    Ok(result)
                }),
            });
        }
        let done = pool::run(jobs, common.jobs, what, &common.stop, common.progress);
        match done.error {
            Some(error) => Err(error),
            None => Ok((done.results, done.stopped)),
        }
    }
}

/// Sweep in its folder: worlds, the journal of those that have finished, and their results.
pub struct Sweep {
    worlds: SweepWorlds,
    folder: OutFolder,
    journal: Journal,
    records: BTreeMap<String, RunResult>,
    /// Number of runs that an earlier start had finished.
    reused: usize,
    /// Number of lines of the journal that could not be used.
    damaged: usize,
}

impl Sweep {
    /// Opens the journal in the folder of `common` and takes over what it has, unless the sweep is to begin `fresh`.
    ///
    /// # Errors
    /// If the disk refuses, or another command writes to the folder.
    pub fn open(worlds: SweepWorlds, common: &Common<'_>, fresh: bool) -> Result<Self, LabError> {
        common.captures.prepare()?;
        // The journal's lock first: the results of a sweep that still runs are left alone.
        let folder = OutFolder::prove(&common.out)?;
        let (journal, found) = Journal::open(folder.dir(), JournalKind::Sweep, fresh)?;
        let JournalContent { mut records, damaged } = found;
        let folder = OutFolder::prepare(folder.dir())?;
        if common.captures != Default::default() {
            // Captures are written by runs, not by journals.
            records.clear();
        }
        let reused = worlds.cells.finished(&records);
        Ok(Self { worlds, folder, journal, records, reused, damaged })
    }

    /// Worlds that have to be run, each once, in the order in which they are best run.
    pub fn pending(&self) -> Vec<PendingWorld> {
        let pending = |Pending { cell, key, number, .. }: Pending<'_>| PendingWorld {
            number,
            label: cell.plan.label(key),
            units: u64::try_from(cell.plan.scenario.duration.as_millis()).unwrap_or(u64::MAX),
        };
        self.worlds.cells.pending(&self.records).into_iter().map(pending).collect()
    }

    /// Adds the result of a world that ran elsewhere, to the journal too.
    ///
    /// # Errors
    /// If there is no such world, or if the disk refuses.
    pub fn add(
        &mut self,
        number: usize,
        result: RunResult,
        common: &Common<'_>,
    ) -> Result<(), LabError> {
        let worlds = &self.worlds;
        let (cell, run) = worlds.cells.numbered(number).ok_or_else(|| worlds.unknown(number))?;
        let (key, id) = &cell.runs[run];
        if !self.records.contains_key(id) {
            self.journal.add(id, &cell.plan.label(*key), &result, (common.elapsed)())?;
            self.records.insert(id.clone(), result);
        }
        Ok(())
    }

    /// Runs the worlds that have to be run. True if a stop kept some from finishing.
    ///
    /// # Errors
    /// The first fault of a run; what the disk refuses.
    pub fn run_pending(&mut self, common: &Common<'_>) -> Result<bool, LabError> {
        let pending = self.pending();
        if pending.is_empty() {
            return Ok(false);
        }
        let (planned, name) = (self.worlds.cells.planned(), &self.worlds.cells.name);
        let what = match self.reused {
            0 => format!("sweep {name}"),
            n => format!("sweep {name}, {n} of {planned} runs from before"),
        };
        let id_of = |number| {
            let (cell, run) = self.worlds.cells.numbered(number).expect("a run of these cells");
            cell.runs[run].1.clone()
        };
        let journal = &self.journal;
        let (results, stopped) =
            self.worlds.run_all(&pending, &what, common, |world, result| {
                let elapsed = (common.elapsed)();
                journal.add(&id_of(world.number), &world.label, result, elapsed)?;
                Ok(())
            })?;
        let finished = pending.iter().zip(results);
        let records: Vec<(String, RunResult)> =
            finished.filter_map(|(world, result)| Some((id_of(world.number), result?))).collect();
        self.records.extend(records);
        Ok(stopped)
    }

    /// Writes what the sweep leaves.
    ///
    /// # Errors
    /// If the disk refuses.
    pub fn finish(self, common: &Common<'_>, stopped: bool) -> Result<Outcome, LabError> {
        let Self { worlds, folder, journal, records, reused, damaged } = self;
        let SweepWorlds { grid, cells, caches: _ } = &worlds;
        journal.sync()?;
        let planned = cells.planned();
        let summary = summary(cells, &records);
        let findings = Findings::new(grid, cells, &records);
        let verdict = verdict::verdict(&findings, stopped);
        let report = page::report(&findings, &summary, common, &verdict, stopped);
        folder.write("report.json.gz", &report.to_json_gz())?;
        let rows = table::Rows::new(grid, cells, &summary);
        folder.write("sweep.csv", rows.to_csv().as_bytes())?;
        #[cfg(feature = "parquet")]
        folder.write("sweep.parquet", &parquet::bytes(&rows)?)?;
        let finished = summary.runs.len();
        let course = RunCounts { planned, finished, reused, stopped };
        leave_after(&folder, common, &summary, &airlane_report::render(&report), course)?;
        Ok(Outcome {
            table: terminal::table(&findings),
            line: terminal::line(&verdict, &folder, course, damaged),
            out: common.out.clone(),
            failed: findings.failures().count(),
            stopped,
        })
    }
}

/// Summary of all that the seeds determine, in the order of cells and runs.
fn summary(cells: &Cells, records: &BTreeMap<String, RunResult>) -> Summary {
    let mut summary = Summary::new(&cells.name, Vec::new());
    for cell in &cells.list {
        let plan = &cell.plan;
        summary.seeds.clone_from(&plan.scenario.seeds);
        for (key, id) in &cell.runs {
            let Some(record) = records.get(id) else { continue };
            let run = entry(plan, &plan.scenario.name, *key, record);
            summary.virtual_s += record.virtual_s;
            summary.rows.extend(rows(&run, record));
            summary.runs.push(run);
        }
    }
    summary
}
