#![doc = include_str!("../README.md")]

pub mod address;
pub mod byte_queue;
pub mod error;
pub mod hash;
pub mod histogram;
pub mod packet;
pub mod pattern;
pub mod printable;
pub mod schedule;
pub mod seed;
pub mod text;
pub mod time;
pub mod traffic_class;
pub mod units;

pub use address::network_of;
pub use byte_queue::ByteQueue;
pub use error::{InputError, Place};
pub use hash::{Fnv64, folded};
pub use histogram::Histogram;
pub use packet::{DropReason, FlowId, IP_UDP_HEADER_BYTES, Packet, Progress};
pub use pattern::Pattern;
pub use printable::{is_hidden, printable, printable_lines};
pub use schedule::Schedule;
pub use seed::{Rng, Seed};
pub use time::Time;
pub use traffic_class::{Dscp, Ecn, TrafficClass};
pub use units::Rate;
