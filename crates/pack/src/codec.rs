//! Codecs and the effort that goes into them.

use serde::{Deserialize, Serialize};

/// Codec of a title's pictures. One per title; the container is CMAF (fragmented MP4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Codec {
    /// H.264 by libx264: every browser and device plays it.
    #[default]
    H264,
    /// VP9 by libvpx.
    Vp9,
    /// AV1 by SVT-AV1.
    Av1,
}

impl Codec {
    /// All codecs.
    pub const ALL: [Self; 3] = [Self::H264, Self::Vp9, Self::Av1];

    /// The name in requests and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::H264 => "h264",
            Self::Vp9 => "vp9",
            Self::Av1 => "av1",
        }
    }

    /// The codec of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|c| c.name() == name)
    }
}

/// Time that the encoder takes, for more or less quality.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Speed {
    /// For a first look.
    Fast,
    /// The middle of each encoder's range.
    #[default]
    Normal,
    /// For what is watched often.
    Slow,
}

impl Speed {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Fast, Self::Normal, Self::Slow];

    /// The name in requests and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fast => "fast",
            Self::Normal => "normal",
            Self::Slow => "slow",
        }
    }
}
