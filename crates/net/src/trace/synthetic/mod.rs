//! Traces from a generator that was fitted to recorded ones.
//!
//! The licences of the recordings do not allow to ship them; what was measured of them is shipped
//! instead. Equations, parameters and the statistics of recordings and generated traces beside
//! each other: `docs/reference/traces.md`.

mod fitted;
mod fitted_radios;
mod model;
mod radio;

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use airlane_base::{InputError, Seed};
use serde::{Deserialize, Serialize};

pub(super) use model::Memory;
pub use model::{CapacityModel, Component, LEVELS, Outages, STEP, level};
pub use radio::{Phase, RadioModel};

use super::Trace;

/// Kind of link that a generated trace is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Medium {
    /// The downlink of LTE in a moving car.
    Lte,
    /// The downlink of 5G (non-standalone, below 6 GHz) to a phone that does not move.
    #[serde(rename = "5g")]
    FiveG,
    /// WiFi in an office or a crowded restaurant.
    Wifi,
    /// WiFi in a crowded restaurant: what both directions of a host have together.
    WifiRestaurant,
    /// WiFi of users of cloud gaming: what both directions of a host have together.
    WifiGaming,
    /// WiFi of 5 GHz (802.11ac) within sight, a host alone on the channel.
    WifiAc,
    /// WiGig (802.11ad, 60 GHz) within sight.
    WigigLos,
    /// WiGig with a person standing between both ends.
    WigigNlos,
    /// WiGig on a robot that drives round and round and turns away from the access point.
    WigigMobile,
}

/// Model that was fitted to a medium.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Model {
    /// A Gaussian process, mapped onto capacities.
    Capacity(&'static CapacityModel),
    /// Phases that follow one another.
    Radio(&'static RadioModel),
}

impl Medium {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Lte,
        Self::FiveG,
        Self::Wifi,
        Self::WifiRestaurant,
        Self::WifiGaming,
        Self::WifiAc,
        Self::WigigLos,
        Self::WigigNlos,
        Self::WigigMobile,
    ];

    /// The name in traces, scenarios and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lte => "lte",
            Self::FiveG => "5g",
            Self::Wifi => "wifi",
            Self::WifiRestaurant => "wifi-restaurant",
            Self::WifiGaming => "wifi-gaming",
            Self::WifiAc => "wifi-ac",
            Self::WigigLos => "wigig-los",
            Self::WigigNlos => "wigig-nlos",
            Self::WigigMobile => "wigig-mobile",
        }
    }

    /// The model that was fitted to it.
    pub const fn model(self) -> Model {
        match self {
            Self::Lte => Model::Capacity(&fitted::LTE),
            Self::FiveG => Model::Capacity(&fitted::FIVE_G),
            Self::Wifi => Model::Capacity(&fitted::WIFI),
            Self::WifiRestaurant => Model::Capacity(&fitted::WIFI_RESTAURANT),
            Self::WifiGaming => Model::Capacity(&fitted::WIFI_GAMING),
            Self::WifiAc => Model::Radio(&fitted_radios::WIFI_AC),
            Self::WigigLos => Model::Radio(&fitted_radios::WIGIG_LOS),
            Self::WigigNlos => Model::Radio(&fitted_radios::WIGIG_NLOS),
            Self::WigigMobile => Model::Radio(&fitted_radios::WIGIG_MOBILE),
        }
    }

    /// True if outages of less than a second can be asked for: the recordings of the others have
    /// them already.
    pub const fn takes_outages(self) -> bool {
        matches!(self.model(), Model::Radio(_))
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
        Self::synthetic_with(medium, 0.0, seed, length)
    }

    /// The same with outages of less than a second, which recordings of one value per second do
    /// not show: they have the share `outages` of what each second lacks to the radio's peak,
    /// while the rest of the second is that much nearer to the peak and its mean stays.
    ///
    /// # Errors
    /// As [`Trace::synthetic`], and if `outages` is not from 0 to 1, or more than 0 for a medium
    /// that does not take them ([`Medium::takes_outages`]).
    pub fn synthetic_with(
        medium: Medium,
        outages: f64,
        seed: Seed,
        length: Duration,
    ) -> Result<Self, InputError> {
        let most = if medium.takes_outages() { 1.0 } else { 0.0 };
        if !(0.0..=most).contains(&outages) {
            let found = format!("outages of {outages} of what {medium} lacks");
            return Err(InputError::new(found, format!("expected a share from 0 to {most}")));
        }
        let profile = match medium.model() {
            Model::Capacity(model) => model.profile(seed, length)?,
            Model::Radio(model) => model.profile(seed, length, outages)?,
        };
        let name = format!("{}-{:#x}", medium.name(), seed.0);
        Ok(Self::of_profile(name, profile))
    }
}
