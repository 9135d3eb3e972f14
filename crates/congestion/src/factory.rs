//! Controllers by name and options: what scenarios say, and what makes a connection's controller.

use std::fmt;

use airlane_base::{Rate, Seed, Time};
use serde::Serialize;

use crate::controller::Controller;
use crate::custom::CustomController;
use crate::{
    Abc, Bbr, Bbr3, BbrConfig, Coupled, Cubic, CubicConfig, Cupid, Explicit, Fallback, Fast,
    Ledbat, Prague, Reno, Scream,
};

/// Congestion control algorithm of this crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// [`Reno`].
    Reno,
    /// [`Cubic`].
    Cubic,
    /// [`Coupled`].
    Coupled,
    /// [`Fast`].
    Fast,
    /// [`Bbr`].
    Bbr,
    /// [`Explicit`].
    Explicit,
    /// [`Abc`].
    Abc,
    /// [`Cupid`].
    Cupid,
    /// [`Ledbat`].
    Ledbat,
    /// [`Prague`].
    Prague,
    /// [`Scream`].
    Scream,
    /// [`Bbr3`].
    Bbr3,
}

impl Algorithm {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::Reno,
        Self::Cubic,
        Self::Coupled,
        Self::Fast,
        Self::Bbr,
        Self::Explicit,
        Self::Abc,
        Self::Cupid,
        Self::Ledbat,
        Self::Prague,
        Self::Scream,
        Self::Bbr3,
    ];

    /// The name in scenarios and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reno => "reno",
            Self::Cubic => "cubic",
            Self::Coupled => "coupled",
            Self::Fast => "fast",
            Self::Bbr => "bbr",
            Self::Explicit => "explicit",
            Self::Abc => "abc",
            Self::Cupid => "cupid",
            Self::Ledbat => "ledbat",
            Self::Prague => "prague",
            Self::Scream => "scream",
            Self::Bbr3 => "bbr3",
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A controller and its options.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub enum ControllerConfig {
    /// [`Reno`].
    Reno,
    /// [`Cubic`].
    Cubic(CubicConfig),
    /// [`Coupled`]: alone until [`Controller::couple`] says with whom.
    Coupled,
    /// [`Fast`].
    Fast {
        /// Weight at first: the number of flows of weight 1 that it counts for.
        weight: f64,
    },
    /// [`Bbr`].
    Bbr,
    /// [`Bbr`] with options of its own.
    TunedBbr(BbrConfig),
    /// [`Explicit`].
    Explicit {
        /// The rate at first, of UDP payload.
        rate: Rate,
    },
    /// [`Abc`].
    Abc,
    /// [`Cupid`].
    Cupid {
        /// Controller that decides while no rate is granted, and while the bottleneck is not the air.
        fallback: Fallback,
        /// Weight at first: the number of equal parts of the air that it takes.
        weight: f64,
    },
    /// [`Ledbat`].
    Ledbat,
    /// [`Prague`].
    Prague,
    /// [`Scream`].
    Scream,
    /// [`Bbr3`].
    Bbr3,
    /// One that another crate brings.
    Custom(CustomController),
}

/// The rate of an explicit controller before it was told one.
const INITIAL_EXPLICIT_RATE: Rate = Rate::from_bps(1_000_000);

impl ControllerConfig {
    /// A controller with its default options.
    pub fn new(algorithm: Algorithm) -> Self {
        match algorithm {
            Algorithm::Reno => Self::Reno,
            Algorithm::Cubic => Self::Cubic(CubicConfig::default()),
            Algorithm::Coupled => Self::Coupled,
            Algorithm::Fast => Self::Fast { weight: 1.0 },
            Algorithm::Bbr => Self::Bbr,
            Algorithm::Explicit => Self::Explicit { rate: INITIAL_EXPLICIT_RATE },
            Algorithm::Abc => Self::Abc,
            Algorithm::Cupid => Self::Cupid { fallback: Fallback::default(), weight: 1.0 },
            Algorithm::Ledbat => Self::Ledbat,
            Algorithm::Prague => Self::Prague,
            Algorithm::Scream => Self::Scream,
            Algorithm::Bbr3 => Self::Bbr3,
        }
    }

    /// A Cubic that counts for `weight` plain flows.
    pub fn cubic(weight: f64) -> Self {
        Self::Cubic(CubicConfig { weight, ..CubicConfig::default() })
    }

