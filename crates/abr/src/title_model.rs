//! What a player knows of its video and of itself before the first request: the tables that every
//! algorithm, simulation and utility works on.

use std::sync::Arc;
use std::time::Duration;

use airlane_base::InputError;
use airlane_media::{Perceptual, Video};
use airlane_quality::{QoeParams, Smoothness};

/// Most rungs that a ladder may have; the solver keeps its tables on the stack.
pub const MAX_RUNGS: usize = 16;

/// Configuration of the player's buffer and requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct PlayerConfig {
    /// The player asks for no further chunk while it holds more than this.
    pub buffer_cap: Duration,
    /// Idle time between a response and the next request. Minerva, section 6.2, found 0.6 s for
    /// each chunk in a browser's DASH player.
    pub chunk_overhead: Duration,
}

impl Default for PlayerConfig {
    fn default() -> Self {
        Self { buffer_cap: Duration::from_secs(40), chunk_overhead: Duration::from_millis(600) }
    }
}

/// Model of a title for decisions: its tables, with the QoE and the player that it is watched with.
///
/// Plain tables of floats, so that simulating a player costs arithmetic only.
#[derive(Clone, Debug)]
pub struct TitleModel {
    view: Perceptual,
    qoe: QoeParams,
    player: PlayerConfig,
    rungs: usize,
    chunks: usize,
    /// Bits, by chunk, then rung.
    bits: Vec<f64>,
    /// Quality, by chunk, then rung.
    quality: Vec<f64>,
    /// gamma times what smoothness is taken from, by chunk, then rung.
    position: Vec<f64>,
    /// Differences of position between neighbouring rungs, if they are the same in every chunk
    /// and none is negative.
    gaps: Option<Vec<f64>>,
    /// Mean rate over the chunks, bits per second, by rung.
    mean_rate: Vec<f64>,
}

impl TitleModel {
    /// The tables of a video under a metric, watched with `player` and judged by `qoe`.
    ///
    /// # Errors
    /// If the ladder has more than [`MAX_RUNGS`], or a parameter of the QoE is not a finite
    /// number of at least zero.
    pub fn new(view: Perceptual, qoe: QoeParams, player: PlayerConfig) -> Result<Self, InputError> {
        let video = view.video();
        let (rungs, chunks) = (video.rungs.len(), video.chunks());
        if rungs > MAX_RUNGS {
            return Err(InputError::new(
                format!("{} has {rungs} rungs", video.name),
                format!("expected at most {MAX_RUNGS}"),
            ));
        }
        for (key, value) in [("beta", qoe.beta), ("gamma", qoe.gamma)] {
            if !(value.is_finite() && value >= 0.0) {
                return Err(InputError::new(
                    format!("{value}"),
                    "expected a finite number of at least 0",
                )
                .at_key(key));
            }
        }
        let cells = (0..chunks).flat_map(|c| (0..rungs).map(move |r| (c, r)));
        let quality: Vec<f64> = cells.clone().map(|(c, r)| view.p(r, c)).collect();
        let position = match qoe.smoothness {
            Smoothness::MeanCurve => cells.clone().map(|(_, r)| qoe.gamma * view.mean(r)).collect(),
            Smoothness::Chunk => quality.iter().map(|q| qoe.gamma * q).collect(),
        };
        let gaps: Vec<f64> =
            (1..rungs).map(|r| qoe.gamma * (view.mean(r) - view.mean(r - 1))).collect();
        let rising = gaps.iter().all(|&g| g >= 0.0);
        let gaps = (rising && qoe.smoothness == Smoothness::MeanCurve).then_some(gaps);
        Ok(Self {
            qoe,
            gaps,
            player,
            rungs,
            chunks,
            bits: cells.map(|(c, r)| video.size_bytes(r, c) as f64 * 8.0).collect(),
            quality,
            position,
            mean_rate: (0..rungs).map(|r| video.mean_rate_bps(r)).collect(),
            view,
        })
    }

    /// The video under its metric.
    pub fn view(&self) -> &Perceptual {
        &self.view
    }

    /// The video.
    pub fn video(&self) -> &Arc<Video> {
        self.view.video()
    }

    /// The parameters of equation 1.
    pub fn qoe_params(&self) -> QoeParams {
        self.qoe
    }

    /// The player.
    pub fn player(&self) -> PlayerConfig {
        self.player
    }

    /// Number of rungs.
    pub fn rungs(&self) -> usize {
        self.rungs
    }

    /// Number of chunks.
    pub fn chunks(&self) -> usize {
        self.chunks
    }

    /// Length of a chunk.
    pub fn chunk(&self) -> Duration {
        self.video().chunk
    }

    /// Length of a chunk, seconds.
    pub fn chunk_s(&self) -> f64 {
        self.chunk().as_secs_f64()
    }

    /// Bits of chunk `chunk` at each rung.
    pub fn bits(&self, chunk: usize) -> &[f64] {
        &self.bits[chunk * self.rungs..][..self.rungs]
    }

    /// Quality of chunk `chunk` at each rung.
    pub fn quality(&self, chunk: usize) -> &[f64] {
        &self.quality[chunk * self.rungs..][..self.rungs]
    }

    /// gamma times the quality that smoothness is taken from, of chunk `chunk` at each rung: the
    /// smoothness penalty is the distance between two of these.
    pub fn position(&self, chunk: usize) -> &[f64] {
        &self.position[chunk * self.rungs..][..self.rungs]
    }

    /// The smoothness penalties between neighbouring rungs, where these are the same in every
    /// chunk and add up along the ladder: on a mean curve that rises with the rungs.
    pub(crate) fn gaps(&self) -> Option<&[f64]> {
        self.gaps.as_deref()
    }

    /// Rate of each rung, averaged over the chunks, bits per second.
    pub fn mean_rate_bps(&self) -> &[f64] {
        &self.mean_rate
    }

    /// The difference of quality that equation 1 charges gamma for, between chunk `chunk` at `rung`
    /// and the chunk before it at `previous`; zero for the first chunk and without a previous one.
    pub fn change(&self, chunk: usize, rung: usize, previous: Option<usize>) -> f64 {
        previous.map_or(0.0, |p| self.view.smooth_delta(self.qoe.smoothness, rung, p, chunk))
    }

    /// Equation 1 for chunk `chunk` at `rung` after `stall_s` seconds of rebuffering; `previous`
    /// is the rung of the chunk before it, `None` for the first one, which has no smoothness term.
    pub fn chunk_qoe(
        &self,
        chunk: usize,
        rung: usize,
        stall_s: f64,
        previous: Option<usize>,
    ) -> f64 {
        let change = self.change(chunk, rung, previous);
        self.qoe.chunk_qoe(self.quality(chunk)[rung], stall_s, change)
    }
}
