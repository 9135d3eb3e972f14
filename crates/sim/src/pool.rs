//! Independent worlds over the machine's cores.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use parking_lot::Mutex;

use crate::error::{Fault, FaultyRun, LabError};

/// Flag that is set when a command shall stop, as by Ctrl-C; clones share it.
#[derive(Clone, Debug, Default)]
pub struct StopFlag(Arc<AtomicBool>);

impl StopFlag {
    /// Asks for the stop.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// The flag itself, for a signal handler to set.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }

    /// True if a stop was asked for.
    pub fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// # Errors
    /// [`LabError::Stopped`] once a stop was asked for: for `?` in loops.
    pub fn check(&self) -> Result<(), LabError> {
        if self.is_stopped() { Err(LabError::Stopped) } else { Ok(()) }
    }
}

/// Receives the progress of the work. Called from several threads at once.
pub trait Progress: Sync {
    /// `units` of work lie ahead, called `what`.
    fn begin(&self, what: &str, units: u64);
    /// So many more units are done.
    fn advance(&self, units: u64);
    /// A job is done.
    fn finished(&self, label: &str);
    /// All that will be done is.
    fn end(&self);
}

/// Shows no progress.
impl Progress for () {
    fn begin(&self, _what: &str, _units: u64) {}
    fn advance(&self, _units: u64) {}
    fn finished(&self, _label: &str) {}
    fn end(&self) {}
}

/// The work of a job.
pub type Work<'a, T> = Box<dyn FnOnce(&Ticket<'_>) -> Result<T, LabError> + Send + 'a>;

/// One run.
pub struct Job<'a, T> {
    /// Label of the job for people: `four-viewers, minerva, case 1, seed 3`.
    pub label: String,
    /// Its seed.
    pub seed: u64,
    /// The command that repeats it alone.
    pub command: String,
    /// Amount of work compared to the other jobs, such as its virtual milliseconds.
    pub units: u64,
    /// The work. It should end with [`LabError::Stopped`] soon after a stop was asked for.
    pub work: Work<'a, T>,
}

/// A running job's connection to the pool: the stop flag, and its progress.
pub struct Ticket<'a> {
    /// Signal by which the job is stopped.
    pub stop: &'a StopFlag,
    progress: &'a dyn Progress,
    left: Cell<u64>,
}

impl Ticket<'_> {
    /// So many more of the job's units are done; what a job does not report counts at its end.
    pub fn advance(&self, units: u64) {
        let units = units.min(self.left.get());
        self.left.set(self.left.get() - units);
        self.progress.advance(units);
    }
}

/// The outcome of the jobs.
#[derive(Debug)]
pub struct PoolOutcome<T> {
    /// The results in the order of the jobs, `None` where there is none.
    pub results: Vec<Option<T>>,
    /// The first error in the order of the jobs. After an error no further job was started.
    pub error: Option<LabError>,
    /// True if a stop kept some of the jobs from finishing.
    pub stopped: bool,
}

/// The cores that the machine lets us use.
pub fn available_cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Runs the jobs on `threads` threads, in their order, and waits for them.
///
/// A stop or an error keeps further jobs from starting; what has finished is kept. A panic is an
/// error that names the job, its seed and the command that repeats it.
pub fn run<T: Send>(
    jobs: Vec<Job<'_, T>>,
    threads: usize,
    what: &str,
    stop: &StopFlag,
    progress: &dyn Progress,
) -> PoolOutcome<T> {
    let count = jobs.len();
    progress.begin(what, jobs.iter().map(|j| j.units).sum());
    // Each slot is taken once, by the thread that drew its number.
    let jobs: Vec<Mutex<Option<Job<'_, T>>>> =
        jobs.into_iter().map(|j| Mutex::new(Some(j))).collect();
    let results: Vec<Mutex<Option<Result<T, LabError>>>> =
        (0..count).map(|_| Mutex::new(None)).collect();
    let next = AtomicUsize::new(0);
    let failed = AtomicBool::new(false);
    let worker = || {
        while !stop.is_stopped() && !failed.load(Ordering::Relaxed) {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(job) = jobs.get(index).and_then(|slot| slot.lock().take()) else { return };
            let label = job.label.clone();
            let result = one(job, stop, progress);
            match &result {
                Ok(_) => progress.finished(&label),
                Err(LabError::Stopped) => {}
                Err(_) => failed.store(true, Ordering::Relaxed),
            }
            *results[index].lock() = Some(result);
        }
    };
    thread::scope(|scope| {
        for _ in 0..threads.clamp(1, count.max(1)) {
            scope.spawn(worker);
        }
    });
    progress.end();
    let mut done = PoolOutcome { results: Vec::with_capacity(count), error: None, stopped: false };
    for slot in results {
        done.results.push(match slot.into_inner() {
            Some(Ok(value)) => Some(value),
            Some(Err(LabError::Stopped)) => None,
            Some(Err(error)) => {
                done.error.get_or_insert(error);
                None
            }
            None => None,
        });
    }
    done.stopped = stop.is_stopped() && done.results.iter().any(Option::is_none);
    done
}

fn one<T>(job: Job<'_, T>, stop: &StopFlag, progress: &dyn Progress) -> Result<T, LabError> {
    let Job { label, seed, command, units, work } = job;
    let ticket = Ticket { stop, progress, left: Cell::new(units) };
    IN_JOB.set(true);
    let result = catch_unwind(AssertUnwindSafe(|| work(&ticket)));
    IN_JOB.set(false);
    ticket.advance(u64::MAX);
    let run = FaultyRun { label, seed, command };
    match result {
        Ok(Err(LabError::Fault(mut fault))) => {
            fault.run.get_or_insert(run);
            Err(LabError::Fault(fault))
        }
        Ok(result) => result,
        Err(payload) => {
            let what = PANIC.take().unwrap_or_else(|| message(&*payload).to_owned());
            Err(LabError::Fault(Box::new(Fault { what, run: Some(run) })))
        }
    }
}

thread_local! {
    static IN_JOB: Cell<bool> = const { Cell::new(false) };
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Takes note of a panic inside a job, with its place in the source, for the error that the pool
/// makes of it. To be called from a panic hook; `false` if the panic was outside of any job.
pub fn note_panic(info: &PanicHookInfo<'_>) -> bool {
    if !IN_JOB.get() {
        return false;
    }
    PANIC.set(Some(describe_panic(info)));
    true
}

/// A panic in one line: what and where.
fn describe_panic(info: &PanicHookInfo<'_>) -> String {
    let what = message(info.payload());
    match info.location() {
        Some(place) => format!("{what} at {}:{}", place.file(), place.line()),
        None => what.to_owned(),
    }
}

fn message(payload: &(dyn Any + Send)) -> &str {
    payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a panic without words")
}
