//! How good the chunks of a rung look beside their source.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::thread;

use airlane_base::InputError;
use airlane_media::Metric;
use airlane_media::dash::FrameRate;

use crate::error::PackError;
use crate::ffmpeg::{Ffmpeg, Heard, Job, Piece, input, push};
use crate::filters;
use crate::probe::Source;

/// Value that a perfect copy counts as, dB.
const EQUAL_DB: f64 = 100.0;
/// The model of VMAF for television at a standard distance, by ffmpeg's rules for quoting.
const TELEVISION: &str = "version=vmaf_v0.6.1\\\\:name=vmaf";
/// The same, transformed for phones.
const PHONE: &str = "version=vmaf_v0.6.1\\\\:name=vmaf_phone\\\\:enable_transform=true";

/// Advice on how to get VMAF.
pub(crate) const NO_VMAF: &str = "this ffmpeg has no libvmaf: PSNR and SSIM are measured, VMAF is \
     not; pip install imageio-ffmpeg brings an ffmpeg that has it, to be named with --ffmpeg PATH";

/// Scores per chunk by metric.
pub(crate) type Scores = BTreeMap<Metric, Vec<f64>>;

/// VMAF that an ffmpeg measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Vmaf {
    phone: bool,
    /// On every so many-th frame.
    every: u32,
}

impl Vmaf {
    /// VMAF that an ffmpeg can measure; `None` without libvmaf.
    pub(crate) fn of(
        ffmpeg: &Ffmpeg,
        every: u32,
        stop: &AtomicBool,
    ) -> Result<Option<Self>, PackError> {
        if !ffmpeg.has_vmaf(TELEVISION, stop)? {
            return Ok(None);
        }
        let phone = ffmpeg.has_vmaf(&format!("{TELEVISION}|{PHONE}"), stop)?;
        Ok(Some(Self { phone, every }))
    }

    fn filter(self) -> String {
        let models = if self.phone { format!("{TELEVISION}|{PHONE}") } else { TELEVISION.into() };
        let threads = thread::available_parallelism().map_or(1, usize::from);
        format!(
            "libvmaf=model={models}:n_threads={threads}:n_subsample={}:log_fmt=csv:\
             log_path=vmaf.csv:shortest=1",
            self.every
        )
    }
}

/// Metrics by which qualities are measured, for people.
pub(crate) fn metrics(vmaf: Option<Vmaf>) -> &'static str {
    match vmaf {
        Some(_) => "ffmpeg psnr (Y, mean of dB) and ssim (Y), libvmaf vmaf_v0.6.1",
        None => "ffmpeg psnr (Y, mean of dB) and ssim (Y)",
    }
}

/// A rung to be measured.
pub(crate) struct Subject<'a> {
    pub(crate) name: &'a str,
    /// Initialisation segment and chunks.
    pub(crate) pieces: Vec<Piece>,
    pub(crate) fps: FrameRate,
    /// Frames of each chunk.
    pub(crate) frames: Vec<u64>,
    /// The frames of the source that they are compared with; none: those of the same numbers.
    pub(crate) runs: Vec<FrameRun>,
}

/// Frames of a source that follow each other, at a rung's frame rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameRun {
    /// The number of the first one, from 0.
    pub(crate) first: u64,
    pub(crate) frames: u64,
}

/// The filter that leaves the frames of runs, with a comma before it; nothing where these are all
/// from the first on.
fn selected(runs: &[FrameRun]) -> String {
    if let [] | [FrameRun { first: 0, .. }] = runs {
        return String::new();
    }
    let parts = runs.iter().enumerate().map(|(at, run)| match at + 1 == runs.len() {
        true => format!("gte(n,{})", run.first),
        false => format!("between(n,{},{})", run.first, (run.first + run.frames).max(1) - 1),
    });
    format!(",select='{}'", parts.collect::<Vec<_>>().join("+"))
}

