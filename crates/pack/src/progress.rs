//! The progress of the work.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// Event that an observer is told while work goes on.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// Something that the user should know and that does not stop the work.
    Warning(String),
    /// State of the work.
    Progress {
        /// Share of all the work that is done, 0 to 1.
        fraction: f64,
        /// Time that the rest takes at the pace so far; `None` as long as nobody can tell.
        left: Option<Duration>,
        /// Work that is being done, such as `encoding 360p`.
        doing: String,
    },
}

/// Receives the events of a run.
pub type Observer<'a> = &'a dyn Fn(Event);

/// Counts work in units of its own: frames times what a frame costs.
pub(crate) struct Progress<'a> {
    observer: Observer<'a>,
    total: f64,
    done: Cell<f64>,
    /// Work that was done before this run.
    before: Cell<f64>,
    started: Instant,
}

impl<'a> Progress<'a> {
    pub(crate) fn new(observer: Observer<'a>, total: f64) -> Self {
        #[expect(clippy::disallowed_methods, reason = "the time left is for people's eyes only")]
        let started = Instant::now();
        let (done, before) = (Cell::new(0.0), Cell::new(0.0));
        Self { observer, total, done, before, started }
    }

    /// Work that was found done.
    pub(crate) fn skip(&self, units: f64) {
        self.done.set(self.done.get() + units);
        self.before.set(self.before.get() + units);
    }

    /// Work that has been done as a whole.
    pub(crate) fn finish(&self, units: f64) {
        self.done.set(self.done.get() + units);
    }

    /// `units` of what is not finished yet are done.
    pub(crate) fn tell(&self, units: f64, doing: &str) {
        let done = (self.done.get() + units).min(self.total);
        let here = done - self.before.get();
        let elapsed = self.started.elapsed();
        let left = (here > 0.0 && elapsed > Duration::from_secs(1))
            .then(|| elapsed.as_secs_f64() * (self.total - done) / here);
        let left = left.and_then(|s| Duration::try_from_secs_f64(s).ok());
        let fraction = if self.total > 0.0 { done / self.total } else { 1.0 };
        (self.observer)(Event::Progress { fraction, left, doing: doing.to_owned() });
    }
}
