//! Minerva's decisions (Nathan et al., End-to-End Transport for Video QoE Fairness, SIGCOMM
//! 2019): what a rate is worth to a viewer, and the weight that follows from it.
//!
//! - [`utility`]: the basic form (equation 2) and the client-aware one (section 5.3), with the
//!   value function that simulates the player's algorithm as a black box.
//! - [`curve`]: `Q_i(r)`, the QoE of a session at a constant rate.
//! - [`normalise`]: `f`, which makes weights comparable and fair to plain flows (section 5.4).
//! - [`weight`]: the controller of one flow (sections 5.2 and 6.2).
//! - [`optimum`]: the offline fixed-rate optimum and its bound (section 8.2).
//!
//! Pure: time is an argument, and nothing here sends a byte. The equations as built, and where
//! they differ from the paper, are in `docs/minerva.md`.

pub mod curve;
mod ledger;
pub mod normalise;
pub mod optimum;
pub mod utility;
pub mod weight;

pub use curve::RateCurve;
pub use normalise::{Form, Normalisation};
pub use optimum::{Optimum, fixed_rate_bound, fixed_rate_optimum};
pub use utility::{Blend, Download, Utility};
pub use weight::{Config, Minerva, Progress, Request, Update, UtilityKind};
