#![doc = include_str!("../README.md")]

mod capacity;
mod coordination;
mod coordinator;

pub use capacity::{
    CapacityConfig, CapacityEstimate, CapacityEstimator, CapacityMethod, ChangeDetector,
    ChannelSample,
};
pub use coordination::{
    ClientControl, DEFAULT_NOTICE_TIMEOUT, Decision, Epoch, MalformedNotice, NOTICE_BYTES, Notice,
    ServerControl, State,
};
pub use coordinator::{ClientChannel, Coordinator, CoordinatorConfig, Target};
