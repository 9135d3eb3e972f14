//! Which encoding of a video a path is taken to carry.

use airlane_base::Rate;
use airlane_octopus::MAX_BITRATE_KBPS;

use crate::media_path::Estimate;

/// Rates that the encodings of a video ask of a path.
#[derive(Clone, Debug)]
pub(super) struct EncodingRates {
    /// By encoding, then by layer: its mean rate with those below, IP bits/s. Those of all layers rise.
    ip_bps: Vec<Vec<f64>>,
}

impl EncodingRates {
    pub(super) fn new(ip_bps: Vec<Vec<f64>>) -> Self {
        Self { ip_bps }
    }

    /// The highest encoding that the path is taken to carry, if encodings ask for so many times what is
    /// known of them; `None` if nothing is known of the path.
    pub(super) fn choose(&self, estimate: &Estimate, times: f64) -> Option<usize> {
        let rate = estimate.target.map(Rate::as_f64)?;
        let fits = |layers: &Vec<f64>| layers.last().is_some_and(|bps| bps * times <= rate);
        Some(self.ip_bps.iter().rposition(fits).unwrap_or(0))
    }

    /// The rate of a layer with those below it, IP bits/s.
    pub(super) fn ip_bps(&self, encoding: usize, layer: usize) -> f64 {
        self.ip_bps[encoding][layer]
    }
}

/// A rate as a marking has it.
pub(super) fn marked_kbps(bps: f64) -> u32 {
    ((bps / 1e3).round() as u32).min(MAX_BITRATE_KBPS)
}
