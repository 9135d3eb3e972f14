#![doc = include_str!("../README.md")]
//!
//! A [`Network`] is a list of small [`Node`]s and routes through them; a [`Topology`] builds one
//! out of an ideal core and named [`Access`]es, a [`Dumbbell`] the smallest useful one.

pub mod access;
pub mod air;
mod direction;
pub mod dumbbell;
pub mod impair;
pub mod link;
pub mod meter;
pub mod network;
pub mod node;
pub mod queue;
pub mod topology;
pub mod trace;

pub use access::{
    Access, Carrier, CellAccess, HalfDuplexAccess, HalfDuplexWay, LinkAccess, Way, WifiAccess,
};
pub use direction::Direction;
pub use dumbbell::{BuiltDumbbell, Dumbbell};
pub use impair::{Delay, GilbertElliott, Impairment, Jitter, JitterLaw, Loss, PeriodicLoss};
pub use link::{
    OPPORTUNITY_BYTES, Opportunities, RateProfile, RoundRobin, SerialLink, Supply, TraceLink,
};
pub use meter::{LinkReport, LinkStats};
pub use network::{
    Delivered, Fate, Hop, HostId, LinkSample, Network, NodeId, Observer, PacketHash, Record,
    RouteError, Series, Step,
};
pub use node::{Counters, Dequeued, Dropped, Node, Port, Queue};
pub use queue::{
    Abc, AbcConfig, Capacity, Codel, CodelConfig, DiscardTimer, DropTail, DualPi2, DualPi2Config,
    FqCodel, Latency, Limit, Octopus, OctopusConfig, Pie, PieConfig, PriorityDrop, QueueSpec,
};
pub use topology::{AccessId, Client, SendJitter, Topology};
pub use trace::{CapacityModel, Medium, Shape, Trace, TraceOptions, TraceStats};
