//! Contents that plans share.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use airlane_base::InputError;

use super::provider::{Content, metrics_of, settings_of};
use crate::error::LabError;
use crate::plan::Plan;
use crate::scenario::{Player, Scenario};

/// A content, once it is prepared.
type Slot = Arc<Mutex<Option<Arc<Content>>>>;

/// The contents of several plans with the same corpus: those that agree in what a content depends
/// on share one.
#[derive(Debug, Default)]
pub struct Contents {
    known: Mutex<BTreeMap<String, Slot>>,
    checked: BTreeSet<String>,
}

impl Contents {
    /// The content of a plan, prepared when somebody asks for it first; whoever asks meanwhile
    /// waits.
    ///
    /// # Errors
    /// As [`Content::new`].
    pub fn of(&self, plan: &Plan) -> Result<Arc<Content>, LabError> {
        let slot = lock(&self.known).entry(key(plan)).or_default().clone();
        let mut slot = lock(&slot);
        if let Some(content) = &*slot {
            return Ok(content.clone());
        }
        let content = Arc::new(Content::new(plan)?);
        Ok(slot.insert(content).clone())
    }

    /// Checks what [`Content::new`] checks of the input, without its work.
    ///
    /// # Errors
    /// If a title does not go together with the player's settings.
    pub fn check(&mut self, plan: &Plan) -> Result<(), InputError> {
        if let (Some(corpus), true) = (&plan.corpus, self.checked.insert(key(plan))) {
            let player = &plan.scenario.player;
            for metric in metrics_of(&plan.scenario) {
                settings_of(&plan.titles(corpus), &Player { metric, ..player.clone() })?;
            }
        }
        Ok(())
    }
}

fn lock<T>(slot: &Mutex<T>) -> MutexGuard<'_, T> {
    // What is in it is there or not, whoever panicked.
    slot.lock().unwrap_or_else(PoisonError::into_inner)
}

/// All of a plan that its content depends on but the corpus.
fn key(plan: &Plan) -> String {
    let Scenario { player, min_chunks, transport, schemes, viewers, .. } = &plan.scenario;
    let schemes: Vec<_> = schemes
        .iter()
        .map(|s| (s.control.weight(), &s.minerva, plan.minerva.digest(s.minerva.as_ref())))
        .collect();
    let watched: BTreeSet<String> = viewers
        .iter()
        .map(|v| format!("{:?}", (v.metric, v.abr, &v.provider, v.control.is_some())))
        .collect();
    // Value functions are had for what is watched; else titles that are drawn are among those of
    // enough chunks.
    let all = schemes.iter().any(|(_, m, _)| m.as_ref().is_some_and(|m| m.value.is_some()));
    let named = plan.cases.iter().flat_map(|c| &c.videos);
    let named: BTreeSet<&str> =
        named.filter(|v| all || v.chunks() < *min_chunks).map(|v| v.name.as_str()).collect();
    let none = plan.corpus.is_none();
    let payload = transport.payload_bytes;
    format!("{none} {player:?} {min_chunks} {payload} {schemes:?} {watched:?} {named:?}")
}
