//! What the runs of plans share.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use airlane_base::InputError;
use parking_lot::Mutex;

use crate::error::LabError;
use crate::plan::Plan;
pub use crate::workload::Caches;

impl Caches {
    /// Prepares what the runs of `plan` share; it may take a moment.
    ///
    /// # Errors
    /// If what was read does not go together with the scenario.
    pub fn of_plan(plan: &Plan) -> Result<Self, LabError> {
        plan.draws.iter().map(|draws| draws.cache(plan)).collect::<Result<_, _>>().map(Self::new)
    }
}

/// Cache of a workload, once it is prepared.
type Slot = Arc<Mutex<Option<Arc<dyn Any + Send + Sync>>>>;

/// Caches of several plans that read the same content: those that agree in what a cache depends
/// on share one.
#[derive(Debug, Default)]
pub struct SharedCaches {
    /// By workload and key.
    known: Mutex<BTreeMap<(usize, String), Slot>>,
    checked: BTreeSet<(usize, String)>,
}

impl SharedCaches {
    /// Caches of a plan. Each is prepared at the first call that needs it; calls from other
    /// threads wait for it.
    ///
    /// # Errors
    /// As [`Caches::of_plan`].
    pub fn of(&self, plan: &Plan) -> Result<Caches, LabError> {
        let cache = |(number, draws): (usize, &Arc<dyn crate::workload::Draws>)| {
            let slot = {
                let mut known = self.known.lock();
                known.entry((number, draws.cache_key(plan))).or_default().clone()
            };
            let mut slot = slot.lock();
            if let Some(cache) = &*slot {
                return Ok(cache.clone());
            }
            Ok(slot.insert(draws.cache(plan)?).clone())
        };
        plan.draws.iter().enumerate().map(cache).collect::<Result<_, _>>().map(Caches::new)
    }

    /// Checks what [`Caches::of_plan`] checks of the input, without its work.
    ///
    /// # Errors
    /// As [`Caches::of_plan`], of the input.
    pub fn check(&mut self, plan: &Plan) -> Result<(), InputError> {
        for (number, draws) in plan.draws.iter().enumerate() {
            if self.checked.insert((number, draws.cache_key(plan))) {
                draws.check(plan)?;
            }
        }
        Ok(())
    }
}
