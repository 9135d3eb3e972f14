//! Sweeps: on this machine, or in parts that workers elsewhere run.

use std::path::PathBuf;

use airlane_base::InputError;
use airlane_judge::{Sweep, SweepWorlds};
use airlane_scenario::{Cipher, Grid};
use airlane_sim::plan::GivenTrace;
use airlane_sim::{Common, LabError};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors;
use crate::pending::{self, World};
use crate::run::Trace;
use crate::scenario::Source;
use crate::worker::{Clock, Work, clock};

/// Options of a sweep that its results depend on.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct SweepOptions {
    grid: Vec<String>,
    traces: Vec<Trace>,
    content: Option<PathBuf>,
    tls: bool,
    command: Vec<String>,
}

/// Options of a sweep as the laboratory takes them.
#[derive(Clone)]
struct Options {
    traces: Vec<GivenTrace>,
    content: Option<PathBuf>,
    cipher: Option<Cipher>,
    command: Vec<String>,
}

impl SweepOptions {
    fn split(self) -> (Vec<String>, Options) {
        let Self { grid, traces, content, tls, command } = self;
        let traces = traces.into_iter().map(Trace::given).collect();
        (grid, Options { traces, content, cipher: tls.then_some(Cipher::Tls), command })
    }
}

impl Options {
    /// Common options of commands, with those of this sweep.
    fn common<'a>(&self, common: Common<'a>) -> Common<'a> {
        let Self { traces, content, cipher, command: _ } = self.clone();
        Common { traces, content, cipher, ..common }
    }
}

fn grid_of(py: Python<'_>, source: &Source, grid: &[String]) -> PyResult<Grid> {
    let registry = source.registry(py);
    let (scenarios, set) = (registry.scenarios(), &source.set);
    let grid = match &source.text {
        Some(text) => Grid::from_bytes(scenarios, text.as_bytes(), &source.name, set, grid),
        None => Grid::from_file(scenarios, &source.name, set, grid),
    };
    grid.map_err(|e: InputError| errors::of_input(py, &e))
}

/// Sweep in its folder.
#[pyclass(module = "airlane._airlane")]
pub(crate) struct SweepFolder {
    /// None once it is finished.
    sweep: Option<Sweep>,
    options: Options,
    out: PathBuf,
    /// The clock by which the journal is synced.
    clock: Clock,
}

impl SweepFolder {
    fn open(&mut self) -> PyResult<&mut Sweep> {
        self.sweep.as_mut().ok_or_else(|| PyRuntimeError::new_err("this sweep is finished"))
    }
}

#[pymethods]
impl SweepFolder {
    /// Opens a sweep in the folder `out`, and takes over what its journal has unless it is to begin `fresh`.
    #[new]
    fn new(
        py: Python<'_>,
        source: Source,
        options: SweepOptions,
        out: PathBuf,
        fresh: bool,
    ) -> PyResult<Self> {
        let (grid, options) = options.split();
        let grid = grid_of(py, &source, &grid)?;
        let sweep = Work::quiet(&options.command).run(py, |common| {
            let common = Common { out: out.clone(), ..options.common(common) };
            Sweep::open(SweepWorlds::new(grid, &common)?, &common, fresh)
        })?;
        Ok(Self { sweep: Some(sweep), options, out, clock: clock() })
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
        let (options, out) = (self.options.clone(), self.out.clone());
        let sweep = self.open()?;
        let command = options.command.clone();
        Work { jobs, command, progress }.run(py, |common| {
            let common = Common { out, ..options.common(common) };
            // A stop comes back as the exception of the signal.
            sweep.run_pending(&common).map(drop)
        })
    }

    /// Adds the result of a world that a worker ran.
    fn add(&mut self, py: Python<'_>, number: usize, result: &[u8]) -> PyResult<()> {
        let refused = |e: serde_json::Error| PyValueError::new_err(format!("no result: {e}"));
        let result = serde_json::from_slice(result).map_err(refused)?;
        let elapsed = (self.clock)();
        let common = Common { elapsed: &|| elapsed, ..Common::default() };
        let added = self.open()?.add(number, result, &common);
        added.map_err(|e| errors::of_lab(py, e))
    }

    /// Writes what the sweep leaves; table and line for people, and the number of sessions that failed.
    fn finish(&mut self, py: Python<'_>, stopped: bool) -> PyResult<(String, String, usize)> {
        self.open()?;
        let (options, out) = (self.options.clone(), self.out.clone());
        let Some(sweep) = self.sweep.take() else { unreachable!("it is open") };
        let outcome = Work::quiet(&options.command)
            .run(py, |common| sweep.finish(&Common { out, ..options.common(common) }, stopped))?;
        Ok((outcome.table, outcome.line, outcome.failed))
    }
}

/// Worlds of a sweep, to be run by their numbers.
#[pyclass(module = "airlane._airlane")]
pub(crate) struct SweepWorker {
    worlds: SweepWorlds,
    options: Options,
}

#[pymethods]
impl SweepWorker {
    #[new]
    fn new(py: Python<'_>, source: Source, options: SweepOptions) -> PyResult<Self> {
        let (grid, options) = options.split();
        let grid = grid_of(py, &source, &grid)?;
        let worlds = Work::quiet(&options.command)
            .run(py, |common| SweepWorlds::new(grid, &options.common(common)))?;
        Ok(Self { worlds, options })
    }

    /// Runs these worlds one after the other; the result of each.
    fn run<'py>(
        &self,
        py: Python<'py>,
        worlds: Vec<World>,
    ) -> PyResult<Vec<(usize, Bound<'py, PyBytes>)>> {
        let pending: Vec<_> = worlds.into_iter().map(pending::of_python).collect();
        let (worlds, options, of_all) = (&self.worlds, &self.options, &pending);
        let work = Work { jobs: Some(1), ..Work::quiet(&options.command) };
        let results = work.run(py, |common| {
            let common = options.common(common);
            let (results, _) = worlds.run_all(of_all, "sweep", &common, |_, _| Ok(()))?;
            results
                .into_iter()
                .map(|result| result.ok_or(LabError::Stopped))
                .collect::<Result<Vec<_>, _>>()
        })?;
        let bytes = |(world, result): (airlane_judge::PendingWorld, _)| {
            let text = serde_json::to_vec(&result);
            let text = text.map_err(|e| PyRuntimeError::new_err(e.to_string()))?;
            Ok((world.number, PyBytes::new(py, &text)))
        };
        pending.into_iter().zip(results).map(bytes).collect()
    }
}
