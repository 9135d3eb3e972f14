//! A workload, a controller and a queue of somebody else's crate, in the laboratory: they take part once they are in
//! a registry. `cargo test -p airlane-extension` runs, sweeps and judges with them.

mod controller;
mod exchange;
mod queue;

use airlane_judge::Registry;

/// A registry with the three: scenarios may have `[[exchange]]`, `controller = "fixed"` and
/// `queue = { kind = "newest-first" }`.
pub fn registry() -> Registry {
    Registry::new(&[&exchange::Exchange])
        .with_controller(&controller::Fixed)
        .with_queue(&queue::NewestFirst)
}
