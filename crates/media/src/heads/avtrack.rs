//! Files of AVTrack360 (Fremerey et al., MMSys 2018): a JSON object per viewer, whose list `data`
//! has a recording per video. Degrees; yaw grows to the right, pitch downwards.

use std::time::Duration;

use airlane_base::InputError;

use super::{HeadSample, Recording};
use crate::table::json::Node;
use crate::table::{json, text_of};

const WHAT: &str = "recorded heads";
/// A head does not turn round itself more often than this in any recording.
const MAX_DEG: f64 = 36_000.0;

pub(super) fn read(bytes: &[u8], viewer: &str) -> Result<Vec<Recording>, InputError> {
    let value = json::parse(&text_of(bytes, WHAT)?, WHAT)?;
    let root = Node::root(&value, "docs/reference/tile-tables.md");
    root.member("data")?.items()?.iter().map(|video| recording(video, viewer)).collect()
}

fn recording(video: &Node<'_>, viewer: &str) -> Result<Recording, InputError> {
    let list = video.member("pitch_yaw_roll_data_hmd")?;
    let mut samples: Vec<HeadSample> = Vec::new();
    for node in list.items()? {
        let degrees = |member: &str| {
            let node = node.member(member)?;
            let degrees = node.number()?;
            let is_angle = degrees.abs() <= MAX_DEG;
            is_angle.then_some(degrees).ok_or_else(|| node.wrong("an angle in degrees"))
        };
        let time = node.member("sec")?;
        let at = Duration::try_from_secs_f64(time.number()?)
            .map_err(|_| time.wrong("the seconds since the video began"))?;
        // Some samples repeat the time of the one before.
        if samples.last().is_none_or(|before| before.at < at) {
            samples.push(HeadSample {
                at,
                yaw_deg: degrees("yaw")?,
                pitch_deg: -degrees("pitch")?,
                roll_deg: degrees("roll")?,
            });
        }
    }
    if samples.is_empty() {
        return Err(list.wrong("at least one sample"));
    }
    let title = video.member("filename")?.text()?.to_owned();
    Ok(Recording { title, viewer: viewer.to_owned(), samples })
}
