//! Rule by which the server of a call gives layers to receivers, as a scheme names it.

use airlane_call::{AllocatorKind, CustomAllocator};
use airlane_scenario::{Reader, Word, words};
use serde::{Serialize, Serializer};

/// Rule by which the server gives layers to receivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) enum LayerRule {
    MaxMin,
    LiveKit,
    Mediasoup,
    /// One that another crate brings.
    #[serde(serialize_with = "name_of")]
    Custom(CustomAllocator),
}

words! {
    LayerRule: "max-min" => Self::MaxMin, "livekit" => Self::LiveKit,
        "mediasoup" => Self::Mediasoup;
}

fn name_of<S: Serializer>(custom: &CustomAllocator, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_str(custom.name)
}

impl LayerRule {
    /// The rules that a scheme may name, those of other crates too.
    pub(super) fn choices(r: &Reader<'_>) -> Vec<(&'static str, Self)> {
        let brought = r.registry().words::<CustomAllocator>("call_allocator");
        let brought = brought.map(|custom| (custom.name, Self::Custom(*custom)));
        Self::WORDS.iter().copied().chain(brought).collect()
    }

    /// Words for people.
    pub(super) fn manner(self) -> String {
        match self {
            Self::MaxMin => "about the same bitrate of each".to_owned(),
            Self::LiveKit => "in the manner of LiveKit".to_owned(),
            Self::Mediasoup => "in the manner of mediasoup".to_owned(),
            Self::Custom(custom) => format!("as {} says", custom.name),
        }
    }

    pub(super) fn kind(self) -> AllocatorKind {
        match self {
            Self::MaxMin => AllocatorKind::MaxMin,
            Self::LiveKit => AllocatorKind::LiveKit,
            Self::Mediasoup => AllocatorKind::Mediasoup,
            Self::Custom(custom) => AllocatorKind::Custom(custom),
        }
    }
}
