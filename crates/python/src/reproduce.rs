//! Claims and their measurement: on this machine, or in parts that workers elsewhere run.

use std::path::PathBuf;

use airlane_judge::request::ReproduceRequest;
use airlane_judge::{ClaimWorlds, Reproduction};
use airlane_sim::{Common, LabError};
use parking_lot::Mutex;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors;
use crate::pending::{self, World};
use crate::table::{Columns, Table};
use crate::worker::{Clock, Work, clock};

/// The claims of all systems: a table with the columns system, id, source, statement, statistic, rule, draws and seeds.
#[pyfunction]
pub(crate) fn claims(py: Python<'_>) -> PyResult<Table> {
    let sets = airlane_lab::claim_sets("all").map_err(|e| errors::of_input(py, &e))?;
    let all: Vec<_> =
        sets.iter().flat_map(|set| set.claims.iter().map(move |claim| (set, claim))).collect();
    let mut columns = Columns::default();
    columns.texts("system", all.iter().map(|(set, _)| set.system.as_str()));
    columns.texts("id", all.iter().map(|(_, claim)| claim.id.as_str()));
    columns.texts("source", all.iter().map(|(_, claim)| claim.source.as_str()));
    columns.texts("statement", all.iter().map(|(_, claim)| claim.statement.as_str()));
    columns.texts("statistic", all.iter().map(|(_, claim)| claim.statistic.as_str()));
    columns.texts("rule", all.iter().map(|(_, claim)| claim.rule_text.as_str()));
    columns.counts("draws", all.iter().map(|(_, claim)| claim.full.pairs as u64));
    columns.counts("seeds", all.iter().map(|(_, claim)| claim.full.seeds as u64));
    Ok(columns.table())
}

/// Options of a measurement of claims that its results depend on.
#[derive(Clone, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct ReproduceOptions {
    system: String,
    only: Vec<String>,
    quick: bool,
    content: Option<PathBuf>,
    command: Vec<String>,
}

impl ReproduceOptions {
    /// The request of a command with these options.
    fn request<'a>(&self, common: Common<'a>, fresh: bool) -> ReproduceRequest<'a> {
        let Self { system, only, quick, content, command: _ } = self.clone();
        let common = Common { content, ..common };
        ReproduceRequest { common, system, quick, only, fresh, adopt: None, record: None }
    }

    fn worlds(&self, request: &ReproduceRequest<'_>) -> Result<ClaimWorlds<'static>, LabError> {
        ClaimWorlds::new(airlane_lab::claim_sets(&self.system)?, request)
    }
}

/// Claims under measurement in their folder.
#[pyclass(module = "airlane._airlane")]
pub(crate) struct ReproduceFolder {
    /// None once it is finished.
    reproduction: Option<Reproduction<'static>>,
    options: ReproduceOptions,
    out: PathBuf,
    /// The clock by which the journal is synced.
    clock: Clock,
}

impl ReproduceFolder {
    fn open(&mut self) -> PyResult<&mut Reproduction<'static>> {
        let finished = || PyRuntimeError::new_err("this measurement is finished");
        self.reproduction.as_mut().ok_or_else(finished)
    }
}

#[pymethods]
impl ReproduceFolder {
    /// Opens a measurement in the folder `out`, and takes over what its journal has unless it is to begin `fresh`.
    #[new]
    fn new(py: Python<'_>, options: ReproduceOptions, out: PathBuf, fresh: bool) -> PyResult<Self> {
        let reproduction = Work::quiet(&options.command).run(py, |common| {
            let common = Common { out: out.clone(), ..common };
            let request = options.request(common, fresh);
            Reproduction::open(options.worlds(&request)?, &request)
        })?;
        Ok(Self { reproduction: Some(reproduction), options, out, clock: clock() })
    }

    /// Number, label and virtual milliseconds of the worlds that have to be run.
    fn pending(&mut self) -> PyResult<Vec<World>> {
        Ok(self.open()?.pending().into_iter().map(pending::to_python).collect())
    }

    /// Runs the worlds that have to be run on this machine.
    #[pyo3(signature = (jobs, progress))]
    fn run(
        &mut self,
        py: Python<'_>,
        jobs: Option<usize>,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let (command, system) = (self.options.command.clone(), self.options.system.clone());
        let reproduction = self.open()?;
        Work { jobs, command, progress }.run(py, |common| {
            // A stop comes back as the exception of the signal.
            reproduction.run_pending(&common, &system).map(drop)
        })
    }

    /// Adds the record of a world that a worker ran.
    fn add(&mut self, py: Python<'_>, number: usize, record: &[u8]) -> PyResult<()> {
        let refused = |e: serde_json::Error| PyValueError::new_err(format!("no record: {e}"));
        let record = serde_json::from_slice(record).map_err(refused)?;
        let elapsed = (self.clock)();
        let common = Common { elapsed: &|| elapsed, ..Common::default() };
        let added = self.open()?.add(number, record, &common);
        added.map_err(|e| errors::of_lab(py, e))
    }

    /// Judges the claims and writes what the measurement leaves; table and line for people, and the number of claims
    /// that fail.
    fn finish(&mut self, py: Python<'_>, stopped: bool) -> PyResult<(String, String, usize)> {
        self.open()?;
        let (options, out) = (self.options.clone(), self.out.clone());
        let Some(reproduction) = self.reproduction.take() else { unreachable!("it is open") };
        let outcome = Work::quiet(&options.command).run(py, |common| {
            let request = options.request(Common { out, ..common }, false);
            reproduction.finish(&request, stopped)
        })?;
        Ok((outcome.table, outcome.line, outcome.failed))
    }
}

/// Worlds behind claims, to be run by their numbers.
#[pyclass(module = "airlane._airlane")]
pub(crate) struct ReproduceWorker {
    worlds: ClaimWorlds<'static>,
    options: ReproduceOptions,
}

#[pymethods]
impl ReproduceWorker {
    #[new]
    fn new(py: Python<'_>, options: ReproduceOptions) -> PyResult<Self> {
        let worlds = Work::quiet(&options.command)
            .run(py, |common| options.worlds(&options.request(common, false)))?;
        Ok(Self { worlds, options })
    }

    /// Runs these worlds one after the other; the record of each.
    fn run<'py>(
        &self,
        py: Python<'py>,
        worlds: Vec<World>,
    ) -> PyResult<Vec<(usize, Bound<'py, PyBytes>)>> {
        let pending: Vec<_> = worlds.into_iter().map(pending::of_python).collect();
        let records = Mutex::new(Vec::with_capacity(pending.len()));
        let work = Work { jobs: Some(1), ..Work::quiet(&self.options.command) };
        work.run(py, |common| {
            let common = self.options.request(common, false).common;
            let (_, stopped) =
                self.worlds.run_all(&pending, "reproduce", &common, |world, record| {
                    let text =
                        serde_json::to_vec(record).map_err(|e| LabError::fault(e.to_string()))?;
                    records.lock().push((world.number, text));
                    Ok(())
                })?;
            if stopped { Err(LabError::Stopped) } else { Ok(()) }
        })?;
        let of_all = records.into_inner().into_iter();
        Ok(of_all.map(|(number, text)| (number, PyBytes::new(py, &text))).collect())
    }
}
