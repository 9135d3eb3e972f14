//! A ladder of encodings in quality layers that is finer than what was encoded.

use super::single::scaled;
use super::{Layer, LayeredVideo, QualityEncoding, QualityTable};

impl LayeredVideo {
    /// The clip with a ladder of encodings in quality layers whose rates are `ratio` apart, from a part `below`
    /// of the lowest on, both above 1. Between two encodings bytes and SSIM in dB are interpolated by rate, below
    /// the lowest bytes are in proportion and the quality is 3 dB less for each halving: as frames of
    /// [single layers](super::SingleLadder::frame) are. Nothing is encoded.
    #[must_use]
    pub fn with_finer_ladder(&self, ratio: f64, below: f64) -> Self {
        let quality = self.quality.as_ref().map(|table| table.finer(ratio, below));
        Self { quality, ..self.clone() }
    }
}

impl QualityTable {
    fn finer(&self, ratio: f64, below: f64) -> Self {
        let Some((lowest, highest)) = self.encodings.first().zip(self.encodings.last()) else {
            return self.clone();
        };
        let (from, to) = (lowest.bps() / below, highest.bps());
        let steps = ((to / from).ln() / ratio.ln()).ceil().max(1.0);
        let rates = (0..steps as u32).map(|n| from * (to / from).powf(f64::from(n) / steps));
        let made = rates.map(|bps| self.at(bps)).chain([highest.clone()]);
        Self { encodings: made.collect(), ..*self }
    }

    /// The encoding of this rate, at most that of the highest.
    fn at(&self, bps: f64) -> QualityEncoding {
        let above = self.encodings.partition_point(|encoding| encoding.bps() < bps);
        if above == 0 {
            let lowest = &self.encodings[0];
            let factor = bps / lowest.bps();
            return lowest.map(|layer, _| Layer {
                bytes: scaled(layer.bytes, factor),
                ssim_db: (layer.ssim_db + 10.0 * factor.log10()).max(0.0),
            });
        }
        let high = &self.encodings[above.min(self.encodings.len() - 1)];
        let low = &self.encodings[above - 1];
        let share = (bps - low.bps()) / (high.bps() - low.bps()).max(f64::MIN_POSITIVE);
        let mix = |a: f64, b: f64| a + share.clamp(0.0, 1.0) * (b - a);
        low.map(|layer, (n, k)| {
            let other = high.frames[n][k];
            Layer {
                bytes: (mix(layer.bytes.into(), other.bytes.into()).round() as u32).max(1),
                ssim_db: mix(layer.ssim_db, other.ssim_db),
            }
        })
        .with_rates(|k| mix(low.layer_bps[k], high.layer_bps[k]))
    }
}

impl QualityEncoding {
    /// With other frames, layer by layer of each, and rates in proportion.
    fn map(&self, change: impl Fn(Layer, (usize, usize)) -> Layer) -> Self {
        let frames = self.frames.iter().enumerate().map(|(n, layers)| {
            layers.iter().enumerate().map(|(k, layer)| change(*layer, (n, k))).collect()
        });
        let frames: Vec<Vec<Layer>> = frames.collect();
        let sum = |frames: &[Vec<Layer>], k: usize| -> f64 {
            frames.iter().flat_map(|layers| &layers[..=k]).map(|layer| f64::from(layer.bytes)).sum()
        };
        let factor = |k: usize| sum(&frames, k) / sum(&self.frames, k);
        let layer_bps = self.layer_bps.iter().enumerate().map(|(k, bps)| bps * factor(k)).collect();
        Self { layer_bps, frames }
    }

    fn with_rates(self, rate: impl Fn(usize) -> f64) -> Self {
        Self { layer_bps: (0..self.layer_bps.len()).map(rate).collect(), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layers::LayerContent;

    #[test]
    fn a_finer_ladder_passes_through_what_was_encoded() {
        for clip in LayerContent::embedded().unwrap().videos {
            let Some(coarse) = &clip.quality else { continue };
            let finer = clip.with_finer_ladder(1.05, 4.0);
            let fine = finer.quality.as_ref().unwrap();
            let rates: Vec<f64> = fine.encodings.iter().map(QualityEncoding::bps).collect();
            for pair in rates.windows(2) {
                assert!((1.0..=1.06).contains(&(pair[1] / pair[0])), "{}: {pair:?}", clip.name);
            }
            let lowest = coarse.encodings[0].bps();
            assert!((rates[0] * 4.0 / lowest - 1.0).abs() < 0.01, "{} of {lowest}", rates[0]);
            assert_eq!(fine.encodings.last(), coarse.encodings.last());
            for encoding in &fine.encodings {
                // Between two that were encoded it is between them, frame by frame and layer by layer.
                let above = coarse.encodings.partition_point(|e| e.bps() < encoding.bps());
                let Some(low) = above.checked_sub(1).map(|low| &coarse.encodings[low]) else {
                    continue;
                };
                let high = &coarse.encodings[above];
                for (n, layers) in encoding.frames.iter().enumerate() {
                    for (k, layer) in layers.iter().enumerate() {
                        let (a, b) = (low.frames[n][k], high.frames[n][k]);
                        let range = a.bytes.min(b.bytes)..=a.bytes.max(b.bytes);
                        assert!(range.contains(&layer.bytes), "{} {n} {k}", clip.name);
                        let range =
                            a.ssim_db.min(b.ssim_db) - 1e-9..=a.ssim_db.max(b.ssim_db) + 1e-9;
                        assert!(range.contains(&layer.ssim_db), "{} {n} {k}", clip.name);
                    }
                }
            }
        }
    }
}
