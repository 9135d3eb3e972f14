//! What an origin says in HTTP, whatever carries it.
//!
//! [`Exchange`] is one request with the means to answer it; HTTP/3 is one carrier, HTTP/1.1 and 2
//! are the daemons'. [`answer`] decides, purely, what the head of an answer says and which bytes
//! follow it.

mod answer;
mod busy;
mod conditions;
mod exchange;
mod pace;
mod piece;
mod range;
mod within;

pub use answer::{Answer, AnswerOptions, answer};
pub use busy::{Busy, BusyWith};
pub use exchange::Exchange;
pub use pace::{Pace, RequestRate};
pub use piece::Piece;
pub(crate) use within::within;
