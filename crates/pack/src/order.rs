//! The part of a request that decides what comes out, and the names of what does.

use std::time::Duration;

use airlane_base::InputError;
use serde::{Deserialize, Serialize};

use crate::codec::{Codec, Speed};
use crate::ladder::Ladder;
use crate::manifest;
use crate::request::PackRequest;

/// The names that a title has besides its media playlists, in the order of publishing.
pub(crate) const NAMES: [&str; 6] =
    ["video", "audio", "poster.jpg", "quality.json", "master.m3u8", "manifest.mpd"];

/// The part of a request that decides what comes out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Order {
    pub(crate) name: String,
    pub(crate) title: String,
    codec: Codec,
    speed: Speed,
    chunk_ms: u64,
    ladder: Ladder,
    audio_bps: u64,
    vmaf_every: u32,
    /// Names of the title's files once they are known.
    pub(crate) files: Vec<String>,
}

impl Order {
    /// True if the title has sound.
    pub(crate) fn has_audio(&self) -> bool {
        self.files.iter().any(|f| f == "audio")
    }

    /// That of a request.
    ///
    /// # Errors
    /// If a value is outside of its bounds.
    pub(crate) fn of(request: &PackRequest) -> Result<Self, InputError> {
        let stem = request.video.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let name = request.name.clone().unwrap_or_else(|| manifest::plain_name(&stem));
        let wrong = |key: &str, found: String, expected: &str| {
            Err(InputError::new(found, format!("expected {expected}")).at_key(key))
        };
        if name != manifest::plain_name(&name) {
            return wrong("name", format!("{name:?}"), airlane_media::name::EXPECTED);
        }
        let chunk = request.chunk;
        if !(Duration::from_millis(500)..=Duration::from_secs(20)).contains(&chunk) {
            return wrong("chunk", format!("{} s", chunk.as_secs_f64()), "0.5 to 20 s");
        }
        if !(16_000..=512_000).contains(&request.audio_rate.bps()) {
            return wrong("audio_rate", request.audio_rate.to_string(), "16 to 512 kbit/s");
        }
        vmaf_every(request.vmaf_every)?;
        request.ladder.check()?;
        Ok(Self {
            name,
            title: request.title.clone().unwrap_or(stem),
            codec: request.codec,
            speed: request.speed,
            chunk_ms: u64::try_from(chunk.as_millis()).unwrap_or(u64::MAX),
            ladder: request.ladder.clone(),
            audio_bps: request.audio_rate.bps(),
            vmaf_every: request.vmaf_every,
            files: Vec::new(),
        })
    }
}

/// Checks the step of VMAF's frames.
pub(crate) fn vmaf_every(every: u32) -> Result<(), InputError> {
    match (1..=100).contains(&every) {
        true => Ok(()),
        false => Err(InputError::new(every.to_string(), "expected 1 to 100").at_key("vmaf_every")),
    }
}
