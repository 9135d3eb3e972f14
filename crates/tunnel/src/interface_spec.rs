//! An interface of the connecting end, and what it may be used for: `wwan0,price=5,max-rate=20Mbit,cap=2GB/month`.

use std::fmt;
use std::str::FromStr;

use airlane_multipath::Preference;

use super::path_spec::PathSpec;
use super::usage::Cap;

const EXPECTED: &str = "expected backup, price=NUMBER, max-rate=RATE such as 20Mbit, or cap=BYTES such as \
                        2GB/month, between commas";

/// An interface, and what it may be used for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterfaceSpec {
    /// Interface or address that subflows leave from.
    pub path: PathSpec,
    /// Its price, and whether it is a backup.
    pub preference: Preference,
    /// Bits per second that each end sends over it at most, as counted on the air.
    pub max_bps: Option<u64>,
    /// Data cap of both directions together.
    pub cap: Option<Cap>,
}

impl From<PathSpec> for InterfaceSpec {
    /// One that is used as any other.
    fn from(path: PathSpec) -> Self {
        Self { path, preference: Preference::default(), max_bps: None, cap: None }
    }
}

impl fmt::Display for InterfaceSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.path.fmt(f)
    }
}

impl FromStr for InterfaceSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.split(',');
        let mut spec = Self::from(parts.next().unwrap_or_default().parse::<PathSpec>()?);
        let mut known = Vec::new();
        for part in parts {
            let (key, value) = part.split_once('=').map_or((part, None), |(k, v)| (k, Some(v)));
            // Its name of before.
            let key = if key == "most" { "max-rate" } else { key };
            if known.contains(&key) {
                return Err(format!("{key} is there twice: {EXPECTED}"));
            }
            known.push(key);
            match (key, value) {
                ("backup", None) => spec.preference.is_backup = true,
                ("price", Some(price)) => {
                    spec.preference.price =
                        price.parse().map_err(|_| of(part, "a whole number of 0 or more"))?;
                }
                ("max-rate", Some(rate)) => {
                    let bps = rate_bps(rate).filter(|bps| *bps >= MIN_BPS);
                    let expected = "bits per second, 10 kbit or more, such as 20Mbit";
                    spec.max_bps = Some(bps.ok_or_else(|| of(part, expected))?);
                }
                ("cap", Some(cap)) => {
                    spec.cap = Some(cap.parse().map_err(|e: String| of(part, &e))?)
                }
                _ => return Err(of(part, EXPECTED.trim_start_matches("expected "))),
            }
        }
        Ok(spec)
    }
}

/// With less a frame would keep the subflow for a quarter of a minute.
const MIN_BPS: u64 = 10_000;

fn of(part: &str, expected: &str) -> String {
    format!("found {part:?}, expected {expected}")
}

/// Bits per second: a number, and `k`, `M` or `G`, with or without `bit` or `bit/s`.
fn rate_bps(text: &str) -> Option<u64> {
    let text = text.strip_suffix("/s").unwrap_or(text);
    scaled(text.strip_suffix("bit").unwrap_or(text), &[("k", 1e3), ("M", 1e6), ("G", 1e9)])
}

/// A number with a prefix, as a whole number of what it counts.
pub(crate) fn scaled(text: &str, prefixes: &[(&str, f64)]) -> Option<u64> {
    let with = |(prefix, by): &(&str, f64)| Some((text.strip_suffix(prefix)?, *by));
    let (number, by) = prefixes.iter().find_map(with).unwrap_or((text, 1.0));
    let is_number = number.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let value = number.parse::<f64>().ok().filter(|_| is_number)? * by;
    (value < 1e18).then_some(value.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::usage::Period;

    fn read(text: &str) -> Result<InterfaceSpec, String> {
        text.parse()
    }

    #[test]
    fn a_radio_is_a_path_with_what_it_may_be_used_for() {
        let path = PathSpec::Interface("wwan0".to_owned());
        let plain = InterfaceSpec::from(path);
        assert_eq!(read("wwan0"), Ok(plain.clone()));
        assert_eq!(
            read("wwan0,price=5,max-rate=20Mbit,cap=2GB/month"),
            Ok(InterfaceSpec {
                preference: Preference { is_backup: false, price: 5 },
                max_bps: Some(20_000_000),
                cap: Some(Cap { bytes: 2_000_000_000, period: Period::Month }),
                ..plain.clone()
            })
        );
        let backup = Preference { is_backup: true, price: 0 };
        assert_eq!(read("wwan0,backup"), Ok(InterfaceSpec { preference: backup, ..plain }));
        for (text, bps) in [("1.5M", 1_500_000), ("300kbit/s", 300_000), ("20000", 20_000)] {
            assert_eq!(read(&format!("10.0.0.2,max-rate={text}")).unwrap().max_bps, Some(bps));
            // As before it had this name.
            assert_eq!(read(&format!("10.0.0.2,most={text}")).unwrap().max_bps, Some(bps));
        }
    }

    #[test]
    fn what_is_no_radio_is_refused_with_what_was_found() {
        for bad in [
            "",
            "wwan0,",
            "wwan0,price",
            "wwan0,price=-1",
            "wwan0,price=1,price=2",
            "wwan0,max-rate=1M,most=1M",
            "wwan0,backup=yes",
            "wwan0,max-rate=fast",
            "wwan0,max-rate=0",
            "wwan0,most=1e9",
            "wwan0,most=.M",
            "wwan0,cap=2GB/fortnight",
            "wwan0,cap=1kB",
            "wwan0,dear",
        ] {
            let error = read(bad).unwrap_err();
            assert!(error.contains("expected"), "{bad}: {error}");
        }
    }
}
