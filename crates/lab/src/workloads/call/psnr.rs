//! PSNR of a video at a bitrate: what the content that comes with Airlane has in the mean.

use std::sync::OnceLock;

use airlane_media::{Corpus, Metric, Video};
use airlane_quality::stats;

/// PSNR of a video that hardly anything came of, dB: about that of a grey picture.
const MIN_DB: f64 = 10.0;

/// Curve of PSNR over bitrate: lines over the logarithm of the rate, and on beyond both ends.
struct Curve(Vec<(f64, f64)>);

impl Curve {
    /// The curve of the embedded corpus: per rung the means of rate and PSNR over its videos. `None` if this build has
    /// no corpus.
    fn embedded() -> Option<&'static Self> {
        static CURVE: OnceLock<Option<Curve>> = OnceLock::new();
        let read = || {
            let corpus = Corpus::embedded().ok()?;
            let rungs = corpus.entries.iter().map(|entry| entry.video.rungs.len()).min()?;
            let mean = |of: &dyn Fn(&Video) -> Option<f64>| {
                let all = corpus.entries.iter().map(|entry| of(&entry.video));
                stats::mean(&all.collect::<Option<Vec<_>>>()?)
            };
            let point = |rung: usize| {
                let rate = mean(&|video| Some(video.mean_rate_bps(rung)))?;
                Some((rate.ln(), mean(&|video| video.mean_quality(Metric::PsnrDb, rung))?))
            };
            Some(Self((0..rungs).map(point).collect::<Option<Vec<_>>>()?))
        };
        CURVE.get_or_init(read).as_ref()
    }

    /// PSNR at a bitrate, dB.
    fn at(&self, bps: f64) -> Option<f64> {
        if bps <= 0.0 {
            return Some(MIN_DB);
        }
        let x = bps.ln();
        let after = self.0.partition_point(|(at, _)| *at < x).clamp(1, self.0.len() - 1);
        let ((x0, y0), (x1, y1)) = (*self.0.get(after - 1)?, *self.0.get(after)?);
        Some((y0 + (y1 - y0) * (x - x0) / (x1 - x0)).max(MIN_DB))
    }
}

/// PSNR of a video at a bitrate, dB; `None` if this build has no corpus.
pub(super) fn psnr_db(bps: f64) -> Option<f64> {
    Curve::embedded()?.at(bps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn psnr_rises_with_the_rate_and_goes_on_beyond_the_corpus() {
        let db: Vec<f64> = [0.0, 1e3, 0.3e6, 1e6, 2.5e6, 6.5e6, 10e6]
            .into_iter()
            .map(|bps| psnr_db(bps).expect("a corpus"))
            .collect();
        assert!(db.is_sorted(), "{db:?}");
        assert_eq!(db[0], MIN_DB);
        assert!((25.0..35.0).contains(&db[2]) && (35.0..45.0).contains(&db[6]), "{db:?}");
    }
}
