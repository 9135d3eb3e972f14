//! Claims and their measurement.

use std::path::PathBuf;

use airlane_judge::claims::ClaimSet;
use airlane_judge::request::ReproduceRequest;
use pyo3::prelude::*;

use crate::errors;
use crate::table::{Columns, Table};
use crate::worker::Work;

/// Sets the file of this module, which tells the journals of one build from those of another.
#[pyfunction]
pub(crate) fn set_program(file: PathBuf) {
    airlane_judge::set_program(file);
}

/// The claims of all systems: a table with the columns system, id, source, statement, unit, rule, pairs and seeds.
#[pyfunction]
pub(crate) fn claims(py: Python<'_>) -> PyResult<Table> {
    let registry = airlane_lab::registry();
    let mut all = Vec::new();
    for (system, _) in registry.claims() {
        let set = ClaimSet::of_system(registry, system).map_err(|e| errors::of_input(py, &e))?;
        all.extend(set.claims.into_iter().map(|claim| (system, claim)));
    }
    let mut columns = Columns::default();
    columns.texts("system", all.iter().map(|(system, _)| *system));
    columns.texts("id", all.iter().map(|(_, claim)| claim.id.as_str()));
    columns.texts("source", all.iter().map(|(_, claim)| claim.source.as_str()));
    columns.texts("statement", all.iter().map(|(_, claim)| claim.statement.as_str()));
    columns.texts("statistic", all.iter().map(|(_, claim)| claim.statistic.as_str()));
    columns.texts("rule", all.iter().map(|(_, claim)| claim.rule_text.as_str()));
    columns.counts("draws", all.iter().map(|(_, claim)| claim.full.pairs as u64));
    columns.counts("seeds", all.iter().map(|(_, claim)| claim.full.seeds as u64));
    Ok(columns.table())
}

/// Options of a measurement of claims.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct ReproduceOptions<'py> {
    only: Vec<String>,
    quick: bool,
    fresh: bool,
    out: PathBuf,
    jobs: Option<usize>,
    content: Option<PathBuf>,
    command: Vec<String>,
    progress: Option<Bound<'py, PyAny>>,
}

/// Measures claims of a system and judges them; leaves summary, page and journal in the folder `out`. Table and
/// line for people.
#[pyfunction]
pub(crate) fn reproduce(
    py: Python<'_>,
    system: String,
    options: ReproduceOptions<'_>,
) -> PyResult<(String, String)> {
    let ReproduceOptions { only, quick, fresh, out, jobs, content, command, progress } = options;
    let outcome = Work { jobs, command, progress }.run(py, |common| {
        let common = airlane_sim::Common { out, content, ..common };
        let (adopt, record) = (None, None);
        airlane_lab::reproduce(&ReproduceRequest {
            common,
            system,
            quick,
            only,
            fresh,
            adopt,
            record,
        })
    })?;
    Ok((outcome.table, outcome.line))
}
