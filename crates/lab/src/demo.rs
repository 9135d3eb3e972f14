//! The command `demo`: the first thing that a newcomer runs.

use std::path::Path;

use crate::error::LabError;
use crate::request::{DemoRequest, Outcome};
use crate::run::run_scenario;
use crate::scenario::{EMBEDDED, Scenario};

/// The scenario that it runs, by its embedded name.
const SCENARIO: &str = "four-viewers";

/// Four viewers share one link under each scheme; leaves what [`run`](crate::run::run) leaves.
///
/// # Errors
/// As [`run`](crate::run::run).
pub fn demo(request: &DemoRequest<'_>) -> Result<Outcome, LabError> {
    let Some((name, text)) = EMBEDDED.iter().find(|(name, _)| *name == SCENARIO) else {
        return Err(LabError::fault(format!("no scenario {SCENARIO} in this build")));
    };
    let scenario = Scenario::from_bytes(text.as_bytes(), Path::new(name), &[])?;
    run_scenario(scenario, &request.common)
}
