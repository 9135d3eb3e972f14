//! BOLA (Spiteri, Urgaonkar, Sitaraman, INFOCOM 2016): the rung by the buffer, from a
//! drift-plus-penalty bound.

use crate::algorithm::Abr;
use crate::state::PlayerState;
use crate::title_model::TitleModel;

/// BOLA-FINITE with the rule BOLA-U against oscillation.
///
/// With Q the buffer in chunks and `u_m = ln(R_m / R_0)` the utility of rung m at mean rate R_m,
/// the rung that gives the largest `(V (u_m + gamma_p) - Q) / S_m`, S_m being the chunk's size.
/// `V = (Q_D - 1) / (u_top + gamma_p)`, where Q_D is the player's cap, and less near the beginning
/// and the end: at most half of the video played or left, at least three chunks. Where that is
/// higher than the last rung, it goes no further than one rung above what the last download's
/// throughput carries.
///
/// The algorithm's own pause above Q_D is the player's cap here.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bola {
    /// Worth of a second without a stall, in utility, times the chunk length.
    pub gamma_p: f64,
}

impl Default for Bola {
    /// The paper's setting.
    fn default() -> Self {
        Self { gamma_p: 5.0 }
    }
}

impl Bola {
    /// V at this moment: its first factor follows the buffer that the video's place allows.
    fn v(&self, setting: &TitleModel, state: &PlayerState) -> f64 {
        let p = setting.chunk_s();
        let played = (state.next_chunk as f64 * p - state.buffer_s).max(0.0);
        let left = (setting.chunks() - state.next_chunk) as f64 * p + state.buffer_s;
        let cap = setting.player().buffer_cap.as_secs_f64();
        let chunks = cap.min((played.min(left) / 2.0).max(3.0 * p)) / p;
        let top = utility(setting, setting.rungs() - 1);
        // A player that holds a chunk at most has no room to choose by.
        (chunks - 1.0).max(0.1) / (top + self.gamma_p)
    }

    /// The rung of the largest score: the lowest of equals.
    fn best(&self, setting: &TitleModel, state: &PlayerState) -> usize {
        let v = self.v(setting, state);
        let q = state.buffer_s / setting.chunk_s();
        let scores =
            setting.bits(state.next_chunk).iter().enumerate().map(|(rung, bits)| {
                (v * (utility(setting, rung) + self.gamma_p) - q) / bits.max(1.0)
            });
        let first = (0, f64::NEG_INFINITY);
        scores.enumerate().fold(first, |best, new| if new.1 > best.1 { new } else { best }).0
    }
}

impl Abr for Bola {
    fn choose(&self, setting: &TitleModel, state: &PlayerState) -> usize {
        let best = self.best(setting, state);
        let (Some(last), Some(rate)) =
            (state.last_rung, state.history.throughput_bps().last().copied())
        else {
            return best;
        };
        if best <= last {
            return best;
        }
        let rates = setting.mean_rate_bps();
        let carried = rates.iter().rposition(|r| *r <= rate).unwrap_or(0);
        if carried >= best {
            best
        } else if carried < last {
            last
        } else {
            carried + 1
        }
    }
}

/// ln(R_m / R_0).
fn utility(setting: &TitleModel, rung: usize) -> f64 {
    let rates = setting.mean_rate_bps();
    (rates[rung] / rates[0]).max(1.0).ln()
}
