#![doc = include_str!("../README.md")]
//!
//! - [`utility`]: the basic form (equation 2) and the client-aware one (section 5.3).
//! - [`value`]: the value function in all its forms: simulated, tabled, fitted, the best possible,
//!   sent by the player.
//! - [`curve`]: `Q_i(r)`, the QoE of a session at a constant rate.
//! - [`normalise`]: `f`, which makes weights comparable and fair to plain flows (section 5.4).
//! - [`stored`]: `f` in a file, with what it was made of.
//! - [`proportional`]: what is made equal instead of utility for proportional fairness.
//! - [`weight`]: the controller of one flow (sections 5.2 and 6.2).
//! - [`optimum`]: the offline fixed-rate optimum and its bound (section 8.2).

pub mod config;
pub mod curve;
pub mod exponential;
mod ledger;
pub mod normalise;
mod objective;
pub mod optimum;
pub mod proportional;
pub mod stored;
pub mod utility;
pub mod value;
pub mod weight;

pub use config::{ALPHA_PER_CONNECTION, Config, Fairness, UtilityKind};
pub use curve::RateCurve;
pub use normalise::{Form, Normalisation};
pub use optimum::{Optimum, fixed_rate_bound, fixed_rate_optimum};
pub use stored::StoredNormalisation;
pub use utility::{Blend, Download, Utility};
pub use value::{Fitted, OnDemand, Optimal, SentCurve, ValueFunction, ValueTable};
pub use weight::{Minerva, Progress, Request, Update, Watching};
