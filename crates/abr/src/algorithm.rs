//! The one interface of the algorithms, each a pure function of the player's state, and the two that
//! take no more than a line.

use std::fmt;

use crate::state::PlayerState;
use crate::title_model::TitleModel;

/// An adaptive bitrate algorithm, to everyone else a black box.
pub trait Abr: fmt::Debug + Send + Sync {
    /// The rung for chunk `state.next_chunk`; below `setting.rungs()`.
    ///
    /// Called with `state.next_chunk < setting.chunks()`. The first chunk is not asked for: every
    /// player fetches it at the lowest rung (see [`next_rung`]).
    fn choose(&self, setting: &TitleModel, state: &PlayerState) -> usize;
}

/// The rung that a player asks for: the lowest for its first chunk (Minerva, section 6.2), what
/// `abr` says from then on.
pub fn next_rung(abr: &(impl Abr + ?Sized), setting: &TitleModel, state: &PlayerState) -> usize {
    if state.last_rung.is_none() { 0 } else { abr.choose(setting, state) }
}

/// Always the same rung, or the highest if the ladder is shorter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fixed(pub usize);

impl Abr for Fixed {
    fn choose(&self, setting: &TitleModel, _: &PlayerState) -> usize {
        self.0.min(setting.rungs() - 1)
    }
}

/// The highest rung whose mean rate is at most `safety` times the harmonic mean of the last five
/// throughputs, the lowest if none is: the baseline RB of Yin et al., with a margin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateBased {
    /// Share of the predicted throughput that the video may take, above 0.
    pub safety: f64,
}

impl Default for RateBased {
    fn default() -> Self {
        Self { safety: 0.85 }
    }
}

impl Abr for RateBased {
    fn choose(&self, setting: &TitleModel, state: &PlayerState) -> usize {
        let Some(predicted) = state.history.harmonic_mean_bps() else { return 0 };
        let budget = self.safety * predicted;
        setting.mean_rate_bps().iter().rposition(|&r| r <= budget).unwrap_or(0)
    }
}