    /// Algorithm of the controller; `None` if another crate brings it.
    pub fn algorithm(&self) -> Option<Algorithm> {
        Some(match self {
            Self::Reno => Algorithm::Reno,
            Self::Cubic(_) => Algorithm::Cubic,
            Self::Coupled => Algorithm::Coupled,
            Self::Fast { .. } => Algorithm::Fast,
            Self::Bbr | Self::TunedBbr(_) => Algorithm::Bbr,
            Self::Explicit { .. } => Algorithm::Explicit,
            Self::Abc => Algorithm::Abc,
            Self::Cupid { .. } => Algorithm::Cupid,
            Self::Ledbat => Algorithm::Ledbat,
            Self::Prague => Algorithm::Prague,
            Self::Scream => Algorithm::Scream,
            Self::Bbr3 => Algorithm::Bbr3,
            Self::Custom(_) => return None,
        })
    }

    /// True if it goes by reports of its receiver.
    pub fn takes_reports(&self) -> bool {
        matches!(self, Self::Cupid { .. })
    }

    /// True if it has a weight, which can be changed.
    pub fn has_weight(&self) -> bool {
        matches!(self, Self::Cubic(_) | Self::Fast { .. } | Self::Cupid { .. })
    }

    /// Weight at first: the number of flows of weight 1 that it counts for.
    pub fn weight(&self) -> f64 {
        match self {
            Self::Cubic(CubicConfig { weight, .. })
            | Self::Fast { weight }
            | Self::Cupid { weight, .. } => *weight,
            Self::Reno
            | Self::Coupled
            | Self::Bbr
            | Self::TunedBbr(_)
            | Self::Explicit { .. }
            | Self::Abc
            | Self::Ledbat
            | Self::Prague
            | Self::Scream
            | Self::Bbr3
            | Self::Custom(_) => 1.0,
        }
    }

    /// The controller of a connection that starts at `now` with packets of `mtu` bytes of UDP
    /// payload. `seed` is the connection's: BBR draws its first phase from it, its version 3 the time
    /// between probes.
    pub fn build(&self, now: Time, mtu: u64, seed: Seed) -> Box<dyn Controller> {
        match *self {
            Self::Reno => Box::new(Reno::new(mtu)),
            Self::Cubic(config) => Box::new(Cubic::new(config, now, mtu)),
            Self::Coupled => Box::new(Coupled::new(mtu)),
            Self::Fast { weight } => Box::new(Fast::new(weight, mtu)),
            Self::Bbr => Box::new(Bbr::new(now, mtu, seed)),
            Self::TunedBbr(config) => Box::new(Bbr::with_config(config, now, mtu, seed)),
            Self::Explicit { rate } => Box::new(Explicit::new(rate, mtu)),
            Self::Abc => Box::new(Abc::new(now, mtu)),
            Self::Cupid { fallback, weight } => {
                Box::new(Cupid::new((fallback, weight), now, mtu, seed))
            }
            Self::Ledbat => Box::new(Ledbat::new(mtu)),
            Self::Prague => Box::new(Prague::new(now, mtu)),
            Self::Scream => Box::new(Scream::new(mtu)),
            Self::Bbr3 => Box::new(Bbr3::new(now, mtu, seed)),
            Self::Custom(CustomController(kind)) => kind.build(now, mtu, seed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_configuration_builds_the_controller_that_it_names() {
        for algorithm in Algorithm::ALL {
            let config = ControllerConfig::new(algorithm);
            assert_eq!(config.algorithm(), Some(algorithm));
            let built = config.build(Time::ZERO, 1350, Seed(1));
            assert_eq!(built.name(), algorithm.name());
            assert_eq!(built.last_signals().weight.is_some(), config.has_weight());
            // RFC 6817 begins with two packets, SCReAM with 3 times 3000 bytes, the others with ten
            // packets or more.
            let min_packets = match algorithm {
                Algorithm::Ledbat => 2,
                Algorithm::Scream => 6,
                _ => 10,
            };
            assert!(built.window() >= min_packets * 1350);
        }
        let tuned = ControllerConfig::TunedBbr(BbrConfig::default());
        assert_eq!(tuned.build(Time::ZERO, 1350, Seed(1)).name(), "bbr");
        assert_eq!(ControllerConfig::cubic(2.5).build(Time::ZERO, 1350, Seed(1)).weight(), 2.5);
    }
}
