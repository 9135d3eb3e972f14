//! Controllers by name and options, as scenarios and command lines name them.

use std::fmt;
use std::str::FromStr;

use airlane_base::{InputError, Rate, Seed, Time};
use serde::Deserialize;

use crate::controller::Controller;
use crate::cubic::WEIGHT_RANGE;
use crate::{Bbr, Cubic, CubicConfig, Explicit, Fast, Reno, WeightRule};

/// Which controller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Algorithm {
    /// [`Reno`].
    Reno,
    /// [`Cubic`].
    #[default]
    Cubic,
    /// [`Fast`].
    Fast,
    /// [`Bbr`].
    Bbr,
    /// [`Explicit`].
    Explicit,
}

impl Algorithm {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Reno, Self::Cubic, Self::Fast, Self::Bbr, Self::Explicit];

    /// The name in scenarios and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reno => "reno",
            Self::Cubic => "cubic",
            Self::Fast => "fast",
            Self::Bbr => "bbr",
            Self::Explicit => "explicit",
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Algorithm {
    type Err = InputError;

    fn from_str(name: &str) -> Result<Self, InputError> {
        Self::ALL.into_iter().find(|a| a.name() == name).ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            InputError::new(format!("no controller is called {name:?}"), format!("one of {names}"))
                .at_key("algorithm")
        })
    }
}

/// A controller and its options.
///
/// Reads from a table with the fields' names as keys (only `algorithm` is needed), or with
/// [`FromStr`] from `NAME` or `NAME:key=value,key=value` (`cubic:weight=2,hystart=false`).
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ControllerConfig {
    /// Which controller.
    pub algorithm: Algorithm,
    /// Cubic and FAST: how many plain flows it counts for at first (1).
    #[serde(default)]
    pub weight: Option<f64>,
    /// Cubic: how it counts for that many (`synchronised`).
    #[serde(default)]
    pub weight_rule: Option<WeightRule>,
    /// Cubic: HyStart++ in the first slow start (true).
    #[serde(default)]
    pub hystart: Option<bool>,
    /// Cubic: fast convergence (true).
    #[serde(default)]
    pub fast_convergence: Option<bool>,
    /// Explicit: the rate at first, in bits per second of UDP payload (1 Mbit/s).
    #[serde(default)]
    pub rate_bps: Option<u64>,
}

/// The rate of an explicit controller before it was told one.
const INITIAL_EXPLICIT_RATE: Rate = Rate::from_bps(1_000_000);

impl ControllerConfig {
    /// A controller with its default options.
    pub fn new(algorithm: Algorithm) -> Self {
        Self { algorithm, ..Self::default() }
    }

    /// A Cubic that counts for `weight` plain flows.
    pub fn cubic(weight: f64) -> Self {
        Self { weight: Some(weight), ..Self::new(Algorithm::Cubic) }
    }

    /// Whether the options fit the controller and each other; names the key that does not.
    pub fn check(&self) -> Result<(), InputError> {
        let options: [(&str, bool, &[Algorithm]); 5] = [
            ("weight", self.weight.is_some(), &[Algorithm::Cubic, Algorithm::Fast]),
            ("weight_rule", self.weight_rule.is_some(), &[Algorithm::Cubic]),
            ("hystart", self.hystart.is_some(), &[Algorithm::Cubic]),
            ("fast_convergence", self.fast_convergence.is_some(), &[Algorithm::Cubic]),
            ("rate_bps", self.rate_bps.is_some(), &[Algorithm::Explicit]),
        ];
        for (key, set, owners) in options {
            if set && !owners.contains(&self.algorithm) {
                let owners = owners.iter().map(|o| o.name()).collect::<Vec<_>>().join(" or ");
                return Err(InputError::new(
                    format!("an option of {owners}, given to {}", self.algorithm),
                    format!("leave it out, or use {owners}"),
                )
                .at_key(key));
            }
        }
        if let Some(weight) = self.weight
            && !WEIGHT_RANGE.contains(&weight)
        {
            return Err(InputError::new(
                format!("{weight} is no weight"),
                format!("expected {} to {}", WEIGHT_RANGE.start(), WEIGHT_RANGE.end()),
            )
            .at_key("weight"));
        }
        if self.rate_bps == Some(0) {
            return Err(InputError::new("0 is no rate", "expected bits per second above zero")
                .at_key("rate_bps"));
        }
        Ok(())
    }

