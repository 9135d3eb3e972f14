//! Exceptions in schemes: they end the run, and come back to the caller with their cause.

use airlane_base::Time;
use parking_lot::Mutex;
use pyo3::prelude::*;

/// Causes that are kept for callers; of more the oldest are dropped.
const MAX_CAUSES: usize = 16;

/// Words behind the virtual time of an exception, in seconds.
const INTO_THE_RUN: &str = " s into the run";

/// Exceptions of runs that they ended, by the message of the run's error.
static CAUSES: Mutex<Vec<(String, PyErr)>> = Mutex::new(Vec::new());

/// Ends the run after an exception in a method of a scheme.
///
/// # Panics
/// Always: the laboratory makes an error of it that names the run.
pub(super) fn end(py: Python<'_>, place: (&str, &str), now: Option<Time>, error: PyErr) -> ! {
    let message = message(py, place, now, &error);
    {
        let mut causes = CAUSES.lock();
        if causes.len() == MAX_CAUSES {
            causes.remove(0);
        }
        causes.push((message.clone(), error));
    }
    panic!("{message}");
}

/// Message and cause of an error of the laboratory that an exception in a scheme led to.
pub(crate) fn cause_of(what: &str) -> Option<(String, PyErr)> {
    let mut causes = CAUSES.lock();
    let at = causes.iter().position(|(message, _)| what.contains(message.as_str()))?;
    let (message, cause) = causes.remove(at);
    // Where the scheme was not told the time, what the world says has it.
    let message = if message.contains(INTO_THE_RUN) { message } else { what.to_owned() };
    Some((message, cause))
}

fn message(
    py: Python<'_>,
    (class, method): (&str, &str),
    now: Option<Time>,
    error: &PyErr,
) -> String {
    let kind = error.get_type(py).name().map(|name| name.to_string()).unwrap_or_default();
    let place = innermost(py, error).map(|place| format!(" at {place}")).unwrap_or_default();
    let time = now.map(|now| format!(", {:.6}{INTO_THE_RUN}", now.as_secs_f64()));
    let said = error.value(py).to_string();
    format!("{kind} in {class}.{method}{place}{}: {said}", time.unwrap_or_default())
}

/// File and line of the innermost call of an exception.
fn innermost(py: Python<'_>, error: &PyErr) -> Option<String> {
    let mut at = error.traceback(py)?.into_any();
    while let Some(next) = at.getattr("tb_next").ok().filter(|next| !next.is_none()) {
        at = next;
    }
    let line: usize = at.getattr("tb_lineno").ok()?.extract().ok()?;
    let code = at.getattr("tb_frame").ok()?.getattr("f_code").ok()?;
    let file: String = code.getattr("co_filename").ok()?.extract().ok()?;
    Some(format!("{file}:{line}"))
}
