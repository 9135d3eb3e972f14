//! The program that journals name.

use std::path::PathBuf;

use pyo3::prelude::*;

/// Sets the file of this module, which tells the journals of one build from those of another.
#[pyfunction]
pub(crate) fn set_program(file: PathBuf) {
    airlane_judge::set_program(file);
}
