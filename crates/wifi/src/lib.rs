//! 802.11 in numbers (IEEE 802.11-2020 and 802.11ax-2021): what the medium of the laboratory, Cupid's
//! estimator and the reader of captures share.
//!
//! - [`Vector`] is how a PPDU is sent: format, MCS, streams, width, guard interval. It has a
//!   [rate](Vector::rate), and a PPDU of so many bytes takes [so long](Vector::duration) in the air,
//!   its preamble included.
//! - [`mac`] has sizes of frames and headers, [`Timing`] the gaps between frames, [`Access`] how a
//!   category contends.
//! - [`Exchange`] is what one attempt costs the air: the one definition of airtime that utilisation,
//!   rates and verdicts share.
//! - [`Heard`] is what a receiver hears of the air, on three levels: energy, PHY header, MAC header.
//!
//! Pure: no I/O, no clock. What it leaves out: `docs/wifi.md`.

mod airtime;
mod heard;
pub mod mac;
mod timing;
mod vector;

pub use airtime::{Exchange, Response, contention};
pub use heard::{Address, BlockAck, Frame, FrameKind, Heard, What};
pub use timing::{Access, Band, Timing};
pub use vector::{Format, Guard, Vector, Width};
