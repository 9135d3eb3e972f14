#![doc = include_str!("../README.md")]
//!
//! - [`Vector`] is how a PPDU is sent: format, MCS, streams, width, guard interval. It has a
//!   [rate](Vector::rate), and a PPDU of so many bytes takes [so long](Vector::duration) in the air,
//!   its preamble included.
//! - [`mac`] has sizes of frames and headers, [`Timing`] the gaps between frames, [`Access`] how a
//!   category contends.
//! - [`PlannedExchange`] has the airtime of one attempt to send: the one definition of airtime that
//!   utilisation, rates and verdicts share.
//! - [`ErrorModel`] says how likely a frame comes through at an SNR, and which rate is the ideal one.
//! - [`Quality`] says what the SNR is: fixed, a trace, or from powers, places ([`Mobility`]) and what lies
//!   between ([`Propagation`]).
//! - [`Heard`] is what a receiver hears of the air, on three levels: energy, PHY header, MAC header.
//!   [`Exchanges`] puts it together to [`FrameExchange`]s.

mod airtime;
mod errors;
mod exchange;
mod heard;
pub mod mac;
mod mobility;
mod position;
mod propagation;
mod timing;
mod vector;

pub use airtime::{PlannedExchange, Response, contention};
pub use errors::{Code, DETECTION_DB, ErrorModel};
pub use exchange::{Association, Exchanges, FrameExchange, Part, PartKind, Placement, Ppdu, Role};
pub use heard::{Address, BlockAck, Frame, FrameKind, Heard, Precision, What};
pub use mobility::{Area, Leg, Mobility, Walk, WaypointError, Waypoints};
pub use position::Position;
pub use propagation::{
    Fading, NOISE_FIGURE_DB, PathLoss, Propagation, Quality, Shadowing, SnrTrace, TraceError,
    doppler_hz, noise_dbm, sensitivity_dbm, thermal_noise_dbm,
};
pub use timing::{Access, Band, Timing};
pub use vector::{Format, Guard, MAX_PPDU_DURATION, Vector, Width};
