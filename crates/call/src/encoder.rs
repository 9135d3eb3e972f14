//! Model of a video encoder: how many bytes each frame has.

use std::time::Duration;

use airlane_base::{Rate, Rng, Time};
use rand_distr::{Distribution, LogNormal};

/// Settings of an encoder model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EncoderConfig {
    /// Frames per second.
    pub frame_rate: f64,
    /// Lowest bitrate.
    pub min_rate: Rate,
    /// Highest bitrate.
    pub max_rate: Rate,
    /// Time between key frames; `None`: only where one is asked for.
    pub key_frame_interval: Option<Duration>,
    /// Size of a key frame relative to the mean frame.
    pub key_frame_ratio: f64,
    /// Coefficient of variation of the sizes of other frames.
    pub size_variation: f64,
}

impl Default for EncoderConfig {
    /// 20 frames per second of 1 to 10 Mbit/s, as in the evaluation of Plum; sizes vary as those of a
    /// real-time encoder do.
    fn default() -> Self {
        Self {
            frame_rate: 20.0,
            min_rate: Rate::from_bps(1_000_000),
            max_rate: Rate::from_bps(10_000_000),
            key_frame_interval: None,
            key_frame_ratio: 4.0,
            size_variation: 0.15,
        }
    }
}

/// Share of what was encoded beyond the bitrate that each later frame is smaller by.
const REPAYMENT: f64 = 0.1;

/// Encoder of one track.
#[derive(Clone, Debug)]
pub struct Encoder {
    config: EncoderConfig,
    rng: Rng,
    /// Bytes beyond the bitrate so far.
    debt: f64,
    last_key: Option<Time>,
    wants_key: bool,
}

/// Size of an encoded frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EncodedFrame {
    /// Bytes, at least 1.
    pub bytes: u32,
    /// True for a key frame.
    pub is_key: bool,
}

impl Encoder {
    /// An encoder whose first frame is a key frame.
    pub fn new(config: EncoderConfig, rng: Rng) -> Self {
        Self { config, rng, debt: 0.0, last_key: None, wants_key: true }
    }

    /// Makes the next frame a key frame.
    pub fn request_key_frame(&mut self) {
        self.wants_key = true;
    }

    /// Time between frames.
    pub fn frame_interval(&self) -> Duration {
        Duration::from_secs_f64(1.0 / self.config.frame_rate)
    }

    /// Encodes the frame of `now` at a bitrate, which is first brought into the range of the encoder.
    pub fn encode(&mut self, now: Time, rate: Rate, max_bytes: u32) -> EncodedFrame {
        let Self { config, .. } = self;
        let rate = rate.clamp(config.min_rate, config.max_rate);
        let mean = rate.as_f64() / 8.0 / config.frame_rate;
        let is_due =
            |last: Time| config.key_frame_interval.is_some_and(|every| now - last >= every);
        let is_key = std::mem::take(&mut self.wants_key) || self.last_key.is_none_or(is_due);
        let size = if is_key {
            self.last_key = Some(now);
            mean * config.key_frame_ratio
        } else {
            mean * self.variation()
        };
        // What a key frame had too much, later frames have less.
        let repaid = (self.debt * REPAYMENT).clamp(-0.5 * mean, 0.5 * mean);
        let bytes = (size - if is_key { 0.0 } else { repaid }).clamp(1.0, f64::from(max_bytes));
        self.debt += bytes - mean;
        EncodedFrame { bytes: bytes as u32, is_key }
    }

    /// A factor of mean 1.
    fn variation(&mut self) -> f64 {
        let variance = (1.0 + self.config.size_variation.powi(2)).ln();
        // There is a law for every finite coefficient.
        LogNormal::new(-variance / 2.0, variance.sqrt())
            .map_or(1.0, |law| law.sample(&mut self.rng))
    }
}
