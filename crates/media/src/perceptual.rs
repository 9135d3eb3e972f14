//! What a video's chunks score under one metric, laid out for players and utilities.

use std::sync::Arc;

use airlane_base::InputError;
use airlane_quality::{PiecewiseLinear, Smoothness};

use crate::video::{Metric, Video};

/// P of equation 1 for one video and one metric, with its mean curve.
#[derive(Clone, Debug)]
pub struct Perceptual {
    video: Arc<Video>,
    metric: Metric,
    curve: PiecewiseLinear,
    /// The mean curve at each rung's mean rate.
    mean: Vec<f64>,
    /// Rung by rung, `chunks` values each.
    p: Vec<f64>,
}

impl Perceptual {
    /// The view of `video` under `metric`.
    ///
    /// # Errors
    /// If the metric was not measured, or scores zero throughout.
    pub fn new(video: Arc<Video>, metric: Metric) -> Result<Self, InputError> {
        let lists: Option<Vec<&[f64]>> =
            video.rungs.iter().map(|r| r.quality.get(&metric).map(Vec::as_slice)).collect();
        let (Some(lists), Some(curve)) = (lists, video.mean_curve(metric)) else {
            let known: Vec<&str> = video.metrics().map(Metric::name).collect();
            return Err(InputError::new(
                format!("{} has no usable {metric}", video.name),
                format!("its metrics are {}", known.join(", ")),
            ));
        };
        let p = lists.concat();
        let mean = (0..video.rungs.len()).map(|r| curve.eval(video.mean_rate_bps(r))).collect();
        Ok(Self { video, metric, curve, mean, p })
    }

    /// The video.
    pub fn video(&self) -> &Arc<Video> {
        &self.video
    }

    /// The metric.
    pub fn metric(&self) -> Metric {
        self.metric
    }

    /// The mean curve, [`Video::mean_curve`]: quality over rate in bits/s.
    pub fn curve(&self) -> &PiecewiseLinear {
        &self.curve
    }

    /// P of chunk `chunk` at rung `rung`.
    ///
    /// # Panics
    /// If there is no such chunk or rung.
    pub fn p(&self, rung: usize, chunk: usize) -> f64 {
        let chunks = self.video.chunks();
        assert!(chunk < chunks, "chunk {chunk} of {chunks}");
        self.p[rung * chunks + chunk]
    }

    /// The mean curve at a rung, the quality that smoothness is taken on by default.
    ///
    /// # Panics
    /// If there is no such rung.
    pub fn mean(&self, rung: usize) -> f64 {
        self.mean[rung]
    }

    /// The absolute quality difference that equation 1 charges when chunk `chunk` plays at `rung`
    /// after chunk `chunk - 1` at `before`; zero for the first chunk.
    pub fn smooth_delta(&self, how: Smoothness, rung: usize, before: usize, chunk: usize) -> f64 {
        match (how, chunk) {
            (_, 0) => 0.0,
            (Smoothness::MeanCurve, _) => (self.mean(rung) - self.mean(before)).abs(),
            (Smoothness::Chunk, _) => (self.p(rung, chunk) - self.p(before, chunk - 1)).abs(),
        }
    }
}
