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
use crate::journal::{Found, Journal, JournalKind};
use crate::leave::{RunCounts, leave_after};
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
    let common = &request.common;
    let grid =
        Grid::from_file(registry.scenarios(), &request.scenario, &request.set, &request.grid)?;
    let cells = Cells::new(&grid, common)?;
    common.captures.prepare()?;
    // The journal's lock first: the results of a sweep that still runs are left alone.
    let folder = OutFolder::prove(&common.out)?;
    let (journal, Found { mut records, damaged }) =
        Journal::open(folder.dir(), JournalKind::Sweep, request.fresh)?;
    let folder = OutFolder::prepare(folder.dir())?;
    if common.captures != Default::default() {
        // Captures are written by runs, not by journals.
        records.clear();
    }
    let planned = cells.planned();
    let reused = cells.finished(&records);
    let stopped = run(&grid, &cells, common, &journal, &mut records)?;
    journal.sync()?;

    let summary = summary(&cells, &records);
    let findings = Findings::new(&grid, &cells, &records);
    let verdict = verdict::verdict(&findings, stopped);
    let report = page::report(&findings, &summary, common, &verdict, stopped);
    folder.write("report.json.gz", &report.to_json_gz())?;
    let rows = table::Rows::new(&grid, &cells, &summary);
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

/// Runs every world that `records` lacks and adds it there and to the journal; whether a stop kept
/// some from finishing.
fn run(
    grid: &Grid,
    cells: &Cells,
    common: &Common<'_>,
    journal: &Journal,
    records: &mut BTreeMap<String, RunResult>,
) -> Result<bool, LabError> {
    let pending = cells.pending(records);
    if pending.is_empty() {
        return Ok(false);
    }
    let options = Options { captures: common.captures.clone(), ..Options::default() };
    let options = &options;
    let shared = SharedCaches::default();
    let shared = &shared;
    let mut jobs = Vec::with_capacity(pending.len());
    for &Pending { cell, key, id } in &pending {
        let plan = &cell.plan;
        let label = plan.label(key);
        jobs.push(Job {
            label: label.clone(),
            seed: key.seed,
            command: places::command(grid, Some(&cell.position), plan, common, Some(key.seed)),
            units: u64::try_from(plan.scenario.duration.as_millis()).unwrap_or(u64::MAX),
            work: Box::new(move |ticket: &Ticket<'_>| {
                let caches = shared.of(plan)?;
                let result = world::run(plan, &caches, key, options, ticket)?.result(plan);
                if let Some(what) = result.not_finite() {
                    return Err(LabError::fault(format!("{what} is no finite number")));
                }
                journal.add(id, &label, &result, (common.elapsed)())?;
                Ok(result)
            }),
        });
    }
    let (planned, reused) = (cells.planned(), cells.finished(records));
    let what = match reused {
        0 => format!("sweep {}", cells.name),
        n => format!("sweep {}, {n} of {planned} runs from before", cells.name),
    };
    let done = pool::run(jobs, common.jobs, &what, &common.stop, common.progress);
    if let Some(error) = done.error {
        return Err(error);
    }
    let finished = pending.iter().zip(done.results);
    records.extend(finished.filter_map(|(run, record)| Some((run.id.to_owned(), record?))));
    Ok(done.stopped)
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
