//! The command `airtime`: who used the air, and how long, in a capture or on a monitor interface.

mod figures;
mod gather;
mod grants;
mod json;
mod moment;
mod page;
mod source;
mod terminal;

use std::path::PathBuf;
use std::time::Duration;

use airlane_base::InputError;
use airlane_capture::{CaptureError, Monitor};

use airlane_judge::request::Outcome;
use airlane_sim::LabError;
use airlane_sim::OutFolder;
use airlane_sim::RunInfo;
use airlane_sim::pool::{Progress, StopFlag};
use gather::{Gathered, from_file, from_interface};

/// Say who used the air.
pub struct AirtimeRequest<'a> {
    /// A capture, `-` for one on the standard input, or a monitor interface.
    pub source: PathBuf,
    /// Folder for results, if they are kept.
    pub out: Option<PathBuf>,
    /// Format of the output.
    pub format: AirtimeFormat,
    /// Show all stations instead of those that used most.
    pub all: bool,
    /// Listen for so long; `None`: until it is stopped. Of a file: so much of it.
    pub duration: Option<Duration>,
    /// The circumstances, as far as they are known at the start.
    pub circumstances: RunInfo,
    /// Time for which the command has been running.
    pub elapsed: &'a (dyn Fn() -> Duration + Sync),
    /// Receives the progress of the work.
    pub progress: &'a dyn Progress,
    /// Gets a line a second while an interface is listened to.
    pub say: &'a dyn Fn(&str),
    /// Flag that ends the work early.
    pub stop: StopFlag,
}

/// Format of the command's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AirtimeFormat {
    /// A table for people.
    Table,
    /// All figures as JSON.
    Json,
    /// The stations as CSV.
    Csv,
}

/// Says who used the air; leaves `summary.json`, `run.json`, `report.html` and `report.json.gz` if a
/// folder is given for them.
///
/// # Errors
/// If the capture cannot be read, is none of 802.11, or the interface cannot be listened to; what the
/// disk refuses.
pub fn airtime(request: &AirtimeRequest<'_>) -> Result<Outcome, LabError> {
    let name = request.source.to_string_lossy().into_owned();
    let at_source = |error: CaptureError| match &error {
        CaptureError::NoInterface { .. }
        | CaptureError::NotMonitor { .. }
        | CaptureError::Down { .. }
        | CaptureError::Permission { .. } => InputError::new(error.to_string(), ""),
        _ if name == source::STDIN => InputError::new(format!("stdin: {error}"), ""),
        _ => InputError::new(error.to_string(), "").at_file(&request.source),
    };
    let is_there = request.source.exists() || name == source::STDIN;
    let is_interface = !is_there && Monitor::exists(&name);
    let is_name = !name.contains(['/', '.']);
    if !is_there && !is_interface && is_name {
        return Err(at_source(CaptureError::NoInterface { name: name.clone() }).into());
    }
    // Bad input leaves nothing: the folder is made when the capture is known to be good, or is open.
    let prepare = || request.out.as_ref().map(OutFolder::prepare).transpose();
    let (gathered, folder) = if is_interface {
        let monitor = Monitor::open(&name).map_err(at_source)?;
        let folder = prepare()?;
        (from_interface(request, monitor), folder)
    } else {
        let gathered = from_file(request).map_err(at_source)?;
        (gathered, prepare()?)
    };
    let label = label(&name);
    let mut line = terminal::line(&label, &gathered);
    if let Some(folder) = &folder {
        leave(folder, request, &label, &gathered, &line)?;
        line = format!("{line} Report: {}", folder.path("report.html").display());
    }
    Ok(Outcome {
        table: match request.format {
            AirtimeFormat::Table => terminal::table(&gathered, request.all),
            AirtimeFormat::Json => json::json(&label, &gathered),
            AirtimeFormat::Csv => json::csv(&gathered),
        },
        line,
        out: request.out.clone().unwrap_or_default(),
        failed: usize::from(gathered.broke.is_some()),
        stopped: gathered.is_stopped,
    })
}

/// The name of a file without its folder.
fn label(name: &str) -> String {
    if name == source::STDIN {
        return "stdin".to_owned();
    }
    name.rsplit('/').next().filter(|last| !last.is_empty()).unwrap_or(name).to_owned()
}

/// Writes what is left of the command.
fn leave(
    folder: &OutFolder,
    request: &AirtimeRequest<'_>,
    label: &str,
    gathered: &Gathered,
    line: &str,
) -> Result<(), LabError> {
    let summary = figures::summary(label, gathered)
        .to_json()
        .map_err(|e| LabError::fault(format!("airtime: {e}")))?;
    folder.write("summary.json", summary.as_bytes())?;
    let report = page::report(label, gathered, line);
    folder.write("report.json.gz", &report.to_json_gz())?;
    folder.write("report.html", airlane_report::render(&report).as_bytes())?;
    let info = RunInfo {
        wall_s: (request.elapsed)().as_secs_f64(),
        runs_planned: 1,
        runs_finished: usize::from(!gathered.is_stopped),
        stopped: gathered.is_stopped,
        ..request.circumstances.clone()
    };
    Ok(folder.write("run.json", info.to_json().as_bytes())?)
}
