//! `airlane pack`: makes a title, or measures one.

use std::path::Path;

use airlane_base::Rate;
use airlane_lab::LabError;
use airlane_lab::pool::Stop;
use airlane_pack::{Event, PackError, RungReport, measure, pack as make};

use super::{listen, print, refused};
use crate::args::{PackArgs, Work};
use crate::terminal::Share;

/// Makes or measures a title; the exit code.
pub(super) fn pack(args: PackArgs) -> Result<u8, LabError> {
    let stop = Stop::default();
    listen(&stop)?;
    let flag = stop.flag();
    let quiet = args.quiet;
    let share = Share::new(quiet);
    let observer = |event| match event {
        Event::Warning(text) if !quiet => share.say(&format!("warning: {text}")),
        Event::Warning(_) => {}
        Event::Progress { fraction, left, doing } => share.tell(fraction, left, &doing),
    };
    let (line, rungs) = match args.work() {
        Work::Pack(request) => {
            let made = make(&request, &observer, &flag).map_err(failed)?;
            let word = if made.was_done { "was done" } else { "done" };
            let seconds = made.duration.as_secs_f64();
            let sound = if made.audio { "yes" } else { "no" };
            let detail = format!("duration_s={seconds:.3} sound={sound}");
            (line(word, &made.manifest, &made.rungs, made.chunks, &detail), made.rungs)
        }
        Work::Measure(request) => {
            let found = measure(&request, &observer, &flag).map_err(failed)?;
            (line("done", &found.table, &found.rungs, found.chunks, ""), found.rungs)
        }
    };
    drop(share);
    if !quiet {
        print(&format!("{}\n", table(&rungs)))?;
    }
    print(&format!("{line}\n"))?;
    Ok(0)
}

/// The final line.
fn line(word: &str, file: &Path, rungs: &[RungReport], chunks: usize, detail: &str) -> String {
    let line = format!("{word}: {} rungs={} chunks={chunks} {detail}", file.display(), rungs.len());
    line.trim_end().to_owned()
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
fn failed(error: PackError) -> LabError {
    match error {
        PackError::Input(e) => e.into(),
        PackError::Stopped => LabError::Stopped,
        other => refused(&other),
    }
}
