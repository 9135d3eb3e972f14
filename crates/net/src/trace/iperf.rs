//! CSV reports of iperf 2 (`iperf -y C -i 1`): what one TCP connection brought in each interval.

use airlane_base::{InputError, Rate};

use super::{MAX_BPS, cut, lines, number, profile_of};
use crate::link::RateProfile;

/// Fields of a row: date, two addresses with their ports, a number, the interval, bytes, bits per
/// second.
const FIELDS: usize = 9;
/// IP bytes over payload in a full packet of TCP with timestamps: reports are of payload.
const IP_OVER_PAYLOAD: f64 = 1500.0 / 1448.0;

/// True if the first row of data, behind a header if there is one, is one of a report.
pub(super) fn is_report(text: &str) -> bool {
    lines(text).take(2).any(|(_, row)| interval(row).is_some())
}

/// The interval of a row, in seconds.
fn interval(row: &str) -> Option<(f64, f64)> {
    let fields: Vec<&str> = row.split(',').map(str::trim).collect();
    let (from, to) = fields.get(FIELDS - 3).filter(|_| fields.len() == FIELDS)?.split_once('-')?;
    Some((from.parse().ok()?, to.parse().ok()?))
}

pub(super) fn parse(text: &str) -> Result<RateProfile, InputError> {
    let mut rows: Vec<(usize, f64, Rate)> = Vec::new();
    let mut end = 0.0;
    for (line, row) in lines(text) {
        let Some((from, to)) = interval(row) else {
            // A header, or none.
            if rows.is_empty() && line == 1 {
                continue;
            }
            let found = format!("a row `{}`", cut(row));
            let expected = "expected nine fields, with an interval such as 0.0-1.0 as the seventh";
            return Err(InputError::new(found, expected).at_line(line));
        };
        // The last row is the whole run's; the first interval says so if it is the only one.
        if from != end || to <= from {
            continue;
        }
        let bps = row.rsplit(',').next().unwrap_or_default().trim();
        let bps =
            number(bps, "bits per second", 0.0, MAX_BPS / 2.0).map_err(|e| e.at_line(line))?;
        rows.push((line, from, Rate::from_bps_f64(bps * IP_OVER_PAYLOAD)));
        end = to;
    }
    profile_of(&rows)
}
