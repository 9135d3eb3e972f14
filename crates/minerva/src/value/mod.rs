//! The value function of section 5.3 in all its forms, behind one interface.
//!
//! `V_h(r, b, e)` is the mean QoE of the next `h` chunks, or of those that are left, for a player
//! that holds `b` seconds when it asks for the next chunk, whose chunk before had rung `e`, at a
//! constant rate `r`.
//!
//! - [`OnDemand`]: the player's algorithm simulated whenever it is asked.
//! - [`ValueTable`]: the same, computed beforehand for a whole video.
//! - [`Fitted`]: a table's lines over rate as `A - B exp(-C r)`, concave and increasing
//!   (appendix C).
//! - [`Optimal`]: the best that any algorithm could do, with a discount (appendix C).
//! - [`SentCurve`]: what a player computed itself and sent with its request (section 7).

mod fitted;
mod grid;
mod on_demand;
mod optimal;
mod sent;
mod table;
mod text;
mod wire;

use std::fmt;

pub use fitted::Fitted;
pub use on_demand::{OnDemand, simulate};
pub use optimal::Optimal;
pub use sent::SentCurve;
pub use table::ValueTable;
pub use wire::{MAX_BYTES, WireError};

/// The player at its next request, as far as its future depends on it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ahead {
    /// The chunk that it will ask for, from 1: a video's first chunk has none before it.
    pub next_chunk: usize,
    /// Rung of the chunk before that.
    pub last_rung: usize,
    /// Seconds that it will hold.
    pub buffer_s: f64,
}

/// V: what the next chunks are worth at a rate.
pub trait ValueFunction: fmt::Debug + Send + Sync {
    /// Mean QoE per chunk over the chunks ahead, at a constant rate of bodies in bits per second.
    ///
    /// `None` if no chunk is left, or the question makes no sense: a first chunk, a rung that is
    /// not there, a buffer that is no number, a rate that is not a number above zero.
    fn value(&self, at: Ahead, rate_bps: f64) -> Option<f64>;
}

/// True if a video of so many chunks and rungs has a future there.
fn is_ahead(chunks: usize, rungs: usize, at: Ahead, rate_bps: f64) -> bool {
    (1..chunks).contains(&at.next_chunk)
        && at.last_rung < rungs
        && at.buffer_s.is_finite()
        && rate_bps.is_finite()
        && rate_bps > 0.0
}
