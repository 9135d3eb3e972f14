//! The command `demo`: the first thing that a newcomer runs.

use std::path::Path;

use crate::error::LabError;
use crate::request::{DemoRequest, Outcome};
use crate::run::run_scenario;
use crate::scenario::{Scenario, embedded};

/// Runs the first scenario that the binary carries; leaves what [`run`](crate::run::run) leaves.
///
/// # Errors
/// As [`run`](crate::run::run).
pub fn demo(request: &DemoRequest<'_>) -> Result<Outcome, LabError> {
    let Some((name, text)) = embedded().next() else {
        return Err(LabError::fault("no scenario in this build"));
    };
    let scenario = Scenario::from_bytes(text.as_bytes(), Path::new(name), &[])?;
    run_scenario(scenario, &request.common)
}
