//! The emulated network: traces, links, queues and topologies, pure.

pub mod node;

pub use node::{Counters, Dropped, Node, Queue};
