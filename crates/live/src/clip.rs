//! A clip as a live stream: how it is coded, and its encoder.

use std::sync::Arc;

use airlane_media::layers::LayeredVideo;
use serde::Serialize;

use super::{Cells, CloudEncoder, Encoder, LayerMarks, QualityEncoder, Structure, TemporalEncoder};

/// Kind of a clip's encodings that are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum Video {
    /// In layers of quality, at a rate that follows the path's (Octopus, section 6.2).
    #[default]
    Quality,
    /// In temporal layers, at one quality (section 6.1).
    FrameRate,
    /// As point clouds, in layers of cells (section 6.3).
    Volumetric,
}

impl Video {
    /// Structure of a clip's encodings of this kind; `None` if it was not encoded so.
    pub fn structure(self, clip: &LayeredVideo) -> Option<Structure> {
        match self {
            Self::Quality => clip.quality.as_ref().map(|table| Structure::Quality {
                gop: table.gop as u32,
                layers: table.layers as u8,
            }),
            Self::FrameRate => {
                clip.temporal.as_ref().map(|table| Structure::Temporal { gop: table.gop as u32 })
            }
            Self::Volumetric => clip.clouds.as_ref().map(|table| {
                let (fronts, layers) = (table.fronts() as u8, table.layers as u8);
                Structure::Clouds(Cells { fronts, layers })
            }),
        }
    }

    /// The encoder of a clip; `None` if it was not encoded so. Temporal layers are marked where `marks`
    /// has droppers, layers of cells where it marks anything. `ip_bytes` says how many IP bytes a message of so many bytes takes.
    pub fn encoder(
        self,
        clip: &LayeredVideo,
        marks: LayerMarks,
        ip_bytes: impl Fn(usize) -> u64,
    ) -> Option<Box<dyn Encoder>> {
        Some(match self {
            Self::Quality => {
                let table = Arc::new(clip.quality.clone()?);
                Box::new(QualityEncoder::new(table, clip.fps, marks, ip_bytes))
            }
            Self::FrameRate => {
                Box::new(TemporalEncoder::new(Arc::new(clip.temporal.clone()?), marks))
            }
            Self::Volumetric => Box::new(CloudEncoder::new(Arc::new(clip.clouds.clone()?), marks)),
        })
    }
}
