//! CSV with a header: a rate column, and a time column or one row per second.

use airlane_base::{InputError, Rate};

use super::{LATEST_S, MAX_BPS, TraceOptions, cut, lines, number, profile_of};
use crate::link::RateProfile;

/// Beginnings of the names of columns with times, and the seconds of the units that these may end
/// in. A plain `time` is in seconds.
const TIMES: [&str; 7] = ["time", "t", "timestamp", "ts", "elapsed", "epoch", "unix_time"];
const TIME_UNITS: [(&str, f64); 10] = [
    ("s", 1.0),
    ("sec", 1.0),
    ("seconds", 1.0),
    ("ms", 1e-3),
    ("msec", 1e-3),
    ("milliseconds", 1e-3),
    ("us", 1e-6),
    ("usec", 1e-6),
    ("ns", 1e-9),
    ("nsec", 1e-9),
];

/// Meaning of a column of times.
#[derive(Clone, Copy, Debug, PartialEq)]
enum TimeColumn {
    /// Times in units of so many seconds.
    Of(f64),
    /// It looks like times, in nobody knows what.
    Unknown,
}

/// Meaning of a column of times, by its name; `None` if it is none.
fn time(column: &str) -> Option<TimeColumn> {
    let name = column.to_ascii_lowercase().replace([' ', '-', '(', ')', '[', ']'], "_");
    let name = name.trim_matches('_');
    if name == "time" {
        return Some(TimeColumn::Of(1.0));
    }
    if TIMES.contains(&name) {
        return Some(TimeColumn::Unknown);
    }
    let (stem, unit) = name.rsplit_once('_')?;
    let seconds =
        TIME_UNITS.iter().find(|(ending, _)| *ending == unit).map(|(_, seconds)| *seconds);
    let stem = stem.trim_end_matches('_');
    TIMES.contains(&stem).then_some(seconds.map_or(TimeColumn::Unknown, TimeColumn::Of))
}

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
    let names: Vec<&str> = split(header).into_iter().map(clean).collect();
    for (at, name) in names.iter().enumerate() {
        if !name.is_empty() && names[..at].contains(name) {
            let found = format!("two columns are called `{}`", cut(name));
            return Err(
                InputError::new(found, "expected a name of its own for each").at_line(header_line)
            );
        }
    }
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
    let time_at = time_column(&names, rate_at, text)?;
    let state_at = names.iter().position(|n| *n == "State").filter(|_| !options.keep_idle);
    let mut rows = Vec::new();
    for (line, text) in lines {
        let fields: Vec<&str> = split(text).into_iter().map(clean).collect();
        let more = fields.get(names.len()..).unwrap_or_default();
        if more.iter().any(|field| !field.is_empty()) {
            let found = format!("{} fields", fields.len());
            let expected = format!(
                "expected {}, as in the header, and numbers without separators of thousands",
                names.len()
            );
            return Err(InputError::new(found, expected).at_line(line));
        }
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
        let rate = number(field(rate_at)?, "a rate", 0.0, MAX_BPS / unit)
            .map_err(|e| e.at_line(line).at_key(cut(name)))?;
        let time = match time_at {
            None => rows.len() as f64,
            Some((at, seconds)) => {
                let time = number(field(at)?, "a time", 0.0, LATEST_S / seconds)
                    .map_err(|e| e.at_line(line).at_key(cut(names[at])))?;
                time * seconds
            }
        };
        rows.push((line, time, Rate::from_bps_f64(rate * unit)));
    }
    profile_of(&rows)
}

/// The column of times, and seconds of its unit.
fn time_column(
    names: &[&str],
    rate_at: usize,
    text: &str,
) -> Result<Option<(usize, f64)>, InputError> {
    let mut columns = names.iter().enumerate().filter(|(at, _)| *at != rate_at);
    let of = |(at, name): (usize, &&str)| match time(name) {
        Some(TimeColumn::Of(seconds)) => Some((at, seconds)),
        _ => None,
    };
    if let Some(found) = columns.clone().find_map(of) {
        return Ok(Some(found));
    }
    // A column of dates, beside one row per second, says nothing new.
    let mut first = lines(text).skip(1);
    let Some((_, row)) = first.next() else { return Ok(None) };
    let fields: Vec<&str> = split(row).into_iter().map(clean).collect();
    let is_number = |at: usize| fields.get(at).is_some_and(|f| f.parse::<f64>().is_ok());
    let unknown = columns.find(|(at, name)| time(name).is_some() && is_number(*at));
    match unknown {
        None => Ok(None),
        Some((_, name)) => {
            let found = format!("`{}` looks like a time in nobody knows which unit", cut(name));
            let expected = "expected a name that says it: time_s, time_ms, time_us or time_ns";
            Err(InputError::new(found, expected).at_line(lines(text).next().map_or(1, |l| l.0)))
        }
    }
}

/// The fields of a row; quotes hold commas together (RFC 4180, section 2).
fn split(row: &str) -> Vec<&str> {
    let (mut fields, mut start, mut is_quoted) = (Vec::new(), 0, false);
    for (at, c) in row.char_indices() {
        match c {
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => {
                fields.push(&row[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    fields.push(&row[start..]);
    fields
}

fn clean(field: &str) -> &str {
    field.trim().trim_matches('"')
}

fn cut_long(text: &str) -> String {
    text.chars().take(300).collect()
}
