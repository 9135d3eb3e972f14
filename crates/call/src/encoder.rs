//! Model of a video encoder: how many bytes each frame has.

use std::time::Duration;

use airlane_base::{Rate, Rng, Time};
use rand_distr::{Distribution, Exp, LogNormal};

use crate::layers::{MAX_TEMPORAL_LAYERS, temporal_layer, temporal_weight};

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
    /// Mean time between frames in which all of the picture changes, such as a next slide: each has the size of a
    /// key frame. `None`: there are none.
    pub change_interval: Option<Duration>,
    /// Number of temporal layers, 1 to 3.
    pub temporal_layers: u8,
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
            change_interval: None,
            temporal_layers: 1,
        }
    }
}

impl EncoderConfig {
    /// A shared screen: 5 frames per second of up to 2.5 Mbit/s, which hardly change but for a new picture every 8 s
    /// in the mean.
    pub fn screen() -> Self {
        Self {
            frame_rate: 5.0,
            min_rate: Rate::from_bps(100_000),
            max_rate: Rate::from_bps(2_500_000),
            size_variation: 0.5,
            change_interval: Some(Duration::from_secs(8)),
            ..Self::default()
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
    /// Time of the next frame in which all of the picture changes.
    next_change: Option<Time>,
    /// Number of the next frame.
    number: u32,
    /// Number of the last frame of each temporal layer since the last key frame.
    last_of_layer: [Option<u32>; MAX_TEMPORAL_LAYERS as usize],
}

/// Size of an encoded frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EncodedFrame {
    /// Bytes, at least 1.
    pub bytes: u32,
    /// True for a key frame.
    pub is_key: bool,
    /// Number of the frame, from 0.
    pub number: u32,
    /// Temporal layer.
    pub temporal_layer: u8,
    /// Distance to the frame that it is predicted from, which is of a lower layer, or of layer 0 if it is itself.
    pub reference_distance: u8,
}

impl Encoder {
    /// An encoder whose first frame is a key frame.
    pub fn new(config: EncoderConfig, rng: Rng) -> Self {
        Self {
            config,
            rng,
            debt: 0.0,
            last_key: None,
            wants_key: true,
            next_change: None,
            number: 0,
            last_of_layer: [None; MAX_TEMPORAL_LAYERS as usize],
        }
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
        let config = self.config;
        let rate = rate.clamp(config.min_rate, config.max_rate);
        let mean = rate.as_f64() / 8.0 / config.frame_rate;
        let is_due =
            |last: Time| config.key_frame_interval.is_some_and(|every| now - last >= every);
        let is_key = std::mem::take(&mut self.wants_key) || self.last_key.is_none_or(is_due);
        let (number, layers) = (self.number, config.temporal_layers);
        self.number = number.wrapping_add(1);
        let temporal_layer = if is_key { 0 } else { temporal_layer(layers, number) };
        let reference_distance = self.reference_distance(number, temporal_layer, is_key);
        let expected = mean * if is_key { 1.0 } else { temporal_weight(layers, temporal_layer) };
        let has_changed = self.has_changed(now);
        let size = if is_key {
            self.last_key = Some(now);
            mean * config.key_frame_ratio
        } else if has_changed {
            mean * config.key_frame_ratio
        } else {
            expected * self.variation()
        };
        // What a key frame had too much, later frames have less.
        let repaid = (self.debt * REPAYMENT).clamp(-0.5 * mean, 0.5 * mean);
        let bytes = (size - if is_key { 0.0 } else { repaid }).clamp(1.0, f64::from(max_bytes));
        self.debt += bytes - expected;
        EncodedFrame { bytes: bytes as u32, is_key, number, temporal_layer, reference_distance }
    }

    /// Distance to the newest frame that a frame of this layer is predicted from.
    fn reference_distance(&mut self, number: u32, layer: u8, is_key: bool) -> u8 {
        if is_key {
            self.last_of_layer = [None; MAX_TEMPORAL_LAYERS as usize];
        }
        let layer = usize::from(layer);
        let newest = self.last_of_layer[..layer.max(1)].iter().flatten().max();
        let distance = newest.map_or(1, |of| number.wrapping_sub(*of).clamp(1, 255) as u8);
        self.last_of_layer[layer] = Some(number);
        distance
    }

    /// True if all of the picture has changed since the last frame.
    fn has_changed(&mut self, now: Time) -> bool {
        let Some(mean) = self.config.change_interval else { return false };
        let next = match self.next_change {
            Some(next) => next,
            None => now + self.time_to_change(mean),
        };
        let has_changed = next <= now;
        self.next_change = Some(if has_changed { now + self.time_to_change(mean) } else { next });
        has_changed
    }

    fn time_to_change(&mut self, mean: Duration) -> Duration {
        let law = Exp::new(1.0 / mean.as_secs_f64().max(1e-3));
        Duration::from_secs_f64(law.map_or(0.0, |law| law.sample(&mut self.rng)))
    }

    /// A factor of mean 1.
    fn variation(&mut self) -> f64 {
        let variance = (1.0 + self.config.size_variation.powi(2)).ln();
        // There is a law for every finite coefficient.
        LogNormal::new(-variance / 2.0, variance.sqrt())
            .map_or(1.0, |law| law.sample(&mut self.rng))
    }
}
