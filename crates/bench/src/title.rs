//! A title that is made up, for servers to serve and players to play.

use std::path::Path;

use airlane_media::dash::{self, Chunk, Kind, Object, Presentation, Representation};
use airlane_media::{Video, synthetic, table};

/// Rungs of a title.
const RUNGS: usize = 5;
/// The rate of half quality of an ordinary film: the highest rung of its title has 2 Mbit/s.
pub(crate) const HALF_QUALITY_BPS: f64 = 4e5;

/// Length of its chunks, seconds.
pub(crate) const CHUNK_S: u64 = 4;

/// Writes a title of so many seconds in chunks of [`CHUNK_S`], with its quality table. `half_quality_bps` is
/// the rate of half quality of its curve, which its rungs follow.
pub(crate) fn write(folder: &Path, seconds: u64, half_quality_bps: f64) -> std::io::Result<()> {
    let chunks = usize::try_from(seconds / CHUNK_S + 1).unwrap_or(1);
    let film = synthetic::flat("film", chunks, half_quality_bps);
    let mut video = Video::clone(&film);
    video.rungs.truncate(RUNGS);
    let millis = u64::try_from(video.chunk.as_millis()).unwrap_or(u64::MAX);
    let mut presentation = Presentation::default();
    for (rung, of) in video.rungs.iter().enumerate() {
        std::fs::create_dir_all(folder.join(format!("v{rung}")))?;
        let mut chunks = Vec::new();
        for (chunk, &bytes) in of.size_bytes.iter().enumerate() {
            let url = format!("v{rung}/{chunk}.m4s");
            std::fs::write(folder.join(&url), vec![0x5a; usize::try_from(bytes).unwrap_or(0)])?;
            let object = Object { url, range: None };
            chunks.push(Chunk { object, time: chunk as u64 * millis, duration: millis });
        }
        presentation.video.push(Representation {
            bandwidth: of.nominal,
            width: Some(of.width),
            height: Some(of.height),
            chunks,
            ..Representation::new(of.name.clone(), Kind::Video, "avc1.64001f", 1000)
        });
    }
    std::fs::write(folder.join("manifest.mpd"), dash::write(&presentation))?;
    std::fs::write(folder.join("quality.json"), table::to_json(&video))
}
