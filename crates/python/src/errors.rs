//! Errors of the laboratory as Python's exceptions.

use airlane_base::InputError;
use airlane_sim::{Fault, LabError};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::schemes;

/// The exception of the module `airlane.errors` for an error of the laboratory.
pub(crate) fn of_lab(py: Python<'_>, error: LabError) -> PyErr {
    match error {
        LabError::Input(error) => of_input(py, &error),
        LabError::Stopped => PyKeyboardInterrupt::new_err(()),
        LabError::Fault(fault) => of_fault(py, *fault),
    }
}

/// The exception for a fault: of a scheme in Python, which is its cause, or of Airlane.
pub(crate) fn of_fault(py: Python<'_>, fault: Fault) -> PyErr {
    let Fault { what, run } = fault;
    let (class, message, cause) = match schemes::cause_of(&what) {
        Some((message, cause)) => ("SchemeError", message, Some(cause)),
        None => ("Fault", what, None),
    };
    let error = made(py, class, |values| {
        values.set_item("message", message)?;
        values.set_item("run", run.as_ref().map(|run| run.label.as_str()))?;
        values.set_item("command", run.as_ref().map(|run| run.command.as_str()))
    });
    error.set_cause(py, cause);
    error
}

/// The exception for bad input: `airlane.InputError`.
pub(crate) fn of_input(py: Python<'_>, error: &InputError) -> PyErr {
    made(py, "InputError", |values| {
        values.set_item("message", error.to_string())?;
        let place = &*error.place;
        values.set_item("file", place.file.as_ref().map(|file| file.display().to_string()))?;
        values.set_item("line", place.line)?;
        values.set_item("key", place.key.as_deref())?;
        values.set_item("found", &error.found)?;
        values.set_item("expected", &error.expected)
    })
}

/// An exception of that class with these attributes, or the error that came of making it.
fn made(
    py: Python<'_>,
    class: &str,
    fill: impl FnOnce(&Bound<'_, PyDict>) -> PyResult<()>,
) -> PyErr {
    let values = PyDict::new(py);
    let made = fill(&values).and_then(|()| {
        let class = py.import("airlane.errors")?.getattr(class)?;
        class.call((), Some(&values))
    });
    made.map_or_else(|error| error, PyErr::from_value)
}
