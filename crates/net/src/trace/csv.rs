//! CSV with a header: a rate column, and a time column or one row per second.

use airlane_base::{InputError, Rate};

use super::{MOST_BPS, TraceOptions, cut, lines, number, profile_of};
use crate::link::RateProfile;

/// Time columns in seconds.
const TIMES: [&str; 3] = ["time_s", "t_s", "time"];

/// Bits per second of a column's unit, by its name. G-NetTrack's `DL_bitrate` and `UL_bitrate`
/// are in kbit/s.
fn unit(column: &str) -> Option<f64> {
    let name = column.to_ascii_lowercase();
    match name.as_str() {
        "dl_bitrate" | "ul_bitrate" => Some(1e3),
        "bits_per_second" => Some(1.0),
        _ if name.ends_with("_mbps") => Some(1e6),
        _ if name.ends_with("_kbps") => Some(1e3),
        _ if name.ends_with("_bps") => Some(1.0),
        _ => None,
    }
}

pub(super) fn parse(text: &str, options: &TraceOptions) -> Result<RateProfile, InputError> {
    let mut lines = lines(text);
    let Some((header_line, header)) = lines.next() else {
        return Err(InputError::new("no header", "expected the names of the columns"));
    };
    let names: Vec<&str> = header.split(',').map(clean).collect();
    let rate_at = match &options.column {
        Some(wanted) => names.iter().position(|n| n == wanted),
        None => names.iter().position(|n| unit(n).is_some()),
    };
    let Some(rate_at) = rate_at else {
        let found = match &options.column {
            Some(wanted) => format!("no column `{}`", cut(wanted)),
            None => "no column whose name ends in _bps, _kbps or _mbps".to_owned(),
        };
        let expected = format!("the columns are: {}", names.join(", "));
        return Err(InputError::new(found, cut_long(&expected)).at_line(header_line));
    };
    let name = names[rate_at];
    let Some(unit) = unit(name) else {
        return Err(InputError::new(
            "a column of unknown unit",
            "expected a name that ends in _bps, _kbps or _mbps",
        )
        .at_line(header_line)
        .at_key(cut(name)));
    };
    let time_at = names.iter().position(|n| TIMES.contains(&n.to_ascii_lowercase().as_str()));
    let state_at = names.iter().position(|n| *n == "State").filter(|_| !options.keep_idle);
    let mut rows = Vec::new();
    for (line, text) in lines {
        let fields: Vec<&str> = text.split(',').map(clean).collect();
        let field = |at: usize| {
            fields.get(at).copied().ok_or_else(|| {
                let found = format!("{} fields", fields.len());
                InputError::new(found, format!("expected {}, as in the header", names.len()))
                    .at_line(line)
            })
        };
        if state_at.is_some_and(|at| fields.get(at) == Some(&"I")) {
            continue;
        }
        let rate = number(field(rate_at)?, "a rate", 0.0, MOST_BPS / unit)
            .map_err(|e| e.at_line(line).at_key(cut(name)))?;
        let time = match time_at {
            None => rows.len() as f64,
            Some(at) => number(field(at)?, "a time in s", 0.0, 1e10)
                .map_err(|e| e.at_line(line).at_key(cut(names[at])))?,
        };
        rows.push((line, time, Rate::from_bps_f64(rate * unit)));
    }
    profile_of(&rows)
}

fn clean(field: &str) -> &str {
    field.trim().trim_matches('"')
}

fn cut_long(text: &str) -> String {
    text.chars().take(300).collect()
}
