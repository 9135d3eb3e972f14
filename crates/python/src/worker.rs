//! A thread on which the laboratory works while the caller's waits for signals and reports progress.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use airlane_sim::pool::{self, Progress, StopFlag};
use airlane_sim::{Captures, Common, Fault, LabError, RunInfo, VERSION};
use parking_lot::Mutex;
use pyo3::prelude::*;

use crate::errors;

/// Interval at which signals are looked for and progress is reported.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Progress of the work, for the caller's thread.
#[derive(Default)]
struct Counters {
    units: AtomicU64,
    done: AtomicU64,
    name: Mutex<String>,
}

impl Progress for Counters {
    fn begin(&self, what: &str, units: u64) {
        what.clone_into(&mut self.name.lock());
        self.done.store(0, Ordering::Relaxed);
        self.units.store(units, Ordering::Relaxed);
    }

    fn advance(&self, units: u64) {
        self.done.fetch_add(units, Ordering::Relaxed);
    }

    fn finished(&self, _label: &str) {}

    fn end(&self) {}
}

/// Options of what is done in a worker.
pub(crate) struct Work<'py> {
    /// Worlds at once; `None`: one per core.
    pub(crate) jobs: Option<usize>,
    /// The command of the command line that does the same.
    pub(crate) command: Vec<String>,
    /// Called with the name of the work and the done part of it, 0 to 1.
    pub(crate) progress: Option<Bound<'py, PyAny>>,
}

/// Time since some start.
pub(crate) type Clock = Box<dyn Fn() -> Duration + Send + Sync>;

/// The clock of `elapsed`, which results do not have in them.
#[expect(clippy::disallowed_methods, reason = "the journal of a sweep is synced by the clock")]
pub(crate) fn clock() -> Clock {
    let start = Instant::now();
    Box::new(move || start.elapsed())
}

impl Work<'_> {
    /// Work of the command that reports no progress.
    pub(crate) fn quiet(command: &[String]) -> Self {
        Self { jobs: None, command: command.to_vec(), progress: None }
    }

    /// Does `work` on a thread of its own, without the interpreter's lock.
    ///
    /// # Errors
    /// That of the work; of a signal's handler, such as `KeyboardInterrupt`, or of the progress function, after which
    /// the work is stopped and its result is dropped.
    pub(crate) fn run<T: Send>(
        self,
        py: Python<'_>,
        work: impl FnOnce(Common<'_>) -> Result<T, LabError> + Send,
    ) -> PyResult<T> {
        let Self { jobs, command, progress } = self;
        let cpus = pool::available_cores();
        let jobs = jobs.unwrap_or(cpus).max(1);
        let circumstances = RunInfo {
            airlane: VERSION.to_owned(),
            commit: airlane_sim::COMMIT.to_owned(),
            cpus,
            command,
            jobs,
            ..RunInfo::default()
        };
        let (stop, counters, elapsed) = (StopFlag::default(), Counters::default(), clock());
        let common = Common {
            jobs,
            circumstances,
            elapsed: &*elapsed,
            progress: &counters,
            stop: stop.clone(),
            captures: Captures::default(),
            ..Common::default()
        };
        let progress = progress.map(Bound::unbind);
        let (result, interrupted) = py.detach(|| {
            thread::scope(|scope| {
                let (done, is_done) = channel();
                let worker = scope.spawn(move || {
                    let result = work(common);
                    // The receiver waits until it comes.
                    let _ = done.send(());
                    result
                });
                let mut interrupted = None;
                while let Err(RecvTimeoutError::Timeout) = is_done.recv_timeout(POLL_INTERVAL) {
                    if interrupted.is_none()
                        && let Err(error) = poll(&counters, progress.as_ref())
                    {
                        interrupted = Some(error);
                        stop.stop();
                    }
                }
                (worker.join(), interrupted)
            })
        });
        match (result, interrupted) {
            (_, Some(error)) => Err(error),
            (Ok(result), None) => result.map_err(|error| errors::of_lab(py, error)),
            (Err(panic), None) => {
                let what = panic.downcast_ref::<String>().cloned().unwrap_or_default();
                Err(errors::of_fault(py, Fault { what, run: None }))
            }
        }
    }
}

/// Lets Python handle signals, and reports progress.
fn poll(counters: &Counters, progress: Option<&Py<PyAny>>) -> PyResult<()> {
    Python::attach(|py| {
        py.check_signals()?;
        let Some(progress) = progress else { return Ok(()) };
        let units = counters.units.load(Ordering::Relaxed).max(1);
        let part = counters.done.load(Ordering::Relaxed) as f64 / units as f64;
        let name = counters.name.lock().clone();
        progress.call1(py, (name, part.min(1.0))).map(drop)
    })
}

/// Takes note of panics inside runs, which come back as errors that name the run; others are printed as before.
pub(crate) fn keep_panics_of_runs() {
    let others = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !pool::note_panic(info) {
            others(info);
        }
    }));
}
