#![doc = include_str!("../README.md")]
//!
//! - [`Estimator`] is fed what a receiver hears ([`Heard`](airlane_wifi::Heard)) and tells how much of
//!   the air is in use, by how many stations, and what a share of it carries.
//! - [`sources`] read the same from where there is no monitor: the BSS Load element, `iw survey`, counts
//!   of an access point.
//! - [`RateRule`] makes a rate of it, literally as published or in a form that lets no air idle.
//! - [`Agent`] is the three together on a host: frames and received bytes in, reports out.
//! - [`PassiveObserver`] says what agents on each of several stations would grant, from what one receiver
//!   hears.
//! - [`Feedback`] is a report on the wire (`docs/reference/wire/cupid.md`), [`Inbox`] what a sender takes of them.

mod agent;
mod delta;
mod estimator;
mod feedback;
mod isolation;
mod passive_observer;
mod ring;
mod rule;
pub mod sources;

pub use agent::{Agent, AgentOptions, Charging};
pub use delta::Aggregation;
pub use estimator::{
    Change, Counts, Direction, Estimate, Estimator, EstimatorOptions, Event, Share, StationState,
};
pub use feedback::{FEEDBACK_BYTES, Feedback, FeedbackError, Inbox, InboxCounts, VERSION};
pub use isolation::{FULL, StationAir};
pub use passive_observer::{GrantedRates, PassiveObserver};
pub use rule::{Air, RateRule, RuleKind, RuleOptions, left_share};
