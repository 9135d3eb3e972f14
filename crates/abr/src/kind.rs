//! The algorithms by name.

use std::fmt;
use std::str::FromStr;

use airlane_base::InputError;

use crate::algorithm::{Abr, Fixed, RateBased};
use crate::bola::Bola;
use crate::buffer_based::BufferBased;
use crate::mpc::Mpc;
use crate::state::PlayerState;
use crate::title_model::TitleModel;

/// An algorithm by name, as scenarios and command lines give it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AbrKind {
    /// `fixed:RUNG`, from 0.
    Fixed(Fixed),
    /// `rate-based`.
    RateBased(RateBased),
    /// `mpc` or `robust-mpc`.
    Mpc(Mpc),
    /// `bola`.
    Bola(Bola),
    /// `buffer-based`.
    BufferBased(BufferBased),
    /// One that another crate brings.
    Custom(CustomAbr),
}

/// Algorithm that another crate brings; equal to another if their names are.
#[derive(Clone, Copy, Debug)]
pub struct CustomAbr {
    /// Its name, none of [`AbrKind::NAMES`].
    pub name: &'static str,
    /// The algorithm.
    pub abr: &'static dyn Abr,
}

impl PartialEq for CustomAbr {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for CustomAbr {}

impl serde::Serialize for CustomAbr {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(self.name)
    }
}

impl Default for AbrKind {
    /// RobustMPC.
    fn default() -> Self {
        Self::Mpc(Mpc::robust())
    }
}

impl AbrKind {
    /// The names that [`AbrKind::from_str`] takes, for messages and completion.
    pub const NAMES: [&'static str; 6] =
        ["robust-mpc", "mpc", "bola", "buffer-based", "rate-based", "fixed:RUNG"];
}

impl Abr for AbrKind {
    fn choose(&self, setting: &TitleModel, state: &PlayerState) -> usize {
        match self {
            Self::Fixed(a) => a.choose(setting, state),
            Self::RateBased(a) => a.choose(setting, state),
            Self::Mpc(a) => a.choose(setting, state),
            Self::Bola(a) => a.choose(setting, state),
            Self::BufferBased(a) => a.choose(setting, state),
            Self::Custom(a) => a.abr.choose(setting, state),
        }
    }
}

impl fmt::Display for AbrKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(Fixed(rung)) => write!(f, "fixed:{rung}"),
            Self::RateBased(_) => f.write_str("rate-based"),
            Self::Mpc(m) if m.robust => f.write_str("robust-mpc"),
            Self::Mpc(_) => f.write_str("mpc"),
            Self::Bola(_) => f.write_str("bola"),
            Self::BufferBased(_) => f.write_str("buffer-based"),
            Self::Custom(a) => f.write_str(a.name),
        }
    }
}

impl FromStr for AbrKind {
    type Err = InputError;

    fn from_str(s: &str) -> Result<Self, InputError> {
        let bad = || InputError::new(format!("unknown ABR `{s}`"), expected());
        match s {
            "robust-mpc" => Ok(Self::Mpc(Mpc::robust())),
            "mpc" => Ok(Self::Mpc(Mpc::plain())),
            "bola" => Ok(Self::Bola(Bola::default())),
            "buffer-based" => Ok(Self::BufferBased(BufferBased::default())),
            "rate-based" => Ok(Self::RateBased(RateBased::default())),
            _ => {
                let rung = s.strip_prefix("fixed:").ok_or_else(bad)?;
                Ok(Self::Fixed(Fixed(rung.parse().map_err(|_| bad())?)))
            }
        }
    }
}

fn expected() -> String {
    format!("expected one of {}", AbrKind::NAMES.join(", "))
}

impl serde::Serialize for AbrKind {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for AbrKind {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let s = <std::borrow::Cow<'de, str>>::deserialize(d)?;
        s.parse().map_err(serde::de::Error::custom)
    }
}
