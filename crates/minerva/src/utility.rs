//! What a rate is worth to a viewer now: equation 2 and the client-aware form of section 5.3.

use airlane_abr::TitleModel;
use serde::Serialize;

use crate::curve::sustaining_rate_bps;
use crate::value::{Ahead, ValueFunction};

/// Weights of the parts of the client-aware utility.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Blend {
    /// phi1 N: weight of the mean QoE of the past, beside 1 for the current chunk.
    pub past: f64,
    /// phi2: weight of the value function.
    pub future: f64,
    /// h: chunks that the value function looks ahead, where it is simulated on demand; a value
    /// function that was made elsewhere has its own.
    pub horizon: usize,
}

impl Default for Blend {
    /// Section 5.3: phi1 = 1/N, phi2 = 1, h = 5.
    fn default() -> Self {
        Self { past: 1.0, future: 1.0, horizon: 5 }
    }
}

/// The chunk on its way and the viewer behind it, as the server knows them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Download {
    /// The chunk.
    pub chunk: usize,
    /// Its rung.
    pub rung: usize,
    /// Rung of the chunk before it.
    pub previous: Option<usize>,
    /// Bits that are still to come.
    pub left_bits: f64,
    /// Seconds that the viewer can go on watching without it, the overhead of a chunk taken off;
    /// negative if the picture has been standing for that long.
    pub buffer_s: f64,
    /// Mean of equation 1 over the chunks before it.
    pub past_qoe: f64,
}

/// A utility and its three parts, each a QoE per chunk.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Utility {
    /// Mean QoE of the chunks before the current one.
    pub past: f64,
    /// Expected QoE of the current one.
    pub current: f64,
    /// V_h: expected QoE per chunk of the next ones.
    pub value: f64,
    /// The mean of the three by their weights, extended in proportion beyond the top rung's rate.
    pub total: f64,
}

/// U(r) of equation 2: the mean curve at `rate_bps`, interpolated between rungs, extended in
/// proportion beyond them.
pub fn basic(setting: &TitleModel, rate_bps: f64) -> f64 {
    setting.view().curve().eval(rate_bps)
}

/// U(r) of section 5.3: the mean of past, current and future QoE, weighed by `blend`; the future
/// is `value`'s.
///
/// `None` after the video's last chunk, whose future is nothing. Beyond the rate that holds the
/// top rung ([`sustaining_rate_bps`]) the total grows in proportion to the rate.
pub fn client_aware(
    setting: &TitleModel,
    value: &(impl ValueFunction + ?Sized),
    download: &Download,
    rate_bps: f64,
    blend: &Blend,
) -> Option<Utility> {
    let top = sustaining_rate_bps(setting, setting.rungs() - 1);
    let rate = rate_bps.min(top);
    let left_s = download.left_bits / rate;
    let current = setting.chunk_qoe(
        download.chunk,
        download.rung,
        (left_s - download.buffer_s).max(0.0),
        download.previous,
    );
    let cap = setting.player().buffer_cap.as_secs_f64();
    let ahead = Ahead {
        next_chunk: download.chunk + 1,
        last_rung: download.rung,
        buffer_s: ((download.buffer_s - left_s).max(0.0) + setting.chunk_s()).min(cap),
    };
    let value = value.value(ahead, rate)?;
    let sum = blend.past * download.past_qoe + current + blend.future * value;
    let mean = sum / (blend.past + 1.0 + blend.future);
    Some(Utility {
        past: download.past_qoe,
        current,
        value,
        total: mean * (rate_bps / top).max(1.0),
    })
}
