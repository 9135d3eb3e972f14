//! The decision cores: no time but what is given, no input and no output.

pub(crate) mod cupid;
pub(crate) mod fbdt;
pub(crate) mod minerva;
pub(crate) mod octopus;
pub(crate) mod plum;

use airlane_base::Time;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// An instant, seconds from the start.
fn time(seconds: f64) -> PyResult<Time> {
    // As many as fit in 64 bits of nanoseconds.
    const MAX_S: f64 = 1.8e10;
    if (0.0..MAX_S).contains(&seconds) {
        return Ok(Time::from_secs_f64(seconds));
    }
    Err(PyValueError::new_err(format!("now_s: {seconds} is no time; expected seconds from 0 on")))
}
