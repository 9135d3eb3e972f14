//! Buffer-based adaptation (Huang et al., SIGCOMM 2014).

use crate::algorithm::Abr;
use crate::state::PlayerState;
use crate::title_model::TitleModel;

/// BBA-0: a line from the lowest mean rate at the reservoir to the highest at the end of the
/// cushion, and a rung that stays until the line passes a neighbour.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BufferBased {
    /// Seconds of buffer below which it takes the lowest rung.
    pub reservoir_s: f64,
    /// Seconds above the reservoir from which it takes the highest.
    pub cushion_s: f64,
}

impl Default for BufferBased {
    /// Of Yin et al., section 7.1, for players that hold some tens of seconds: BBA's own 90 and
    /// 126 s belong to a buffer of 240 s.
    fn default() -> Self {
        Self { reservoir_s: 5.0, cushion_s: 10.0 }
    }
}

impl Abr for BufferBased {
    fn choose(&self, setting: &TitleModel, state: &PlayerState) -> usize {
        let rates = setting.mean_rate_bps();
        let (lowest, top) = (rates[0], rates.len() - 1);
        let over = state.buffer_s - self.reservoir_s;
        if over <= 0.0 {
            return 0;
        }
        if over >= self.cushion_s {
            return top;
        }
        let rate = lowest + (rates[top] - lowest) * over / self.cushion_s;
        let last = state.last_rung.unwrap_or(0).min(top);
        if rate >= rates[(last + 1).min(top)] {
            // The highest below the line; the line may lie on it exactly.
            rates.iter().rposition(|r| *r < rate).unwrap_or(0)
        } else if rate <= rates[last.saturating_sub(1)] {
            rates.iter().position(|r| *r > rate).unwrap_or(top)
        } else {
            last
        }
    }
}
