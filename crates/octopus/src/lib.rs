#![doc = include_str!("../README.md")]
//!
//! ## Model
//!
//! - A **stream** is a series of **messages**, the units of dropping: a frame, or a quality layer of
//!   one. A message is one packet or several, each with a [`Header`] in clear.
//! - A message has a [`Marking`]. By its **priority** and the thresholds of newer messages it is
//!   dropped as soon as such a **dropper** is whole in the queue behind it. By its **bitrate** it is
//!   dropped while its stream is served more slowly than that. Without a marking it is never dropped.
//! - Whether a message is dropped is decided once, when its first packet is about to leave. What has
//!   begun to leave goes on.
//!
//! ## Data flow
//!
//! ```text
//! packet --Header::decode--> Dropper::enqueue --Mark, beside the packet in any FIFO--> Dropper::dequeue --> DropDecision
//! ```
//!
//! [`Dropper`] has the logic for whoever has a queue; [`Queue`] is a queue that has it. Neither does
//! I/O, knows a clock, or allocates once it is made.
//!
//! ## Invariants
//!
//! - Of a message whose packets come in order and all fit, all packets leave or none.
//! - A message of priority 0 without a bitrate leaves, unless the queue overflows.
//! - What is kept of a stream does not grow with its packets or messages, and there are as many
//!   streams as were asked for at most.

mod dropper;
mod header;
mod queue;
mod rates;
mod reason;
mod streams;

pub use dropper::{DropDecision, Dropper, Mark, Options};
pub use header::{
    HEADER_BYTES, Header, HeaderError, MAX_BITRATE_KBPS, MAX_PRIORITY, MAX_SLACK_MS, Marking,
    VERSION, is_older,
};
pub use queue::{Capacity, Dropped, Queue};
pub use reason::Reason;
