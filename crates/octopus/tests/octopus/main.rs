//! Octopus through its public interface.

mod dropping;
mod header;
mod model;
