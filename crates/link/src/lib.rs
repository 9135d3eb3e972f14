#![doc = include_str!("../README.md")]
//!
//! [`Engine`] is pure: two ways through [`airlane_net`] networks, driven with times as arguments.
//! [`Link`] runs one on a thread of its own, between a UDP socket and a target or between two TUN
//! devices. Modes, accounting, timing and limits: `docs/guide/link.md`.

mod clock;
mod device_drops;
mod driver;
mod engine;
mod error;
mod figures;
mod link;
mod settings;
mod spec;
mod totals;
mod tun;
mod udp;
mod wake;

pub use airlane_net::{Direction, Way};
pub use clock::{Clock, thread_cpu};
pub use engine::{Delivery, Engine};
pub use error::LinkError;
pub use figures::{Figures, WayFigures};
pub use link::{Link, LinkConfig, Mode};
pub use spec::{LinkSpec, dumbbell, half_duplex};
pub use totals::{ClientTotals, Drops, Reason, Totals, WayTotals};
pub use tun::{TunEnd, TunSpec, ip};
pub use udp::UdpSpec;
pub use udp::clients::{ClientKey, Clients};
pub use udp::segments::{Run, datagrams};
