//! A rung of a title that exists: its files, its frames, and when they are shown.

use std::path::Path;

use airlane_base::InputError;
use airlane_media::dash::{FrameRate, Representation};
use airlane_media::mp4::{Init, Track, fragments};

use crate::error::PackError;
use crate::ffmpeg::Piece;
use crate::manifest::Listed;
use crate::score::FrameRun;
use crate::title_files::{piece, read};

/// Share by which chunks and frames of a title may differ in length and still count as equal.
pub(crate) const EQUAL: f64 = 0.1;

/// Pieces of a timeline with holes between them: each is a term for ffmpeg.
const MAX_RUNS: usize = 1_000;

/// A rung with its files found.
pub(crate) struct Rung {
    pub(crate) listed: Listed,
    pub(crate) pieces: Vec<Piece>,
    /// Frames of each chunk.
    pub(crate) frames: Vec<u64>,
    pub(crate) fps: FrameRate,
    /// The frames of the source that they are compared with.
    pub(crate) runs: Vec<FrameRun>,
}

impl Rung {
    /// Finds the files of a representation whose chunks are listed.
    pub(crate) fn read(
        mut r: Representation,
        folder: &Path,
        manifest: &Path,
        warnings: &mut Vec<String>,
    ) -> Result<Self, PackError> {
        let key = format!("Representation {}", r.id);
        let fault = |e: InputError| PackError::from(e.at_key(&*key).at_file(manifest));
        let encrypted = || {
            let expected = "expected one that is not, as its pictures cannot be measured otherwise";
            InputError::new("the title is encrypted", expected)
        };
        if r.is_protected {
            return Err(fault(encrypted()));
        }
        if let Some(mime) = r.webm() {
            return Err(fault(InputError::new(mime, "expected fragmented MP4")));
        }
        let missing = || {
            let expected = "expected fragmented MP4 with an initialisation segment";
            InputError::new("no initialisation segment", expected)
        };
        let object = r.init.as_ref().ok_or_else(|| fault(missing()))?;
        let init_piece = piece(object, folder).map_err(fault)?;
        let at = |file: &Path, e: InputError| PackError::from(e.at_file(file));
        let init = Init::read(&read(&init_piece)?).map_err(|e| at(&init_piece.file, e))?;
        if init.is_protected {
            return Err(at(&init_piece.file, encrypted()));
        }
        if let Track::Video { width, height } = init.track {
            r.width.get_or_insert(u32::from(width));
            r.height.get_or_insert(u32::from(height));
        }
        let mut pieces = vec![init_piece];
        let (mut frames, mut bytes, mut lengths) = (Vec::new(), Vec::new(), Vec::new());
        // Begin and end of each chunk by its own words, ticks.
        let mut times = Vec::new();
        for chunk in &r.chunks {
            let piece = piece(&chunk.object, folder).map_err(fault)?;
            let data = read(&piece)?;
            let found = fragments(&data, &init).map_err(|e| at(&piece.file, e))?;
            let samples: Vec<u32> =
                found.iter().flat_map(|f| &f.samples).map(|s| s.duration).collect();
            if samples.is_empty() {
                let e = InputError::new("a chunk without frames", "expected fragmented MP4");
                return Err(at(&piece.file, e));
            }
            let begin = found.iter().filter_map(|f| f.earliest()).min().unwrap_or(0);
            times.push((begin, begin + samples.iter().map(|s| i128::from(*s)).sum::<i128>()));
            frames.push(samples.len() as u64);
            bytes.push(data.len() as u64);
            lengths.extend(samples);
            pieces.push(piece);
        }
        let fps = frame_rate(&lengths, init.timescale).map_err(fault)?;
        let first_s = r.start(0).unwrap_or_default().as_secs_f64();
        let half_s = r.duration(0).unwrap_or_default().as_secs_f64() / 2.0;
        let begin_s = if first_s > half_s { first_s } else { 0.0 };
        let tick_s = 1.0 / f64::from(init.timescale);
        let runs = runs(&times, &frames, begin_s, tick_s, fps.as_f64());
        if runs.len() > MAX_RUNS {
            let found = format!("{} holes in the timeline", runs.len() - 1);
            let expected = format!("expected at most {}", MAX_RUNS - 1);
            return Err(fault(InputError::new(found, expected)));
        }
        if let Some((at, early)) = overlap(&times, tick_s * fps.as_f64()) {
            let early_s = early as f64 * tick_s;
            warnings.push(format!(
                "{key}: chunk {} begins {early_s:.3} s before the one before it ends: its frames \
                 are compared as if it followed",
                at + 1,
            ));
        }
        Ok(Self { listed: Listed { representation: r, bytes }, pieces, frames, fps, runs })
    }
}

