//! The same player at a constant rate: what a rate is worth, `Q(r)`.
//!
//! This is what Minerva's offline optimum, and the default form of its normalisation, are made
//! of (sections 5.4 and 8.2).

use std::time::Duration;

use crate::algorithm::{Abr, next_rung};
use crate::state::{History, PlayerState};
use crate::title_model::TitleModel;

/// A player from request to request at constant rates: the model behind MPC, Minerva's value
/// function and [`fixed_rate`].
///
/// The buffer may be negative between two requests, if the overhead outlasts it: the wait since
/// it ran dry, which the next chunk's stall includes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Walk {
    /// The player at the next request.
    pub state: PlayerState,
}

/// One chunk of a [`Walk`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// The rung that was fetched.
    pub rung: usize,
    /// Download time, seconds.
    pub download_s: f64,
    /// Rebuffering, seconds; zero for the first chunk of a video.
    pub stall_s: f64,
    /// Idle time from the chunk's arrival to the next request, seconds.
    pub idle_s: f64,
    /// Equation 1.
    pub qoe: f64,
}

impl Walk {
    /// Fetches the next chunk at the rung that `abr` chooses, `rate_bps` bits per second. The
    /// history of throughput stays as it is.
    pub fn step(&mut self, abr: &(impl Abr + ?Sized), setting: &TitleModel, rate_bps: f64) -> Step {
        let rung = next_rung(abr, setting, &self.state);
        self.fetch(setting, rung, setting.bits(self.state.next_chunk)[rung] / rate_bps)
    }

    /// Fetches the next chunk at `rung` in `download_s` seconds.
    pub fn fetch(&mut self, setting: &TitleModel, rung: usize, download_s: f64) -> Step {
        let s = &mut self.state;
        let chunk = s.next_chunk;
        let first = chunk == 0;
        let stall_s = if first { 0.0 } else { (download_s - s.buffer_s).max(0.0) };
        let qoe = setting.chunk_qoe(chunk, rung, stall_s, s.last_rung);
        let player = setting.player();
        let arrived = (s.buffer_s - download_s).max(0.0) + setting.chunk_s();
        let idle_s =
            player.chunk_overhead.as_secs_f64().max(arrived - player.buffer_cap.as_secs_f64());
        s.buffer_s = arrived - idle_s;
        s.last_rung = Some(rung);
        s.next_chunk += 1;
        Step { rung, download_s, stall_s, idle_s, qoe }
    }
}

/// A session at a constant rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FixedRate {
    /// Mean of equation 1 over the chunks that began to play within the time.
    pub qoe: f64,
    /// Mean quality over the same chunks.
    pub quality: f64,
    /// Their rebuffering, seconds, start-up apart.
    pub stall_s: f64,
    /// Bits fetched within the time, over the time: the rate that the player took, its pauses
    /// included.
    pub delivered_bps: f64,
}

/// A session of `setting` with `abr` at a constant `rate_bps` of bodies while a chunk is fetched,
/// judged over the chunks that began to play in the first `within`.
///
/// At least one chunk counts, however late it is. Rates that are no number above zero give the
/// worst: a QoE of minus infinity.
pub fn fixed_rate(
    setting: &TitleModel,
    abr: &(impl Abr + ?Sized),
    rate_bps: f64,
    within: Duration,
) -> FixedRate {
    if !(rate_bps.is_finite() && rate_bps > 0.0) {
        return FixedRate {
            qoe: f64::NEG_INFINITY,
            quality: f64::NEG_INFINITY,
            stall_s: f64::INFINITY,
            delivered_bps: 0.0,
        };
    }
    let within = within.as_secs_f64();
    let mut walk = Walk {
        state: PlayerState { history: History::constant(rate_bps), ..PlayerState::start() },
    };
    let (mut now, mut plays_until, mut n) = (0.0_f64, 0.0_f64, 0_u32);
    let (mut qoe, mut quality, mut stall_s, mut bits) = (0.0, 0.0, 0.0, 0.0);
    for chunk in 0..setting.chunks() {
        let requested = now;
        let step = walk.step(abr, setting, rate_bps);
        let arrived = now + step.download_s;
        bits += setting.bits(chunk)[step.rung]
            * ((within - requested) / step.download_s).clamp(0.0, 1.0);
        let begins = arrived.max(plays_until);
        if begins >= within && n > 0 {
            break;
        }
        qoe += step.qoe;
        quality += setting.quality(chunk)[step.rung];
        stall_s += step.stall_s;
        n += 1;
        plays_until = begins + setting.chunk_s();
        now = arrived + step.idle_s;
    }
    let n = f64::from(n);
    FixedRate { qoe: qoe / n, quality: quality / n, stall_s, delivered_bps: bits / within }
}
