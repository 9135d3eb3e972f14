//! Scenarios as the package `airlane` holds them: a text or a file, and changes to it.

use std::path::PathBuf;

use airlane_judge::Registry;
use airlane_scenario::Scenario;
use pyo3::prelude::*;

use crate::errors;
use crate::schemes::Schemes;
use crate::table::{Columns, Table};

/// A scenario as Python hands it over.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Source {
    /// The TOML text; `None`: of the file, or of the embedded scenario of this name.
    pub(crate) text: Option<String>,
    /// Name of the file, or of the embedded scenario. Paths in the text are relative to its folder.
    pub(crate) name: PathBuf,
    /// Changes: `key=value`.
    pub(crate) set: Vec<String>,
    /// Classes of Python that it names.
    pub(crate) schemes: Schemes,
}

impl Source {
    /// The registry that it is read with.
    pub(crate) fn registry(&self, py: Python<'_>) -> Registry {
        self.schemes.registry(py)
    }

    /// Reads and checks it.
    pub(crate) fn scenario(&self, py: Python<'_>) -> PyResult<Scenario> {
        let registry = self.registry(py);
        let scenario = match &self.text {
            Some(text) => {
                let bytes = text.as_bytes();
                Scenario::from_bytes(registry.scenarios(), bytes, &self.name, &self.set)
            }
            None => Scenario::from_file(registry.scenarios(), &self.name, &self.set),
        };
        scenario.map_err(|e| errors::of_input(py, &e))
    }
}

/// Name and title of a scenario and the names of its schemes, or the exception that says what is wrong with it.
#[pyfunction]
pub(crate) fn check(py: Python<'_>, source: Source) -> PyResult<(String, String, Vec<String>)> {
    let scenario = source.scenario(py)?;
    let schemes = scenario.schemes.into_iter().map(|scheme| scheme.name).collect();
    Ok((scenario.name, scenario.title, schemes))
}

/// Names of the embedded scenarios.
#[pyfunction]
pub(crate) fn embedded() -> Vec<&'static str> {
    airlane_lab::registry().scenarios().embedded().map(|(name, _)| name).collect()
}

/// Text of an embedded scenario; `None` if there is none of this name.
#[pyfunction]
pub(crate) fn text_of(name: &str) -> Option<&'static str> {
    let mut all = airlane_lab::registry().scenarios().embedded();
    all.find(|(known, _)| *known == name).map(|(_, text)| text)
}

/// Keys of scenarios: a table with the columns key, value, default and meaning.
#[pyfunction]
pub(crate) fn keys() -> Table {
    let keys = airlane_lab::registry().scenarios().keys();
    let mut columns = Columns::default();
    columns.texts("key", keys.iter().map(|key| key.key.as_str()));
    columns.texts("value", keys.iter().map(|key| key.kind.as_str()));
    columns.texts("default", keys.iter().map(|key| key.default.as_str()));
    columns.texts("meaning", keys.iter().map(|key| key.doc.as_str()));
    columns.table()
}
