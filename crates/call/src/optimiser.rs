//! The optimiser of a conference: what chooses bitrates, however long it takes.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use airlane_base::Rate;
use airlane_plum::{OptimiserConfig, Problem, Target, solver_for, targets};
use airlane_runtime::BoxFuture;
use tokio::sync::oneshot;

/// Targets of all clients, in the order of their capacities; `None` where there is no valid result.
pub type Targets = Option<Vec<Target>>;

/// Function from the capacities of all clients to the targets of all. The conference goes on until the future is
/// ready.
pub type Optimise = dyn Fn(Vec<Rate>) -> BoxFuture<Targets> + Send + Sync;

/// Optimiser of a conference.
#[derive(Clone)]
pub struct Optimiser(pub Arc<Optimise>);

impl fmt::Debug for Optimiser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Optimiser")
    }
}

impl Optimiser {
    /// An optimiser that takes no time of its world: for virtual time, in which computing takes none.
    pub fn immediate(optimise: impl Fn(&[Rate]) -> Targets + Send + Sync + 'static) -> Self {
        Self(Arc::new(move |rates| Box::pin(std::future::ready(optimise(&rates)))))
    }

    /// An optimiser on a thread of its own, for real time. While one call runs another has no result, so there is
    /// never more than one thread.
    pub fn threaded(optimise: impl Fn(&[Rate]) -> Targets + Send + Sync + 'static) -> Self {
        let (optimise, is_busy) = (Arc::new(optimise), Arc::new(AtomicBool::new(false)));
        Self(Arc::new(move |rates| {
            if is_busy.swap(true, Ordering::Acquire) {
                return Box::pin(std::future::ready(None));
            }
            let (done, result) = oneshot::channel();
            let (optimise, busy) = (optimise.clone(), Busy(is_busy.clone()));
            let run = move || {
                let targets = optimise(&rates);
                drop(busy);
                // Nobody waits any more if it took too long.
                drop(done.send(targets));
            };
            // Without a thread there is no result: the closure is dropped, and with it the sender.
            drop(thread::Builder::new().name("call optimiser".to_owned()).spawn(run));
            Box::pin(async move { result.await.ok().flatten() })
        }))
    }
}

/// Targets of Plum's optimiser for these capacities; `None` where it finds no valid solution.
pub fn optimal_targets(config: &OptimiserConfig, capacities: &[Rate]) -> Targets {
    let capacities: Vec<f64> = capacities.iter().map(|rate| rate.as_f64() / 1000.0).collect();
    let problem = Problem::new(&capacities, config).ok()?;
    let found = targets(&*solver_for(&problem), &problem, None);
    let airlane_plum::Targets::Constrained(solution) = found else { return None };
    let rate = |kbps: f64| Rate::from_bps_f64(kbps * 1000.0);
    let both = solution.up.iter().zip(&solution.down);
    Some(both.map(|(up, down)| Target { up: rate(*up), down: rate(*down) }).collect())
}

/// Mark of a call that runs, also of one that panics.
struct Busy(Arc<AtomicBool>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}
