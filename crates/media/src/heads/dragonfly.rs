//! Traces of Dragonfly (Purdue-ISL/Dragonfly): a tar archive per title with a text file per viewer,
//! which has a line per video frame, at 25 frames per second: longitude from 0 at the left edge to
//! 360, and latitude from 0 at the bottom to 180, both in degrees, with a comma between. Roll was not
//! recorded.

use std::io::Read;
use std::time::Duration;

use airlane_base::InputError;

use super::{HeadSample, Recording};
use crate::table::MAX_TABLE_BYTES;

/// Between two lines: 25 frames per second.
const FRAME: Duration = Duration::from_millis(40);
/// Files of an archive at most.
const MAX_FILES: usize = 10_000;

pub(super) fn read(bytes: &[u8]) -> Result<Vec<Recording>, InputError> {
    let broken = |e: std::io::Error| {
        let expected = "expected recorded heads: JSON of AVTrack360 or a tar archive of Dragonfly";
        InputError::new(format!("not a tar archive: {e}"), expected)
    };
    let mut archive = tar::Archive::new(bytes);
    let mut recordings = Vec::new();
    for entry in archive.entries().map_err(broken)?.take(MAX_FILES) {
        let mut entry = entry.map_err(broken)?;
        if !entry.header().entry_type().is_file() {
            continue;
        }
        let path = entry.path().map_err(broken)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut text = String::new();
        // What an archive claims to hold may be more than it has bytes.
        let most = (bytes.len() as u64).min(MAX_TABLE_BYTES);
        entry.by_ref().take(most).read_to_string(&mut text).map_err(broken)?;
        recordings.push(recording(&name, &text).map_err(|e| e.at_key(name))?);
    }
    if recordings.is_empty() {
        return Err(InputError::new("an archive without files", "expected a file per viewer"));
    }
    Ok(recordings)
}

/// The recording in the text of a file called as `vid1_uid3_vp_corr_per_frame.txt`.
fn recording(name: &str, text: &str) -> Result<Recording, InputError> {
    let mut parts = name.split('_');
    let (title, viewer) = parts
        .next()
        .zip(parts.next())
        .filter(|(title, viewer)| title.starts_with("vid") && viewer.starts_with("uid"))
        .ok_or_else(|| {
            InputError::new("a file of another name", "expected vidN_uidN_... in the archive")
        })?;
    let lines = text.lines().filter(|line| !line.trim().is_empty()).enumerate();
    let samples: Vec<HeadSample> = lines
        .map(|(number, line)| {
            let angles = line.split_once(',').and_then(|(longitude, latitude)| {
                let longitude: f64 = longitude.trim().parse().ok()?;
                let latitude: f64 = latitude.trim().parse().ok()?;
                let inside =
                    (0.0..=360.0).contains(&longitude) && (0.0..=180.0).contains(&latitude);
                inside.then_some((longitude, latitude))
            });
            let (longitude, latitude) = angles.ok_or_else(|| {
                let expected = "expected longitude (0 to 360) and latitude (0 to 180): 181.5,92";
                let found: String = line.chars().take(40).collect();
                InputError::new(format!("{found:?}"), expected).at_line(number + 1)
            })?;
            Ok(HeadSample {
                at: FRAME * number as u32,
                yaw_deg: longitude - 180.0,
                pitch_deg: latitude - 90.0,
                roll_deg: 0.0,
            })
        })
        .collect::<Result<_, InputError>>()?;
    if samples.is_empty() {
        return Err(InputError::new("an empty file", "expected a line per video frame"));
    }
    Ok(Recording { title: title.to_owned(), viewer: viewer.to_owned(), samples })
}
