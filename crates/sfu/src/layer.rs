//! Names of layers, and of the codecs that have them.

/// Number of spatial layers, or of encodings of a simulcast track, that are told apart.
pub const MAX_SPATIAL_LAYERS: usize = 4;

/// Number of temporal layers that are told apart; higher ones count as the last.
pub const MAX_TEMPORAL_LAYERS: usize = 4;

/// Number of layers that are told apart.
pub const MAX_LAYERS: usize = MAX_SPATIAL_LAYERS * MAX_TEMPORAL_LAYERS;

/// A codec of a published track.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Codec {
    /// VP8 (RFC 7741): temporal layers; spatial ones by simulcast.
    Vp8,
    /// VP9 (RFC 9628): temporal and spatial layers.
    Vp9,
    /// AV1 with the dependency descriptor in each packet: temporal and spatial layers.
    Av1,
    /// Opus (RFC 7587): no layers.
    Opus,
}

impl Codec {
    /// Ticks of the RTP timestamp in a second.
    pub const fn clock_rate(self) -> u32 {
        match self {
            Self::Vp8 | Self::Vp9 | Self::Av1 => 90_000,
            Self::Opus => 48_000,
        }
    }
}

/// A layer of a track: frames of this spatial and temporal layer, with all that they depend on.
///
/// The order is that of quality: resolution first, then frame rate.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct LayerIndex {
    /// Spatial layer, from 0; with simulcast the index of the encoding.
    pub spatial: u8,
    /// Temporal layer, from 0.
    pub temporal: u8,
}

impl LayerIndex {
    /// The lowest layer.
    pub const LOWEST: Self = Self { spatial: 0, temporal: 0 };
    /// The highest layer that a track can have.
    pub const HIGHEST: Self =
        Self { spatial: MAX_SPATIAL_LAYERS as u8 - 1, temporal: MAX_TEMPORAL_LAYERS as u8 - 1 };

    /// The layer of these numbers, each at most that of [`LayerIndex::HIGHEST`].
    pub const fn new(spatial: u8, temporal: u8) -> Self {
        let highest = Self::HIGHEST;
        Self {
            spatial: if spatial < highest.spatial { spatial } else { highest.spatial },
            temporal: if temporal < highest.temporal { temporal } else { highest.temporal },
        }
    }

    /// Every layer, in the order of quality.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..MAX_LAYERS).map(|place| {
            Self::new((place / MAX_TEMPORAL_LAYERS) as u8, (place % MAX_TEMPORAL_LAYERS) as u8)
        })
    }

    /// Place of the layer among [`LayerIndex::all`], below [`MAX_LAYERS`].
    pub fn place(self) -> usize {
        let bounded = Self::new(self.spatial, self.temporal);
        usize::from(bounded.spatial) * MAX_TEMPORAL_LAYERS + usize::from(bounded.temporal)
    }
}
