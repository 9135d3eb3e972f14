//! Layers of a scalable video: parts of each frame, and frames that may be left out.

use thiserror::Error;

/// Spatial layers of a video, at most.
pub const MAX_SPATIAL_LAYERS: usize = 8;
/// Temporal layers of a video, at most.
pub const MAX_TEMPORAL_LAYERS: u8 = 3;

/// Bitrate up to each temporal layer relative to the whole, by number of layers: what libvpx uses in real time.
const TEMPORAL_SHARES: [&[f64]; MAX_TEMPORAL_LAYERS as usize] =
    [&[1.0], &[0.6, 1.0], &[0.4, 0.6, 1.0]];
/// Temporal layer of each frame of a period, by number of layers.
const TEMPORAL_PATTERNS: [&[u8]; MAX_TEMPORAL_LAYERS as usize] = [&[0], &[0, 1], &[0, 2, 1, 2]];

/// Highest spatial and temporal layer that a receiver gets, both from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LayerSelection {
    /// Spatial layer: with it go those below.
    pub spatial: u8,
    /// Temporal layer: with it go those below.
    pub temporal: u8,
}

/// Layers that are none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "layers that are none: expected 1 to {MAX_SPATIAL_LAYERS} rising shares of which the last is 1, and 1 to \
     {MAX_TEMPORAL_LAYERS} temporal layers"
)]
pub struct InvalidLayers;

/// Layers of a track. Each frame begins with its lowest spatial layer; the temporal layer of a frame follows from
/// its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerTable {
    /// Bytes of a frame up to each spatial layer relative to all of it, in 1/65535.
    spatial: Vec<u16>,
    temporal_layers: u8,
}

impl Default for LayerTable {
    /// One layer.
    fn default() -> Self {
        Self { spatial: vec![u16::MAX], temporal_layers: 1 }
    }
}

impl LayerTable {
    /// A table of these shares of a frame, each up to its layer, and this many temporal layers.
    ///
    /// # Errors
    /// If the shares do not rise from above 0 to 1, or there are too many layers.
    pub fn new(spatial: &[f64], temporal_layers: u8) -> Result<Self, InvalidLayers> {
        let shares = spatial.iter().map(|share| (share * f64::from(u16::MAX)).round() as u16);
        Self::from_units(shares.collect(), temporal_layers)
    }

    /// A table of shares in 1/65535.
    pub(crate) fn from_units(
        spatial: Vec<u16>,
        temporal_layers: u8,
    ) -> Result<Self, InvalidLayers> {
        let is_rising = spatial.windows(2).all(|pair| pair[0] < pair[1]);
        let is_whole = spatial.last() == Some(&u16::MAX) && spatial.first() > Some(&0);
        let is_bounded = spatial.len() <= MAX_SPATIAL_LAYERS
            && (1..=MAX_TEMPORAL_LAYERS).contains(&temporal_layers);
        match is_rising && is_whole && is_bounded {
            true => Ok(Self { spatial, temporal_layers }),
            false => Err(InvalidLayers),
        }
    }

    /// Shares in 1/65535.
    pub(crate) fn units(&self) -> &[u16] {
        &self.spatial
    }

    /// Number of temporal layers.
    pub fn temporal_layers(&self) -> u8 {
        self.temporal_layers
    }

    /// The highest layers.
    pub fn top(&self) -> LayerSelection {
        LayerSelection { spatial: self.spatial.len() as u8 - 1, temporal: self.temporal_layers - 1 }
    }

    /// Selections from the lowest to the highest, each with its bitrate relative to the whole: temporal layers of a
    /// spatial layer before the next one. One that costs less than a lower one is left out.
    pub fn steps(&self) -> Vec<(LayerSelection, f64)> {
        let mut steps: Vec<(LayerSelection, f64)> = Vec::new();
        for spatial in 0..self.spatial.len() as u8 {
            for temporal in 0..self.temporal_layers {
                let selection = LayerSelection { spatial, temporal };
                let share = self.share(selection);
                if steps.last().is_none_or(|(_, last)| share > *last) {
                    steps.push((selection, share));
                }
            }
        }
        steps
    }

    /// Bitrate of a selection relative to the whole.
    pub fn share(&self, selection: LayerSelection) -> f64 {
        let temporal = temporal_shares(self.temporal_layers);
        let last = temporal.len() - 1;
        self.spatial_share(selection.spatial) * temporal[usize::from(selection.temporal).min(last)]
    }

    /// Bytes of a frame of `bytes` up to a spatial layer.
    pub fn bytes(&self, bytes: u32, spatial: u8) -> u32 {
        (f64::from(bytes) * self.spatial_share(spatial)).ceil() as u32
    }

    fn spatial_share(&self, spatial: u8) -> f64 {
        let last = self.spatial.len() - 1;
        f64::from(self.spatial[usize::from(spatial).min(last)]) / f64::from(u16::MAX)
    }
}

/// Bitrate up to each temporal layer relative to the whole.
fn temporal_shares(layers: u8) -> &'static [f64] {
    TEMPORAL_SHARES[usize::from(layers.clamp(1, MAX_TEMPORAL_LAYERS)) - 1]
}

/// Temporal layer of a frame that is no key frame: these are of layer 0.
pub fn temporal_layer(layers: u8, frame: u32) -> u8 {
    let pattern = TEMPORAL_PATTERNS[usize::from(layers.clamp(1, MAX_TEMPORAL_LAYERS)) - 1];
    pattern[frame as usize % pattern.len()]
}

/// Mean size of a frame of a temporal layer relative to the mean of all frames.
pub(crate) fn temporal_weight(layers: u8, layer: u8) -> f64 {
    let pattern = TEMPORAL_PATTERNS[usize::from(layers.clamp(1, MAX_TEMPORAL_LAYERS)) - 1];
    let shares = temporal_shares(layers);
    let layer = usize::from(layer).min(shares.len() - 1);
    let own = shares[layer] - if layer == 0 { 0.0 } else { shares[layer - 1] };
    let frames = pattern.iter().filter(|of| usize::from(**of) == layer).count();
    own * pattern.len() as f64 / frames as f64
}