/// Measures a rung with one run of ffmpeg; logs go into `dir` for as long. Frame n of the rung is
/// compared with frame n of the source at the rung's frame rate, at the source's size.
pub(crate) fn score(
    ffmpeg: &Ffmpeg,
    source: &Source,
    subject: Subject<'_>,
    vmaf: Option<Vmaf>,
    dir: &Path,
    stop: &AtomicBool,
    tell: &dyn Fn(u64),
) -> Result<Scores, PackError> {
    let logs = ["psnr.log", "ssim.log", "vmaf.csv"].map(|name| dir.join(name));
    let size = filters::sized(source, source.width, source.height);
    let counted = filters::counted(subject.fps);
    let steady = filters::steady(source, subject.fps) + &selected(&subject.runs);
    let (copies, last) = match vmaf {
        Some(vmaf) => ("split=3[r1][r2][r3]", format!(";[d2][r3]{}[out]", vmaf.filter())),
        None => ("split=2[r1][r2]", ";[d2]null[out]".to_owned()),
    };
    let pictures = source.streams.video_of(1);
    let graph = format!(
        "[0:V:0]{size},{counted}[d];[{pictures}]{steady},{size},{counted},{copies};\
         [d][r1]psnr=stats_file=psnr.log:shortest=1[d1];\
         [d1][r2]ssim=stats_file=ssim.log:shortest=1[d2]{last}"
    );
    let mut arguments: Vec<OsString> = Vec::new();
    push(&mut arguments, ["-hide_banner", "-v", "error", "-nostats", "-progress", "pipe:2"]);
    push(&mut arguments, ["-f", "mp4", "-ignore_editlist", "1", "-i", "pipe:0"]);
    push(&mut arguments, filters::ONE_STREAM);
    push(&mut arguments, ["-i".into(), input(&source.file)]);
    push(&mut arguments, ["-filter_complex", &graph, "-map", "[out]"]);
    push(&mut arguments, ["-fps_mode", "passthrough", "-f", "null", "-"]);
    if let Some(audio) = source.streams.audio_of(1) {
        push(&mut arguments, filters::also(&audio));
    }
    let doing = format!("measuring {}", subject.name);
    let job = Job { doing, dir, arguments, feed: subject.pieces };
    ffmpeg.run(&job, stop, &mut |heard| {
        if let Heard::Frames(frames) = heard {
            tell(frames);
        }
        Ok(())
    })?;
    let read = |at: usize| fs::read_to_string(&logs[at]).map_err(PackError::io("read", &logs[at]));
    let mut values = BTreeMap::from([
        (Metric::PsnrDb, by_line(&read(0)?, "psnr_y:")),
        (Metric::Ssim, by_line(&read(1)?, "Y:")),
    ]);
    if let Some(vmaf) = vmaf {
        let table = read(2)?;
        values.insert(Metric::Vmaf, by_column(&table, "vmaf"));
        if vmaf.phone {
            values.insert(Metric::VmafPhone, by_column(&table, "vmaf_phone"));
        }
    }
    for log in logs {
        crate::work::remove(&log)?;
    }
    let means = values.into_iter().map(|(metric, values)| {
        let means = chunk_means(&values, &subject.frames).map_err(|e| PackError::Unexpected {
            what: format!("{metric} of {}", subject.name),
            found: e.found,
            expected: e.expected,
        })?;
        let (lo, hi) = metric.range();
        let digits = if metric == Metric::Ssim { 1e6 } else { 1e3 };
        let tidy = |v: f64| (v.clamp(lo, hi) * digits).round() / digits;
        Ok((metric, means.into_iter().map(tidy).collect()))
    });
    means.collect()
}

/// Frames and their values out of lines such as `n:1 mse_y:75.1 psnr_y:29.4`; frames count from 0.
fn by_line(log: &str, key: &str) -> Vec<(u64, f64)> {
    let line = |line: &str| {
        let value = |key: &str| line.split_whitespace().find_map(|w| w.strip_prefix(key));
        let frame: u64 = value("n:")?.parse().ok()?;
        // Equal pictures are `inf`.
        let value: f64 = value(key)?.parse().ok().filter(|v: &f64| !v.is_nan())?;
        Some((frame.checked_sub(1)?, value.min(EQUAL_DB)))
    };
    log.lines().filter_map(line).collect()
}

/// Frames and their values out of a table with a head; rows without the value are passed over.
fn by_column(table: &str, name: &str) -> Vec<(u64, f64)> {
    let mut lines = table.lines();
    let Some(head) = lines.next() else { return Vec::new() };
    let Some(at) = head.split(',').position(|h| h.trim() == name) else { return Vec::new() };
    let row = |line: &str| {
        let mut cells = line.split(',');
        let frame = cells.next()?.trim().parse().ok()?;
        let value: f64 = cells.nth(at.checked_sub(1)?)?.trim().parse().ok()?;
        value.is_finite().then_some((frame, value))
    };
    lines.filter_map(row).collect()
}

