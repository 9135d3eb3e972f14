//! The emulated network: traces, links, queues and topologies, pure.

pub mod dumbbell;
pub mod link;
pub mod meter;
pub mod network;
pub mod node;
pub mod queue;

pub use dumbbell::{Dumbbell, DumbbellFlow, LinkSpec};
pub use link::SerialLink;
pub use meter::{LinkReport, LinkStats};
pub use network::{
    Delivered, Fate, Hop, HostId, LinkSample, Network, NodeId, Observer, PacketHash, Record,
    RouteError, Series, Step,
};
pub use node::{Counters, Dropped, Node, Queue};
pub use queue::{Capacity, DropTail, Limit, QueueSpec};
