//! The command `diff`: what changed between two results.

mod compare;
mod page;
mod read;
mod terminal;

use std::fs;

use airlane_base::InputError;

use crate::request::{DiffRequest, Outcome};
use airlane_sim::LabError;
use airlane_sim::OutFolder;
use compare::Comparison;
use read::ComparedResult;

/// Compares two results figure by figure, over the runs that they have in common; leaves
/// `report.html` and `report.json.gz` if a folder is given for them, and nothing otherwise.
///
/// The outcome counts differences as failures if `check` asks for it.
///
/// # Errors
/// If one of the results cannot be read, or if the report would take the place of one of them;
/// what the disk refuses.
pub fn diff(request: &DiffRequest) -> Result<Outcome, LabError> {
    let (a, b) = (ComparedResult::read(&request.a)?, ComparedResult::read(&request.b)?);
    let comparison = Comparison::of(&a.summary, &b.summary);
    let shown = comparison.shown(request.all, request.threshold);
    let mut line = terminal::line(&comparison, request.threshold);
    if let Some(out) = &request.out {
        refuse_own(out, [&a, &b])?;
        let report = page::report(&a, &b, &comparison, &shown, request.threshold, &line);
        let folder = OutFolder::prepare(out)?;
        folder.write("report.json.gz", &report.to_json_gz())?;
        folder.write("report.html", airlane_report::render(&report).as_bytes())?;
        line = format!("{line} Report: {}", folder.path("report.html").display());
    }
    Ok(Outcome {
        table: terminal::table(&a, &b, &comparison, &shown, request),
        line,
        out: request.out.clone().unwrap_or_default(),
        failed: usize::from(request.check && !comparison.is_identical()),
        stopped: false,
    })
}

/// The report's folder is emptied of results before it is written.
fn refuse_own(out: &std::path::Path, sides: [&ComparedResult; 2]) -> Result<(), InputError> {
    let Ok(out) = fs::canonicalize(out) else { return Ok(()) };
    for side in sides {
        let folder = side.file.parent().and_then(|folder| fs::canonicalize(folder).ok());
        if folder.as_ref() == Some(&out) {
            let expected = "expected a folder other than those that are compared: see --out";
            return Err(InputError::new("the report would replace this result", expected)
                .at_file(&side.name));
        }
    }
    Ok(())
}
