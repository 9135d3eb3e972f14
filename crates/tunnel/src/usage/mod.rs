//! What metered interfaces may carry, and what they have carried.

mod cap;
mod file;
mod recorder;

pub(crate) use cap::now;
pub use cap::{Cap, Period};
pub(crate) use file::UsageFile;
pub(crate) use recorder::{LOOK, Usage, UsageRecorder};
