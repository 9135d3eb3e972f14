//! Traces from a generator that was fitted to recorded ones.
//!
//! The licences of the recordings do not allow to ship them; what was measured of them is shipped
//! instead. Equations, parameters and the statistics of recordings and generated traces beside
//! each other: `docs/traces.md`.

mod fitted;
mod model;

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use airlane_base::{InputError, Seed};
use serde::{Deserialize, Serialize};

pub use model::{CapacityModel, Component, LEVELS, Outages, STEP, level};

use super::Trace;

/// What kind of link a generated trace is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Medium {
    /// The downlink of LTE in a moving car.
    Lte,
    /// WiFi in an office or a crowded restaurant.
    Wifi,
}

impl Medium {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Lte, Self::Wifi];

    /// The name in traces, scenarios and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lte => "lte",
            Self::Wifi => "wifi",
        }
    }

    /// The model that was fitted to it.
    pub const fn model(self) -> &'static CapacityModel {
        match self {
            Self::Lte => &fitted::LTE,
            Self::Wifi => &fitted::WIFI,
        }
    }
}

impl fmt::Display for Medium {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Medium {
    type Err = InputError;

    fn from_str(name: &str) -> Result<Self, InputError> {
        Self::ALL.into_iter().find(|m| m.name() == name).ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            InputError::new(format!("no medium is called {name:?}"), format!("one of {names}"))
                .at_key("medium")
        })
    }
}

impl Trace {
    /// A generated trace of `length`, after which it repeats, in steps of 20 ms ([`STEP`]). It is
    /// called by the medium and the seed (`lte-0x1234`); its mean comes from the seed, for another
    /// see [`Trace::scaled_to`]. A longer trace of the same seed begins with the shorter one.
    ///
    /// # Errors
    /// If `length` is not between 1 s and 24 h, or the seed gives no capacity at all in a trace
    /// of a few seconds.
    pub fn synthetic(medium: Medium, seed: Seed, length: Duration) -> Result<Self, InputError> {
        let profile = medium.model().profile(seed, length)?;
        let name = format!("{}-{:#x}", medium.name(), seed.0);
        Ok(Self::of_profile(name, profile))
    }
}
