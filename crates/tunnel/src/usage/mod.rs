//! What metered interfaces may carry, and what they have carried.

mod book;
mod cap;
mod recorder;

pub(crate) use book::Book;
pub(crate) use cap::now;
pub use cap::{Cap, Period};
pub(crate) use recorder::{Keeper, LOOK, Usage};
