//! `airlane pack`: makes a title, measures one, or makes a packed layered video.

use std::path::Path;

use airlane_base::Rate;
use airlane_pack::{
    EncodingReport, Event, LayeredReport, PackError, RungReport, measure, pack as make,
    pack_layered,
};
use airlane_sim::pool::StopFlag;

use super::laboratory::listen;
use super::print;
use crate::args::{PackArgs, Work};
use crate::error::CommandError;
use crate::progress::Share;

/// Makes or measures a title; the exit code.
pub(super) fn pack(args: PackArgs) -> Result<u8, CommandError> {
    let stop = StopFlag::default();
    listen(&stop)?;
    let flag = stop.flag();
    let quiet = args.quiet;
    let share = Share::new(quiet);
    let observer = |event| match event {
        Event::Warning(text) if !quiet => share.say(&format!("warning: {text}")),
        Event::Warning(_) => {}
        Event::Progress { fraction, left, doing } => share.tell(fraction, left, &doing),
    };
    let (line, table) = match args.work() {
        Work::Pack(request) => {
            let made = make(&request, &observer, &flag).map_err(failed)?;
            let word = if made.was_done { "was done" } else { "done" };
            let seconds = made.duration.as_secs_f64();
            let sound = if made.audio { "yes" } else { "no" };
            let detail = format!("duration_s={seconds:.3} sound={sound}");
            (line(word, &made.manifest, &made.rungs, made.chunks, &detail), table(&made.rungs))
        }
        Work::Measure(request) => {
            let found = measure(&request, &observer, &flag).map_err(failed)?;
            (line("done", &found.table, &found.rungs, found.chunks, ""), table(&found.rungs))
        }
        Work::Layered(request) => {
            let made = pack_layered(&request, &observer, &flag).map_err(failed)?;
            (layered_line(&made), layered_table(&made.encodings))
        }
    };
    drop(share);
    if !quiet {
        print(&format!("{table}\n"))?;
    }
    print(&format!("{line}\n"))?;
    Ok(0)
}

/// The final line.
fn line(word: &str, file: &Path, rungs: &[RungReport], chunks: usize, detail: &str) -> String {
    let line = format!("{word}: {} rungs={} chunks={chunks} {detail}", file.display(), rungs.len());
    line.trim_end().to_owned()
}

/// The final line of a packed layered video.
fn layered_line(made: &LayeredReport) -> String {
    let LayeredReport { file, frames, size: (width, height), encodings, .. } = made;
    let (encodings, seconds) = (encodings.len(), made.duration.as_secs_f64());
    format!(
        "done: {} encodings={encodings} frames={frames} duration_s={seconds:.3} size={width}x{height}",
        file.display()
    )
}

/// Its encodings, a line each: rates up to each layer, and SSIM.
fn layered_table(encodings: &[EncodingReport]) -> String {
    let mut text = format!("{:>14}", "asked, kbit/s");
    text += &format!("{:>26}{:>24}\n", "up to layer 0, 1, 2", "SSIM in dB");
    for encoding in encodings {
        text += &format!("{:>14.0}", encoding.target.as_f64() / 1e3);
        let [r0, r1, r2] = encoding.rates.map(|rate| rate.as_f64() / 1e3);
        text += &format!("{:>26}", format!("{r0:.0}, {r1:.0}, {r2:.0}"));
        let [s0, s1, s2] = encoding.ssim_db;
        text += &format!("{:>24}\n", format!("{s0:.2}, {s1:.2}, {s2:.2}"));
    }
    text
}

/// The rungs, a line each.
fn table(rungs: &[RungReport]) -> String {
    let mut text = format!("{:<14}{:>11}{:>12}{:>12}", "rung", "size", "asked", "made");
    for (metric, _) in rungs.first().map_or(&[][..], |r| &r.quality) {
        text += &format!("{:>12}", metric.name());
    }
    text.push('\n');
    for rung in rungs {
        let size = format!("{}x{}", rung.width, rung.height);
        let kbps = |rate: Rate| format!("{:.0} kbit/s", rate.as_f64() / 1e3);
        text += &format!(
            "{:<14}{size:>11}{:>12}{:>12}",
            rung.name,
            kbps(rung.nominal),
            kbps(rung.mean)
        );
        for (metric, value) in &rung.quality {
            let digits = if metric.name() == "ssim" { 4 } else { 2 };
            text += &format!("{value:>12.digits$}");
        }
        text.push('\n');
    }
    text
}

/// The reason as the command line tells it.
fn failed(error: PackError) -> CommandError {
    match error {
        PackError::Input(e) => e.into(),
        PackError::Stopped => CommandError::Stopped,
        other => CommandError::machine(&other),
    }
}
