//! The workloads: a folder and a line of `ALL` each.

pub mod bulk;
pub mod call;
pub mod live;
pub mod tiles;
pub mod tunnel;
pub mod vod;
pub mod web;

use std::sync::LazyLock;

use airlane_judge::{Registry, Workload};

/// The workloads, in the order of hosts, rows and chapters.
const ALL: &[&dyn Workload] =
    &[&vod::Vod, &bulk::Bulk, &web::Web, &tunnel::Tunnel, &tiles::Tiles, &live::Live, &call::Call];

/// The registry of these workloads.
pub fn registry() -> &'static Registry {
    static REGISTRY: LazyLock<Registry> = LazyLock::new(|| Registry::new(ALL));
    &REGISTRY
}
