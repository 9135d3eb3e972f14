//! Tests of the crate as one program: each of several would link all that is below once more.

#[path = "../../examples/settle/flows.rs"]
mod flows;
#[allow(dead_code, reason = "the example uses more of it")]
#[path = "../../examples/fluid/model.rs"]
mod model;

mod common;
mod controller;
mod convergence;
mod curves;
mod fluid;
mod forms;
mod sent;
mod utility;
mod value;
