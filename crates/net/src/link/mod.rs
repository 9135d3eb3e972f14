//! Links: a queue and the process that serves it.

mod serial;

pub use serial::SerialLink;
