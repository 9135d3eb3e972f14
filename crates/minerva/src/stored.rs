//! A normalisation in a file, with what it was made of: computed once for a provider's titles,
//! loaded wherever they are served. `docs/design/minerva.md` describes the file.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::Path;

use airlane_base::InputError;
use airlane_media::Metric;
use airlane_quality::Smoothness;
use serde::{Deserialize, Serialize};

use crate::normalise::Normalisation;

/// Value of the member `format`.
pub const FORMAT: &str = "airlane-normalisation";
/// The version of the format.
pub const VERSION: u32 = 1;

/// A file of more bytes than this is refused: one of 400 points has some 30 kB.
const MAX_BYTES: u64 = 4 << 20;

/// f, and what it was made of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredNormalisation {
    /// [`FORMAT`].
    pub format: String,
    /// [`VERSION`].
    pub version: u32,
    /// The version of Airlane that made it.
    pub airlane: String,
    /// The titles that it averages over.
    pub corpus: Titles,
    /// The measure of quality: the unit of utility.
    pub metric: Metric,
    /// The algorithm of the players, by its name in scenarios. [`Form::Equation2`] does not
    /// depend on it.
    ///
    /// [`Form::Equation2`]: crate::Form::Equation2
    pub abr: String,
    /// The players' settings.
    pub player: PlayerSettings,
    /// Popularity of each title; `None`: the same for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub popularity: Option<BTreeMap<String, f64>>,
    /// f itself.
    pub normalisation: Normalisation,
}

/// The titles that a normalisation averages over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Titles {
    /// Name of the corpus: its folder, or `embedded`.
    pub name: String,
    /// The hash of the whole corpus, 16 hexadecimal digits.
    pub content_hash: String,
    /// Titles with fewer chunks were left out.
    pub min_chunks: usize,
    /// Number of titles that the normalisation averages over.
    pub titles: usize,
}

/// The settings of the players whose QoE a normalisation averages.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlayerSettings {
    /// Chunks that MPC looks ahead.
    pub horizon: usize,
    /// Most that the player holds, seconds.
    pub buffer_cap_s: f64,
    /// Idle time between a response and the next request, seconds.
    pub overhead_s: f64,
    /// Cost of a second of rebuffering, as it was charged: in points of the metric.
    pub beta: f64,
    /// Cost of a point of change.
    pub gamma: f64,
    /// Qualities of which the penalty for a change of quality is taken.
    pub smoothness: Smoothness,
}

/// As much of a file as tells whether it is one of ours.
#[derive(Deserialize)]
struct Head {
    format: Option<String>,
    version: Option<u64>,
}

impl StoredNormalisation {
    /// Reads one from a file.
    ///
    /// # Errors
    /// With the file, and the line where one is at fault: if it cannot be read, is no such file,
    /// or holds no sound f.
    pub fn load(file: impl AsRef<Path>) -> Result<Self, InputError> {
        let file = file.as_ref();
        let io = |e| InputError::io(file, "read the normalisation", &e);
        let mut bytes = Vec::new();
        fs::File::open(file)
            .and_then(|f| f.take(MAX_BYTES + 1).read_to_end(&mut bytes))
            .map_err(io)?;
        Self::from_json(&bytes).map_err(|e| e.at_file(file))
    }

    /// Reads one from the bytes of a file.
    ///
    /// # Errors
    /// With the line where one is at fault; the caller adds the file.
    pub fn from_json(bytes: &[u8]) -> Result<Self, InputError> {
        const EXPECTED: &str = "expected a file that `airlane corpus normalise` wrote";
        if bytes.len() as u64 > MAX_BYTES {
            let found = format!("more than {} MiB", MAX_BYTES >> 20);
            return Err(InputError::new(found, EXPECTED));
        }
        let wrong = |e: serde_json::Error| {
            let message = e.to_string();
            // The line gets a place of its own.
            let what = message.rsplit_once(" at line ").map_or(message.as_str(), |(what, _)| what);
            let what =
                if e.is_data() { what.to_owned() } else { format!("not valid JSON: {what}") };
            let error = InputError::new(what, EXPECTED);
            if e.line() > 0 { error.at_line(e.line()) } else { error }
        };
        let head: Head = serde_json::from_slice(bytes).map_err(wrong)?;
        match head.format {
            Some(format) if format == FORMAT => {}
            Some(format) => {
                let found = format!("found {:?}", format.chars().take(40).collect::<String>());
                let expected = format!("expected \"{FORMAT}\": {EXPECTED}");
                return Err(InputError::new(found, expected).at_key("format"));
            }
            None => return Err(InputError::new("no normalisation", EXPECTED)),
        }
        if head.version != Some(VERSION.into()) {
            let found = head.version.map_or("missing".to_owned(), |v| format!("found {v}"));
            let expected = format!("this airlane reads version {VERSION}");
            return Err(InputError::new(found, expected).at_key("version"));
        }
        serde_json::from_slice(bytes).map_err(wrong)
    }

    /// As the bytes of a file: what [`StoredNormalisation::from_json`] reads is the same, bit for
    /// bit.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("text and finite numbers are JSON") + "\n"
    }
}
