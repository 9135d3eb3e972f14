//! What the runs of plans share.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use airlane_base::InputError;
use parking_lot::Mutex;

use crate::error::LabError;
use crate::plan::Plan;
pub use crate::workload::Stocks;

impl Stocks {
    /// Prepares what the runs of `plan` share; it may take a moment.
    ///
    /// # Errors
    /// If what was read does not go together with the scenario.
    pub fn of_plan(plan: &Plan) -> Result<Self, LabError> {
        plan.draws.iter().map(|draws| draws.stock(plan)).collect::<Result<_, _>>().map(Self::new)
    }
}

/// A workload's stock, once it is prepared.
type Slot = Arc<Mutex<Option<Arc<dyn Any + Send + Sync>>>>;

/// The stocks of several plans that read the same content: those that agree in what a stock depends
/// on share one.
#[derive(Debug, Default)]
pub(crate) struct SharedStocks {
    /// By workload and key.
    known: Mutex<BTreeMap<(usize, String), Slot>>,
    checked: BTreeSet<(usize, String)>,
}

impl SharedStocks {
    /// The stocks of a plan. Each is prepared at the first call that needs it; calls from other
    /// threads wait for it.
    ///
    /// # Errors
    /// As [`Stocks::of_plan`].
    pub(crate) fn of(&self, plan: &Plan) -> Result<Stocks, LabError> {
        let stock = |(number, draws): (usize, &Arc<dyn crate::workload::Draws>)| {
            let slot = {
                let mut known = self.known.lock();
                known.entry((number, draws.stock_key(plan))).or_default().clone()
            };
            let mut slot = slot.lock();
            if let Some(stock) = &*slot {
                return Ok(stock.clone());
            }
            Ok(slot.insert(draws.stock(plan)?).clone())
        };
        plan.draws.iter().enumerate().map(stock).collect::<Result<_, _>>().map(Stocks::new)
    }

    /// Checks what [`Stocks::of_plan`] checks of the input, without its work.
    ///
    /// # Errors
    /// As [`Stocks::of_plan`], of the input.
    pub(crate) fn check(&mut self, plan: &Plan) -> Result<(), InputError> {
        for (number, draws) in plan.draws.iter().enumerate() {
            if self.checked.insert((number, draws.stock_key(plan))) {
                draws.check(plan)?;
            }
        }
        Ok(())
    }
}