/// The mean over the frames of each chunk. A chunk in which no frame was looked at, as subsampling
/// may leave a short last one, gets the value of the frame looked at before it.
fn chunk_means(values: &[(u64, f64)], frames: &[u64]) -> Result<Vec<f64>, InputError> {
    let mut rest = values;
    let mut last = None;
    let mut end = 0;
    let mut means = Vec::with_capacity(frames.len());
    // Frames come in their order; up to where the source goes.
    let measured = values.last().map_or(0, |(frame, _)| frame + 1);
    let step = values.windows(2).map(|w| w[1].0.saturating_sub(w[0].0)).max().unwrap_or(1);
    for (chunk, count) in frames.iter().enumerate() {
        let start = end;
        end += count;
        let of = rest.iter().take_while(|(frame, _)| *frame < end).count();
        let (now, later) = rest.split_at(of);
        rest = later;
        let mean = match now {
            [] => last.filter(|_| start < measured.saturating_add(step)),
            _ => Some(now.iter().map(|(_, v)| v).sum::<f64>() / now.len() as f64),
        };
        last = now.last().map(|(_, v)| *v).or(last);
        means.push(mean.ok_or_else(|| {
            InputError::new(
                format!("the source has {measured} frames and none for chunk {}", chunk + 1),
                "expected the source that the title was made from",
            )
        })?);
    }
    Ok(means)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn logs_are_read() {
        let psnr = "n:1 mse_avg:1.0 psnr_avg:48.1 psnr_y:47.5 \nn:2 mse_y:0.00 psnr_y:inf psnr_u:1";
        assert_eq!(by_line(psnr, "psnr_y:"), [(0, 47.5), (1, 100.0)]);
        assert_eq!(by_line("n:1 Y:0.9 U:0.8 All:0.85 (8.2)", "Y:"), [(0, 0.9)]);
        let vmaf =
            "Frame,integer_motion2,vmaf,vmaf_phone,\n0,0.0,68.13,86.6,\n1,2.0,,,\n5,2.0,70,88,";
        assert_eq!(by_column(vmaf, "vmaf"), [(0, 68.13), (5, 70.0)]);
        assert_eq!(by_column(vmaf, "vmaf_phone"), [(0, 86.6), (5, 88.0)]);
        assert_eq!(by_column(vmaf, "vmaf_4k"), []);
    }

    #[test]
    fn frames_of_runs_are_selected() {
        let run = |first, frames| FrameRun { first, frames };
        assert_eq!(selected(&[]) + &selected(&[run(0, 50)]), "");
        assert_eq!(selected(&[run(50, 25)]), ",select='gte(n,50)'");
        let holes = [run(0, 50), run(100, 25), run(200, 9)];
        assert_eq!(selected(&holes), ",select='between(n,0,49)+between(n,100,124)+gte(n,200)'");
    }

    #[test]
    fn means_are_over_the_frames_of_a_chunk() {
        let all: Vec<_> = (0..5).map(|i| (i, i as f64)).collect();
        assert_eq!(chunk_means(&all, &[2, 3]).unwrap(), [0.5, 3.0]);
        // The source is a frame longer, or a frame shorter.
        assert_eq!(chunk_means(&all, &[2, 2]).unwrap(), [0.5, 2.5]);
        assert_eq!(chunk_means(&all, &[2, 4]).unwrap(), [0.5, 3.0]);
        // Every fourth frame, and a last chunk with none.
        assert_eq!(chunk_means(&[(0, 1.0), (4, 3.0)], &[4, 2, 1]).unwrap(), [1.0, 3.0, 3.0]);
        assert!(chunk_means(&all, &[2, 3, 5, 5]).is_err());
        assert!(chunk_means(&[], &[1]).is_err());
    }

    proptest! {
        #[test]
        fn any_log_is_survived(text in "(n:|[0-9]{1,20}| |\n|Y:|inf|nan|,|vmaf|Frame|-){0,40}") {
            let values = by_line(&text, "Y:");
            let _ = chunk_means(&values, &[3, 3]);
            let _ = chunk_means(&by_column(&text, "vmaf"), &[3, 3]);
        }
    }
}