/// The first chunk, from 0, that begins before the one before it ends, by a frame or more, and by
/// how many ticks.
fn overlap(times: &[(i128, i128)], frames_per_tick: f64) -> Option<(usize, i128)> {
    let pairs = times.windows(2).enumerate().map(|(at, w)| (at + 1, w[0].1 - w[1].0));
    pairs.into_iter().find(|(_, early)| *early as f64 * frames_per_tick > 0.5)
}

/// The frames of the source that those of the chunks are compared with: one after the other, but for
/// the time that lacks before the first chunk (`begin_s`) and between chunks.
fn runs(
    times: &[(i128, i128)],
    frames: &[u64],
    begin_s: f64,
    tick_s: f64,
    fps: f64,
) -> Vec<FrameRun> {
    let mut runs = vec![FrameRun { first: (begin_s * fps).round() as u64, frames: 0 }];
    let mut before = None;
    for ((begin, end), count) in times.iter().zip(frames) {
        let gap_s = before.map_or(0.0, |before: i128| (begin - before) as f64 * tick_s);
        let gap = (gap_s * fps).round().max(0.0) as u64;
        match runs.last_mut() {
            Some(run) if gap == 0 => run.frames += count,
            Some(&mut FrameRun { first, frames }) => {
                runs.push(FrameRun { first: first + frames + gap, frames: *count });
            }
            None => {}
        }
        before = Some(*end);
    }
    runs
}

/// The rate of frames of equal length; the last one does not count.
fn frame_rate(lengths: &[u32], timescale: u32) -> Result<FrameRate, InputError> {
    let mut sorted = lengths.split_last().map_or(lengths, |(_, r)| r).to_vec();
    sorted.sort_unstable();
    let median = sorted.get(sorted.len() / 2).or(lengths.first()).copied().unwrap_or(0);
    let equal = |l: &u32| (f64::from(*l) / f64::from(median) - 1.0).abs() <= EQUAL;
    // A few may be off, as clocks in milliseconds make them.
    let odd = sorted.iter().filter(|l| !equal(l)).count();
    if median == 0 || odd * 50 > sorted.len() {
        return Err(InputError::new(
            "frames of different lengths",
            "expected a constant frame rate, by which frames are found in the source",
        ));
    }
    if equal(&sorted.first().copied().unwrap_or(median))
        && sorted.first().is_none_or(|f| *f == median)
        && sorted.last().is_none_or(|l| *l == median)
    {
        return Ok(FrameRate { frames: timescale, seconds: median });
    }
    // Of a coarse clock the mean says more.
    let sum: u64 = sorted.iter().map(|l| u64::from(*l)).sum();
    let rate = sorted.len() as f64 * f64::from(timescale) / sum as f64;
    Ok(FrameRate { frames: (rate * 1000.0).round() as u32, seconds: 1000 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_meet_those_of_their_time() {
        let run = |first, frames| FrameRun { first, frames };
        let of = |times: &[(i128, i128)], begin_s| {
            runs(times, &vec![25; times.len()], begin_s, 0.001, 25.0)
        };
        assert_eq!(of(&[(0, 1000), (1000, 2000)], 0.0), [run(0, 50)]);
        // A hole of 2 s, and chunks whose clock is off by less than half a frame.
        let holes = [(80, 1080), (1095, 2095), (4095, 5095)];
        assert_eq!(of(&holes, 0.0), [run(0, 50), run(100, 25)]);
        assert_eq!(of(&holes, 3.0), [run(75, 50), run(175, 25)]);
        assert_eq!(of(&[(0, 1000), (500, 1500)], 0.0), [run(0, 50)]);
        assert_eq!(overlap(&[(0, 1000), (500, 1500)], 0.025), Some((1, 500)));
        assert_eq!(overlap(&[(0, 1000), (985, 1500)], 0.025), None);
    }

    #[test]
    fn rates_come_from_the_lengths_of_frames() {
        let rate = |lengths: &[u32], timescale| {
            frame_rate(lengths, timescale).map(|r| r.to_string()).map_err(|e| e.found)
        };
        assert_eq!(rate(&[1001, 1001, 1001, 9], 24_000).as_deref(), Ok("24000/1001"));
        assert_eq!(rate(&[40], 1000).as_deref(), Ok("1000/40"));
        assert_eq!(rate(&[33, 33, 34, 33, 33, 34, 33], 1000).as_deref(), Ok("30000/1000"));
        assert!(rate(&[10, 20, 30, 40], 1000).is_err());
        assert!(rate(&[], 1000).is_err());
    }
}