    /// The controller of a connection that starts at `now` with packets of `mtu` bytes of UDP
    /// payload. `seed` is the connection's: BBR draws its first phase from it.
    pub fn build(&self, now: Time, mtu: u64, seed: Seed) -> Box<dyn Controller> {
        match self.algorithm {
            Algorithm::Reno => Box::new(Reno::new(mtu)),
            Algorithm::Cubic => {
                let default = CubicConfig::default();
                let config = CubicConfig {
                    weight: self.weight.unwrap_or(default.weight),
                    rule: self.weight_rule.unwrap_or(default.rule),
                    hystart: self.hystart.unwrap_or(default.hystart),
                    fast_convergence: self.fast_convergence.unwrap_or(default.fast_convergence),
                };
                Box::new(Cubic::new(config, now, mtu))
            }
            Algorithm::Fast => Box::new(Fast::new(self.weight.unwrap_or(1.0), mtu)),
            Algorithm::Bbr => Box::new(Bbr::new(now, mtu, seed)),
            Algorithm::Explicit => {
                let rate = self.rate_bps.map_or(INITIAL_EXPLICIT_RATE, Rate::from_bps);
                Box::new(Explicit::new(rate, mtu))
            }
        }
    }
}

impl FromStr for ControllerConfig {
    type Err = InputError;

    fn from_str(text: &str) -> Result<Self, InputError> {
        let (name, options) = text.split_once(':').unwrap_or((text, ""));
        let mut config = Self::new(name.trim().parse()?);
        for option in options.split(',').map(str::trim).filter(|o| !o.is_empty()) {
            let (key, value) = option.split_once('=').ok_or_else(|| {
                InputError::new(format!("{option:?} has no value"), "expected key=value")
            })?;
            let (key, value) = (key.trim(), value.trim());
            match key {
                "weight" => config.weight = Some(parse(key, value, "a number such as 2.5")?),
                "weight_rule" => config.weight_rule = Some(parse_rule(value)?),
                "hystart" => config.hystart = Some(parse(key, value, "true or false")?),
                "fast_convergence" => {
                    config.fast_convergence = Some(parse(key, value, "true or false")?);
                }
                "rate_bps" => config.rate_bps = Some(parse(key, value, "bits per second")?),
                _ => {
                    return Err(InputError::new(
                        "no such option",
                        "one of weight, weight_rule, hystart, fast_convergence, rate_bps",
                    )
                    .at_key(key));
                }
            }
        }
        config.check()?;
        Ok(config)
    }
}

fn parse<T: FromStr>(key: &str, value: &str, expected: &str) -> Result<T, InputError> {
    value.parse().map_err(|_| {
        InputError::new(format!("found {value:?}"), format!("expected {expected}")).at_key(key)
    })
}

fn parse_rule(value: &str) -> Result<WeightRule, InputError> {
    match value {
        "synchronised" => Ok(WeightRule::Synchronised),
        "textbook" => Ok(WeightRule::Textbook),
        _ => Err(InputError::new(format!("found {value:?}"), "expected synchronised or textbook")
            .at_key("weight_rule")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_options_build_what_they_name() {
        for algorithm in Algorithm::ALL {
            let config: ControllerConfig = algorithm.name().parse().expect("a name");
            let built = config.build(Time::ZERO, 1350, Seed(1));
            assert_eq!(built.name(), algorithm.name());
            assert!(built.window() >= 10 * 1350);
        }
        let c: ControllerConfig =
            "cubic:weight=2.5, weight_rule=textbook,hystart=false".parse().expect("options");
        assert_eq!(c.build(Time::ZERO, 1350, Seed(1)).weight(), 2.5);
        assert_eq!(c.weight_rule, Some(WeightRule::Textbook));
        assert_eq!(c.hystart, Some(false));
        let table =
            r#"{"algorithm": "cubic", "weight": 2.5, "weight_rule": "textbook", "hystart": false}"#;
        assert_eq!(serde_json::from_str::<ControllerConfig>(table).expect("a table"), c);
    }

    #[test]
    fn bad_input_names_the_key_and_what_was_expected() {
        let message = |s: &str| s.parse::<ControllerConfig>().expect_err("refused").to_string();
        assert_eq!(
            message("cubik"),
            "algorithm: no controller is called \"cubik\"; one of reno, cubic, fast, bbr, explicit"
        );
        assert_eq!(message("cubic:weight=-3"), "weight: -3 is no weight; expected 0.01 to 1000");
        assert_eq!(
            message("reno:weight=2"),
            "weight: an option of cubic or fast, given to reno; leave it out, or use cubic or fast"
        );
        assert_eq!(message("cubic:weight=x"), "weight: found \"x\"; expected a number such as 2.5");
        assert_eq!(
            message("explicit:rate_bps=0"),
            "rate_bps: 0 is no rate; expected bits per second above zero"
        );
        assert!(
            serde_json::from_str::<ControllerConfig>(r#"{"algorithm":"bbr","wait":1}"#).is_err()
        );
    }
}
