//! The quality of experience of a chunk and of a session.
//!
//! Equation 1 of Minerva (SIGCOMM 2019, section 4):
//! `QoE(c_k, R_k, c_{k-1}) = P(c_k) - beta * R_k - gamma * |P(c_k) - P(c_{k-1})|`.

use serde::{Deserialize, Serialize};

/// On which qualities the smoothness penalty is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Smoothness {
    /// On the video's mean curve: a change of rung costs the difference of the mean qualities of
    /// the two rungs, and staying costs nothing. This is what the text under equation 1 says
    /// ("penalizes changes in bitrate").
    #[default]
    MeanCurve,
    /// Chunk by chunk: the difference between what the two chunks really scored, so that a scene
    /// cut costs too.
    Chunk,
}

/// The constants of equation 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct QoeParams {
    /// Penalty per second of rebuffering, in units of the quality metric.
    pub beta: f64,
    /// Penalty per unit of quality difference between adjacent chunks.
    pub gamma: f64,
    /// Qualities on which that difference is taken.
    pub smoothness: Smoothness,
}

impl Default for QoeParams {
    /// Section 8.1.3: beta = 25 and gamma = 2.5, for a metric from 0 to 100.
    fn default() -> Self {
        Self { beta: 25.0, gamma: 2.5, smoothness: Smoothness::MeanCurve }
    }
}

impl QoeParams {
    /// The same penalties on a scale of another span: they are charged in points of the measure.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        Self { beta: factor * self.beta, gamma: factor * self.gamma, ..self }
    }

    /// Equation 1: quality `p` of the chunk, seconds of rebuffering before or during it, and the
    /// absolute quality difference to the chunk before it (zero for the first chunk).
    pub fn chunk_qoe(&self, p: f64, rebuffer_s: f64, smooth_delta: f64) -> f64 {
        p - self.beta * rebuffer_s - self.gamma * smooth_delta.abs()
    }
}

/// Contribution of one chunk to the QoE.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChunkQoe {
    /// Its perceptual quality.
    pub quality: f64,
    /// Seconds of rebuffering charged to it.
    pub rebuffer_s: f64,
    /// Absolute quality difference to the chunk before.
    pub smooth_delta: f64,
    /// Its QoE by equation 1.
    pub qoe: f64,
}

/// Adds up a session chunk by chunk.
///
/// The mean of [`ChunkQoe::qoe`] over the chunks is the QoE of the session (section 4). The wait
/// before the first picture is start-up, not rebuffering: charge it to [`SessionQoe::startup_s`].
#[derive(Clone, Debug, PartialEq)]
pub struct SessionQoe {
    params: QoeParams,
    chunks: u64,
    quality: f64,
    rebuffer_s: f64,
    smooth_delta: f64,
    qoe: f64,
    /// Seconds between the request of the first chunk and its first picture.
    pub startup_s: f64,
}

impl SessionQoe {
    /// A session without chunks.
    pub fn new(params: QoeParams) -> Self {
        Self {
            params,
            chunks: 0,
            quality: 0.0,
            rebuffer_s: 0.0,
            smooth_delta: 0.0,
            qoe: 0.0,
            startup_s: 0.0,
        }
    }

    /// Adds a chunk; arguments as in [`QoeParams::chunk_qoe`].
    pub fn push(&mut self, p: f64, rebuffer_s: f64, smooth_delta: f64) -> ChunkQoe {
        let chunk = ChunkQoe {
            quality: p,
            rebuffer_s,
            smooth_delta: smooth_delta.abs(),
            qoe: self.params.chunk_qoe(p, rebuffer_s, smooth_delta),
        };
        self.chunks += 1;
        self.quality += chunk.quality;
        self.rebuffer_s += chunk.rebuffer_s;
        self.smooth_delta += chunk.smooth_delta;
        self.qoe += chunk.qoe;
        chunk
    }

    /// The constants of this session.
    pub fn params(&self) -> &QoeParams {
        &self.params
    }

    /// Number of chunks so far.
    pub fn chunks(&self) -> u64 {
        self.chunks
    }

    /// Sum of the chunks' QoE so far.
    pub fn total_qoe(&self) -> f64 {
        self.qoe
    }

    /// Mean QoE per chunk, `None` before the first chunk.
    pub fn mean_qoe(&self) -> Option<f64> {
        self.per_chunk(self.qoe)
    }

    /// Mean perceptual quality per chunk, `None` before the first chunk.
    pub fn mean_quality(&self) -> Option<f64> {
        self.per_chunk(self.quality)
    }

    /// Mean quality difference between adjacent chunks as it was charged, `None` before the first
    /// chunk.
    pub fn mean_smooth_delta(&self) -> Option<f64> {
        self.per_chunk(self.smooth_delta)
    }

    /// Seconds of rebuffering so far, start-up apart.
    pub fn rebuffer_s(&self) -> f64 {
        self.rebuffer_s
    }

    fn per_chunk(&self, sum: f64) -> Option<f64> {
        (self.chunks > 0).then(|| sum / self.chunks as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equation_one_with_the_constants_of_the_paper() {
        let q = QoeParams::default();
        assert_eq!(q.chunk_qoe(80.0, 0.0, 0.0), 80.0);
        assert_eq!(q.chunk_qoe(80.0, 0.4, 4.0), 80.0 - 10.0 - 10.0);
        assert_eq!(q.chunk_qoe(80.0, 0.4, -4.0), 60.0, "the difference is absolute");
    }

    #[test]
    fn a_session_is_the_mean_of_its_chunks() {
        let mut s = SessionQoe::new(QoeParams::default());
        assert_eq!((s.mean_qoe(), s.mean_quality(), s.chunks()), (None, None, 0));
        s.startup_s = 2.0;
        assert_eq!(s.push(40.0, 0.0, 0.0).qoe, 40.0);
        assert_eq!(s.push(60.0, 1.0, 20.0).qoe, 60.0 - 25.0 - 50.0);
        assert_eq!(s.mean_qoe(), Some(12.5));
        assert_eq!(s.mean_quality(), Some(50.0));
        assert_eq!(s.mean_smooth_delta(), Some(10.0));
        assert_eq!((s.rebuffer_s(), s.startup_s, s.total_qoe()), (1.0, 2.0, 25.0));
    }

    #[test]
    fn config_has_defaults_and_refuses_unknown_keys() {
        let de = |s: &str| -> Result<QoeParams, String> {
            let de = serde::de::value::MapDeserializer::<_, serde::de::value::Error>::new(
                s.split(',').filter(|p| !p.is_empty()).map(|p| (p, 5.0)),
            );
            QoeParams::deserialize(de).map_err(|e| e.to_string())
        };
        assert_eq!(de(""), Ok(QoeParams::default()));
        assert_eq!(de("beta"), Ok(QoeParams { beta: 5.0, ..QoeParams::default() }));
        assert!(de("betta").unwrap_err().contains("unknown field `betta`"));
    }
}
