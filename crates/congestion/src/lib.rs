#![doc = include_str!("../README.md")]
//!
//! A controller is told of packets sent, acknowledged and lost, each with the time, and answers
//! with a window and a rate. It owns no clock, no timer and no packet. A transport drives it through
//! a [`SendState`], which keeps the packets in flight, paces and measures.
//!
//! | name | file | after |
//! |---|---|---|
//! | `reno` | [`reno`] | RFC 9002, section 7 |
//! | `cubic` | [`cubic`] | RFC 9438, with a real-valued weight |
//! | `coupled` | [`coupled`] | RFC 6356 (LIA), for the paths of one stream |
//! | `fast` | [`fast`] | FAST TCP, with a real-valued weight |
//! | `bbr` | [`bbr`] | draft-cardwell-iccrg-bbr-congestion-control-00 (BBRv1, 2016) |
//! | `bbr3` | [`bbr3`] | draft-ietf-ccwg-bbr-06 (BBRv3, 2026) |
//! | `ledbat` | [`ledbat`](mod@ledbat) | RFC 6817, with round trips |
//! | `prague` | [`prague`](mod@prague) | draft-briscoe-iccrg-prague-congestion-control-04 (L4S) |
//! | `scream` | [`scream`](mod@scream) | draft-ietf-ccwg-rfc8298bis-screamv2, for live media (L4S) |
//! | `explicit` | [`explicit`] | a rate that is set from outside |
//! | `cupid` | [`cupid`](mod@cupid) | a rate that a WiFi receiver measures, with a fallback |

pub mod abc;
mod base_delay;
pub mod bbr;
pub mod bbr3;
pub mod controller;
pub mod coupled;
pub mod cubic;
pub mod cupid;
mod custom;
mod ecn_feedback;
pub mod explicit;
pub mod factory;
pub mod fast;
mod flight;
mod group;
pub mod ledbat;
pub mod pacer;
pub mod pacing;
pub mod prague;
pub mod rate_sample;
pub mod reno;
pub mod scream;
pub mod send;
mod windowed_max;

pub use abc::Abc;
pub use bbr::{Bbr, BbrConfig};
pub use bbr3::Bbr3;
pub use controller::{
    Ack, Controller, Grant, LastSignals, Limit, Loss, LossCause, Marked, RateSample, Rtt, Sent,
    Signal,
};
pub use coupled::Coupled;
pub use cubic::{Cubic, CubicConfig, WeightRule};
pub use cupid::{Cupid, Fallback};
pub use custom::{ControllerKind, CustomController};
pub use ecn_feedback::{EcnCounts, EcnFeedback};
pub use explicit::Explicit;
pub use factory::{Algorithm, ControllerConfig};
pub use fast::Fast;
pub use group::Group;
pub use ledbat::Ledbat;
pub use pacer::Pacer;
pub use prague::Prague;
pub use rate_sample::RateSampler;
pub use reno::Reno;
pub use scream::Scream;
pub use send::{Acked, Counts, InFlight, PathId, SendReadiness, SendState};

/// UDP payload in bytes of a full packet where nothing else is said.
pub const DEFAULT_MTU_BYTES: u64 = 1350;

/// Initial window in packets (RFC 9002, section 7.2; RFC 6928).
pub const INITIAL_WINDOW_PACKETS: f64 = 10.0;

/// No window grows past this many bytes: 1 TiB is more than any path holds, and far from where
/// floating point loses whole bytes.
pub(crate) const MAX_WINDOW_BYTES: f64 = (1u64 << 40) as f64;

/// A window in whole bytes.
pub(crate) fn whole_bytes(bytes: f64) -> u64 {
    // The comparison form turns NaN into zero instead of passing it on.
    if bytes > 0.0 { bytes.min(MAX_WINDOW_BYTES) as u64 } else { 0 }
}
