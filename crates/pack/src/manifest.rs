//! What is written of a title: its presentation and its quality table.

use std::fs;
use std::path::Path;
use std::time::Duration;

use airlane_base::{InputError, Rate};
use airlane_media::dash::{Chunk, FrameRate, Kind, Object, Representation};
use airlane_media::mp4::{Init, Track, fragments};
use airlane_media::{Rung as TableRung, Video, hls};

use crate::encode::{Encoded, Settings};
use crate::error::PackError;
use crate::ladder::Rung;
use crate::rates;
use crate::request::RungReport;
use crate::score::Scores;

/// A representation and the bytes of its chunks.
#[derive(Clone, Debug)]
pub(crate) struct Listed {
    pub(crate) representation: Representation,
    pub(crate) bytes: Vec<u64>,
}

impl Listed {
    /// Bytes and length of each chunk.
    fn sizes(&self) -> Vec<(u64, Duration)> {
        let lengths = (0..self.bytes.len()).filter_map(|i| self.representation.duration(i));
        self.bytes.iter().copied().zip(lengths).collect()
    }

    /// Its rates as HLS has them.
    pub(crate) fn rates(&self) -> hls::Rates {
        let sizes = self.sizes();
        hls::Rates { peak: rates::peak(&sizes), average: rates::mean(&sizes) }
    }

    /// It with the bandwidth that DASH asks for.
    pub(crate) fn represented(self, min_buffer: Duration) -> Representation {
        let bandwidth = rates::bandwidth(&self.sizes(), min_buffer);
        Representation { bandwidth, ..self.representation }
    }
}

fn read(path: &Path) -> Result<Vec<u8>, PackError> {
    fs::read(path).map_err(PackError::io("read", path))
}

fn read_init(dir: &Path) -> Result<Init, PackError> {
    let path = dir.join("init.mp4");
    Ok(Init::read(&read(&path)?).map_err(|e| e.at_file(&path))?)
}

/// An empty representation whose files are in the folder `base` of the title.
fn begun(id: &str, kind: Kind, base: &str, init: &Init) -> Representation {
    Representation {
        set: usize::from(kind == Kind::Audio),
        init: Some(Object { url: format!("{base}/init.mp4"), range: None }),
        ..Representation::new(id, kind, init.codec.clone(), u64::from(init.timescale))
    }
}

/// A rung in the folder `dir`.
pub(crate) fn video(
    rung: &Rung,
    settings: &Settings,
    encoded: Encoded,
    dir: &Path,
) -> Result<Listed, PackError> {
    let init = read_init(dir)?;
    let base = format!("video/{}", rung.name);
    let mut representation = begun(&rung.name, Kind::Video, &base, &init);
    representation.width = Some(rung.width);
    representation.height = Some(rung.height);
    representation.frame_rate = Some(settings.fps);
    let (_, ticks) = settings.ticks();
    let mut bytes = Vec::new();
    for (i, frames) in chunk_frames(encoded, settings.frames).into_iter().enumerate() {
        let path = dir.join(format!("{}.m4s", i + 1));
        bytes.push(fs::metadata(&path).map_err(PackError::io("read", &path))?.len());
        representation.chunks.push(Chunk {
            object: Object { url: format!("{base}/{}.m4s", i + 1), range: None },
            time: i as u64 * settings.frames * u64::from(ticks),
            duration: frames * u64::from(ticks),
        });
    }
    Ok(Listed { representation, bytes })
}

/// Frames of each chunk of a rung.
pub(crate) fn chunk_frames(encoded: Encoded, full: u64) -> Vec<u64> {
    let chunks = encoded.chunks;
    let last = encoded.frames.saturating_sub(chunks.saturating_sub(1) * full);
    (1..=chunks).map(|n| if n == chunks { last } else { full }).collect()
}

/// The sound in the folder `dir`.
pub(crate) fn audio(id: &str, dir: &Path) -> Result<Listed, PackError> {
    let init = read_init(dir)?;
    let mut representation = begun(id, Kind::Audio, "audio", &init);
    if let Track::Audio { channels, sampling_hz } = init.track {
        representation.channels = Some(u32::from(channels));
        representation.sampling_hz = Some(sampling_hz);
    }
    let mut bytes = Vec::new();
    for number in 1.. {
        let path = dir.join(format!("{number}.m4s"));
        if !path.exists() {
            break;
        }
        let chunk = read(&path)?;
        let found = fragments(&chunk, &init).map_err(|e| e.at_file(&path))?;
        let begin = found.first().map_or(0, |f| f.time);
        let end = begin + found.iter().map(|f| f.duration()).sum::<u64>();
        // What primes the decoder is not heard: the first chunk is shorter than its samples.
        let (time, end) = (begin.saturating_sub(init.skipped), end.saturating_sub(init.skipped));
        bytes.push(chunk.len() as u64);
        representation.chunks.push(Chunk {
            object: Object { url: format!("audio/{number}.m4s"), range: None },
            time,
            duration: end.saturating_sub(time),
        });
    }
    if representation.chunks.iter().any(|c| c.duration == 0) || representation.chunks.is_empty() {
        let error = InputError::new("the encoder left chunks without sound", "expected sound");
        return Err(error.at_file(dir).into());
    }
    Ok(Listed { representation, bytes })
}

/// A rung of a table, from what was encoded and measured.
pub(crate) fn table_rung(listed: &Listed, nominal: Rate, quality: Scores) -> TableRung {
    let r = &listed.representation;
    TableRung {
        name: r.id.clone(),
        width: r.width.unwrap_or(0),
        height: r.height.unwrap_or(0),
        nominal,
        size_bytes: listed.bytes.clone(),
        quality,
    }
}

/// A quality table.
pub(crate) fn table(
    name: String,
    title: String,
    source: String,
    fps: FrameRate,
    chunk: Duration,
    rungs: Vec<TableRung>,
) -> Result<Video, InputError> {
    let video = Video {
        name,
        title,
        character: String::new(),
        source,
        fps: Some(fps.as_f64()),
        chunk,
        distinct_chunks: rungs.first().map_or(0, |r| r.size_bytes.len()),
        rungs,
    };
    video.check()?;
    Ok(video)
}

/// A name as tables allow it.
pub(crate) fn plain_name(text: &str) -> String {
    airlane_media::name::named(text)
}

/// Reports on the rungs of a table. `total` is the time of all chunks.
pub(crate) fn reports(video: &Video, total: Duration) -> Vec<RungReport> {
    let report = |(i, rung): (usize, &TableRung)| RungReport {
        name: rung.name.clone(),
        width: rung.width,
        height: rung.height,
        nominal: rung.nominal,
        mean: Rate::of(rung.size_bytes.iter().sum(), total),
        quality: video
            .metrics()
            .filter_map(|metric| Some((metric, video.mean_quality(metric, i)?)))
            .collect(),
    };
    video.rungs.iter().enumerate().map(report).collect()
}
