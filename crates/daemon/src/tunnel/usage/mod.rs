//! What metered radios may carry, and what they have carried.

mod book;
mod cap;
mod keeper;

pub(super) use book::Book;
pub(super) use cap::now;
pub use cap::{Cap, Period};
pub(super) use keeper::{Keeper, LOOK, Usage};
