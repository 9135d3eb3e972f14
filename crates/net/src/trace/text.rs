//! Mahimahi and time/bandwidth text.

use airlane_base::{InputError, Rate};

use super::{MAX_BPS, TraceOptions, cut, lines, number, profile_of};
use crate::link::{Opportunities, RateProfile};

/// One millisecond per line.
pub(super) fn opportunities(text: &str) -> Result<Opportunities, InputError> {
    let expected = "expected a whole number of milliseconds, not before the line above";
    let mut millis = Vec::new();
    let mut last = 0;
    for (line, field) in lines(text) {
        let ms: u32 = field.parse().map_err(|_| {
            let found = format!("`{}` is no delivery opportunity", cut(field));
            InputError::new(found, expected).at_line(line)
        })?;
        if ms < last {
            let found = format!("{ms} ms after {last} ms");
            return Err(InputError::new(found, expected).at_line(line));
        }
        last = ms;
        millis.push(ms);
    }
    Opportunities::new(millis)
}

/// `time_s rate_Mbps ...` per line.
pub(super) fn profile(text: &str, options: &TraceOptions) -> Result<RateProfile, InputError> {
    let column = match &options.column {
        None => 2,
        Some(c) => c.parse().ok().filter(|n| (2..=1_000).contains(n)).ok_or_else(|| {
            let found = format!("column `{}` of a text trace", cut(c));
            InputError::new(found, "expected a number from 2: column 1 is the time")
        })?,
    };
    let mut rows = Vec::new();
    for (line, text) in lines(text) {
        let row = || -> Result<_, InputError> {
            let field = |n: usize, what: &str| {
                text.split_whitespace().nth(n - 1).ok_or_else(|| {
                    InputError::new(
                        format!("`{}` has no column {n}", cut(text)),
                        format!("expected {what} there"),
                    )
                })
            };
            let time = number(field(1, "a time in s")?, "a time in s", 0.0, 1e10)?;
            let rate = field(column, "a rate in Mbit/s")?;
            let rate = number(rate, "a rate in Mbit/s", 0.0, MAX_BPS / 1e6)?;
            Ok((line, time, Rate::from_mbps(rate)))
        };
        rows.push(row().map_err(|e| e.at_line(line))?);
    }
    refuse_times(&rows, column)?;
    profile_of(&rows)
}

/// Refuses a column of "rates" that are times again, in a smaller unit (the logs of HSDPA of Riiser et al.
/// have ms there): with each row they rise by the time that has passed.
fn refuse_times(rows: &[(usize, f64, Rate)], column: usize) -> Result<(), InputError> {
    /// Clocks of one row are read some ms apart.
    const SLACK: f64 = 0.2;
    let steps = || rows.windows(2).map(|w| (w[1].1 - w[0].1, w[1].2.mbps() - w[0].2.mbps()));
    let is_clock = |unit: f64| {
        rows.len() >= 3
            && steps().all(|(time, rate)| time > 0.0 && (rate / time / unit - 1.0).abs() < SLACK)
    };
    let Some((_, unit)) =
        [(1e3, "ms"), (1e6, "us"), (1e9, "ns")].into_iter().find(|u| is_clock(u.0))
    else {
        return Ok(());
    };
    let found = format!("column {column} rises with the time: it looks like a time in {unit}");
    Err(InputError::new(found, "expected a rate in Mbit/s; name its column").at_line(rows[0].0))
}
