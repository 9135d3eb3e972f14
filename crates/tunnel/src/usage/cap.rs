//! A cap: so many bytes in a day, in a month, or ever.

use std::fmt;
use std::str::FromStr;

use time::OffsetDateTime;

use crate::interface_spec::scaled;
use airlane_host::date;

/// Bytes of a cap at least: some are kept back at its end.
const MIN_CAP_BYTES: u64 = 10_000_000;

/// After how long a cap begins again, by UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Period {
    /// At midnight.
    Day,
    /// With the first of a month.
    Month,
    /// Never.
    Ever,
}

impl Period {
    /// The name of the period at a time, seconds since 1970. Of two periods of a kind the later one's
    /// is the greater.
    pub(crate) fn name(self, now_s: u64) -> String {
        let now = i64::try_from(now_s).unwrap_or(i64::MAX);
        // Beyond the calendar there is one period.
        let now = OffsetDateTime::from_unix_timestamp(now);
        match (self, now.map(|now| (now.year(), u8::from(now.month()), now.day()))) {
            (Self::Day, Ok((year, month, day))) => format!("day {year:04}-{month:02}-{day:02}"),
            (Self::Month, Ok((year, month, _))) => format!("month {year:04}-{month:02}"),
            (Self::Ever, _) | (_, Err(_)) => "ever".to_owned(),
        }
    }

    /// True if a name is one of this kind.
    pub(crate) fn is_of(self, name: &str) -> bool {
        name.split(' ').next() == Some(self.word())
    }

    fn word(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Month => "month",
            Self::Ever => "ever",
        }
    }
}

/// Data cap of an interface, of both directions together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cap {
    /// Bytes, as counted on the air.
    pub bytes: u64,
    /// In which time.
    pub period: Period,
}

impl fmt::Display for Cap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.bytes)?;
        match self.period {
            Period::Ever => Ok(()),
            period => write!(f, " a {}", period.word()),
        }
    }
}

impl FromStr for Cap {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (bytes, period) = match text.split_once('/') {
            None => (text, Period::Ever),
            Some((bytes, "day")) => (bytes, Period::Day),
            Some((bytes, "month")) => (bytes, Period::Month),
            Some(_) => return Err("/day, /month or nothing behind the bytes".to_owned()),
        };
        let bytes = bytes.strip_suffix('B').unwrap_or(bytes);
        let (ki, prefixes) = (1024.0, [("k", 1e3), ("M", 1e6), ("G", 1e9), ("T", 1e12)]);
        let binary = [("Ki", ki), ("Mi", ki * ki), ("Gi", ki * ki * ki)];
        let all: Vec<(&str, f64)> = binary.into_iter().chain(prefixes).collect();
        match scaled(bytes, &all) {
            Some(bytes) if bytes >= MIN_CAP_BYTES => Ok(Self { bytes, period }),
            _ => Err("bytes, 10 MB or more, such as 500MB/day".to_owned()),
        }
    }
}

/// Seconds since 1970.
pub(crate) fn now() -> u64 {
    date::now_s()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_begin_at_midnight_and_with_months() {
        // 2026-11-30 23:59:59 and a second later.
        let (before, after) = (1_796_083_199, 1_796_083_200);
        assert_eq!(Period::Day.name(before), "day 2026-11-30");
        assert_eq!(Period::Month.name(before), "month 2026-11");
        assert_eq!(Period::Day.name(after), "day 2026-12-01");
        assert_eq!(Period::Month.name(after), "month 2026-12");
        assert_eq!(Period::Ever.name(before), Period::Ever.name(after));
        assert!(Period::Month.name(before) < Period::Month.name(after));
        // A clock that is beyond the calendar.
        assert_eq!(Period::Day.name(u64::MAX), "ever");
    }

    #[test]
    fn caps_are_bytes_in_a_time() {
        let read = |text: &str| text.parse::<Cap>();
        assert_eq!(read("2GB/month"), Ok(Cap { bytes: 2_000_000_000, period: Period::Month }));
        assert_eq!(read("500M/day"), Ok(Cap { bytes: 500_000_000, period: Period::Day }));
        assert_eq!(read("1.5GiB"), Ok(Cap { bytes: 3 << 29, period: Period::Ever }));
        for bad in ["", "2", "9MB", "2GB/year", "-5GB", "many", "1e12", "2 GB"] {
            assert!(read(bad).is_err(), "{bad}");
        }
        assert_eq!(read("2GB/month").unwrap().to_string(), "2000000000 bytes a month");
    }
}
