//! The player's algorithm as a black box, simulated when asked.

use std::sync::Arc;

use airlane_abr::fixed_rate::Walk;
use airlane_abr::{Abr, History, PlayerState, TitleModel};

use super::{Ahead, ValueFunction, is_ahead};

/// V by simulation, as the listing of section 5.3 has it.
#[derive(Clone, Debug)]
pub struct OnDemand {
    setting: Arc<TitleModel>,
    abr: Arc<dyn Abr>,
    horizon: usize,
}

impl OnDemand {
    /// V over `horizon` chunks of `setting` for players that run `abr`.
    pub fn new(setting: Arc<TitleModel>, abr: Arc<dyn Abr>, horizon: usize) -> Self {
        Self { setting, abr, horizon }
    }
}

impl ValueFunction for OnDemand {
    fn value(&self, at: Ahead, rate_bps: f64) -> Option<f64> {
        play(&self.setting, &*self.abr, at, rate_bps, self.horizon)
    }
}

/// [`simulate`] from the player's next request.
pub(super) fn play(
    setting: &TitleModel,
    abr: &(impl Abr + ?Sized),
    at: Ahead,
    rate_bps: f64,
    horizon: usize,
) -> Option<f64> {
    is_ahead(setting.chunks(), setting.rungs(), at, rate_bps).then_some(())?;
    let state = PlayerState {
        next_chunk: at.next_chunk,
        buffer_s: at.buffer_s,
        last_rung: Some(at.last_rung),
        history: History::constant(rate_bps),
    };
    simulate(setting, abr, state, rate_bps, horizon)
}

/// The mean QoE of the next `horizon` chunks, or of those that are left, found by simulating `abr`
/// from `state` at a constant rate in bits per second. `None` if none is left.
pub fn simulate(
    setting: &TitleModel,
    abr: &(impl Abr + ?Sized),
    state: PlayerState,
    rate_bps: f64,
    horizon: usize,
) -> Option<f64> {
    let chunks = horizon.min(setting.chunks().saturating_sub(state.next_chunk));
    if chunks == 0 {
        return None;
    }
    let mut walk = Walk { state };
    let sum: f64 = (0..chunks).map(|_| walk.step(abr, setting, rate_bps).qoe).sum();
    Some(sum / chunks as f64)
}
