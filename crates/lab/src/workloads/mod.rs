//! The workloads: a folder and a line of `ALL` each. Nothing else in the crate names one.

pub mod bulk;
#[cfg(test)]
mod exchange;
pub mod live;
pub mod tiles;
pub mod tunnel;
pub mod vod;
pub mod web;

use crate::workload::Workload;

/// The workloads, in the order of hosts, rows and chapters.
pub(crate) const ALL: &[&dyn Workload] = &[
    &vod::Vod,
    &bulk::Bulk,
    &web::Web,
    &tunnel::Tunnel,
    &tiles::Tiles,
    &live::Live,
    #[cfg(test)]
    &exchange::Exchange,
];
