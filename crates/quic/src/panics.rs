//! Panics that end what they belong to, and nothing else: one in what belongs to a connection, its
//! congestion controller above all, ends that connection and never the endpoint.
//!
//! The driver runs what is a connection's own inside [`caught`]. What panics there is told twice:
//! the connection ends with [`QuicError::Fault`](crate::QuicError::Fault), and a task of its
//! own panics in its place, so that the runtime says so: daemons print it, and in the laboratory it
//! ends the run.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use airlane_runtime::{RuntimeExt, RuntimeHandle};

/// Payload with which a panic was raised.
pub type Panic = Box<dyn Any + Send>;

/// Runs `f`.
///
/// # Errors
/// The panic of `f`. Whoever gets a panic must not use what `f` was changing as if nothing had happened.
pub fn caught<T>(f: impl FnOnce() -> T) -> Result<T, Panic> {
    catch_unwind(AssertUnwindSafe(f))
}

/// The words of a panic.
pub fn message(panic: &Panic) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|s| (*s).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a message".to_owned())
}

/// Has the runtime hear of a panic that was caught.
pub fn report(runtime: &RuntimeHandle, panic: Panic) {
    runtime.spawn("quic connection", async move { resume_unwind(panic) });
}
