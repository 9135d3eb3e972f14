//! Capacity over time: reading recordings, generating traces like them, and what they are like.
//!
//! | kind | a line | capacity |
//! |---|---|---|
//! | Mahimahi | one integer, a millisecond | 1500 IP bytes may leave at it |
//! | time/bandwidth | `time_s rate_Mbps [more columns]` | the rate holds from its time on |
//! | CSV | named columns | the rate column holds from its time, or for one second per row |
//! | CSV of iperf 2 | `date,address,port,address,port,id,from-to,bytes,bits/s` | 1500/1448 of the payload that one TCP connection brought in the interval |
//!
//! The kind is told by the content; gzip is unpacked. Lines that are empty or start with `#` are
//! left out.

mod csv;
mod fading;
mod iperf;
mod scale;
mod shape;
mod synthetic;
mod text;

use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use airlane_base::{InputError, Rate};

pub use fading::{FADING_S, MAX_FADING};
pub use shape::{BIN, LAGS, OUTAGE_BELOW, Shape};
pub use synthetic::{
    CapacityModel, Component, LEVELS, Medium, Model, Outages, Phase, RadioModel, STEP, level,
};

use crate::link::{OPPORTUNITY_BYTES, RateProfile, Supply};

/// More than any trace: what unpacks to more is refused.
const MAX_BYTES: u64 = 256 << 20;

/// Options for reading a trace: the part to take from a file that holds more than one series.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceOptions {
    /// The column: its name in CSV, its number from 1 in text. Default: the first that is known
    /// to be a rate in CSV, the second in text.
    pub column: Option<String>,
    /// Keeps the seconds in which the measuring device was idle (CSV rows with `State` `I`),
    /// although they say nothing about the capacity.
    pub keep_idle: bool,
}

/// A recorded or generated capacity. Cheap to clone.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    name: String,
    supply: Supply,
}

/// Statistics of a trace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TraceStats {
    /// Its length, after which it repeats.
    pub length: Duration,
    /// Mean capacity over its length.
    pub mean: Rate,
    /// The least capacity in any whole second of it (of the whole, if it is shorter).
    pub second_min: Rate,
    /// The greatest.
    pub second_max: Rate,
}

impl Trace {
    /// Reads a file with the default options.
    ///
    /// # Errors
    /// If it cannot be read or is no trace: with file, line and what was expected.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, InputError> {
        Self::load_with(path, &TraceOptions::default())
    }

    /// Reads a file.
    ///
    /// # Errors
    /// If it cannot be read or is no trace: with file, line and what was expected.
    pub fn load_with(path: impl AsRef<Path>, options: &TraceOptions) -> Result<Self, InputError> {
        let path = path.as_ref();
        let bytes = std::fs::read(path).map_err(|e| InputError::io(path, "read the trace", &e))?;
        Self::parse_with(&bytes, &path.to_string_lossy(), options)
    }

    /// Reads a trace from memory with the default options; `name` stands in errors.
    ///
    /// # Errors
    /// If it is no trace.
    pub fn parse(bytes: &[u8], name: &str) -> Result<Self, InputError> {
        Self::parse_with(bytes, name, &TraceOptions::default())
    }

    /// Reads a trace from memory; `name` stands in errors.
    ///
    /// # Errors
    /// If it is no trace.
    pub fn parse_with(
        bytes: &[u8],
        name: &str,
        options: &TraceOptions,
    ) -> Result<Self, InputError> {
        let supply = parse_any(bytes, options).map_err(|e| e.at_file(name))?;
        Ok(Self { name: name.to_owned(), supply })
    }

    fn of_profile(name: String, profile: RateProfile) -> Self {
        Self { name, supply: Supply::Profile(Arc::new(profile)) }
    }

    /// The file, as it was named; of a generated trace, medium and seed.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Capacity of a link by it.
    pub fn supply(&self) -> Supply {
        self.supply.clone()
    }

    /// Its length, after which it repeats.
    pub fn length(&self) -> Duration {
        // All readers and generators give supplies that repeat.
        self.supply.period().unwrap_or_default()
    }

    /// Statistics of it.
    pub fn stats(&self) -> TraceStats {
        let length = self.length();
        let mean = self.supply.mean();
        let (mut least, mut most) = (f64::INFINITY, 0.0_f64);
        for bps in self.means(Duration::from_secs(1)) {
            (least, most) = (least.min(bps), most.max(bps));
        }
        let (second_min, second_max) = if least.is_finite() {
            (Rate::from_bps_f64(least), Rate::from_bps_f64(most))
        } else {
            (mean, mean)
        };
        TraceStats { length, mean, second_min, second_max }
    }

    /// The mean capacity, in bits per second, of each whole interval of `width` of its length.
    pub fn means(&self, width: Duration) -> Vec<f64> {
        let count = self.length().as_nanos().checked_div(width.as_nanos()).unwrap_or(0) as u64;
        let mut before = 0.0;
        let mut mean = |i: u64| {
            let end = Duration::from_nanos(width.as_nanos() as u64 * i);
            let now = self.bytes_until(end);
            let bps = (now - before) * 8.0 / width.as_secs_f64();
            before = now;
            bps
        };
        (1..=count).map(&mut mean).collect()
    }

    fn bytes_until(&self, t: Duration) -> f64 {
        match &self.supply {
            Supply::Constant(rate) => rate.as_f64() / 8.0 * t.as_secs_f64(),
            Supply::Profile(p) => p.bytes_until(t),
            Supply::Opportunities(o) => o.count_before(t) as f64 * f64::from(OPPORTUNITY_BYTES),
        }
    }
}

fn parse_any(bytes: &[u8], options: &TraceOptions) -> Result<Supply, InputError> {
    let unpacked;
    let bytes = if bytes.starts_with(&[0x1f, 0x8b]) {
        unpacked = unpack(bytes)?;
        &unpacked
    } else {
        bytes
    };
    let text = airlane_base::text::decode(bytes).map_err(|line| {
        InputError::new("bytes that are no text", "expected a trace in text, or gzip of it")
            .at_line(line)
    })?;
    let text = text.as_ref();
    let Some((line, first)) = lines(text).next() else {
        return Err(InputError::new(
            "no line of data",
            "expected one millisecond per line, `time_s rate_Mbps` per line, or CSV",
        ));
    };
    if iperf::is_report(text) {
        if let Some(column) = &options.column {
            let found = format!("a column {} is asked for in a report of iperf", cut(column));
            return Err(InputError::new(found, "leave the column out").at_line(line));
        }
        return iperf::parse(text).map(|p| Supply::Profile(Arc::new(p)));
    }
    if first.contains(',') {
        return csv::parse(text, options).map(|p| Supply::Profile(Arc::new(p)));
    }
    match first.split_whitespace().count() {
        1 => {
            if let Some(column) = &options.column {
                let found = format!("a column {column} is asked for in a trace of one column");
                return Err(InputError::new(found, "leave the column out").at_line(line));
            }
            text::opportunities(text).map(|o| Supply::Opportunities(Arc::new(o)))
        }
        _ => text::profile(text, options).map(|p| Supply::Profile(Arc::new(p))),
    }
}

fn unpack(bytes: &[u8]) -> Result<Vec<u8>, InputError> {
    let mut out = Vec::new();
    let mut reader = flate2::read::MultiGzDecoder::new(bytes).take(MAX_BYTES + 1);
    reader.read_to_end(&mut out).map_err(|e| {
        InputError::new(format!("gzip that cannot be unpacked: {e}"), "expected a whole file")
    })?;
    if out.len() as u64 > MAX_BYTES {
        let found = format!("gzip that unpacks to more than {} MiB", MAX_BYTES >> 20);
        return Err(InputError::new(found, "expected a trace"));
    }
    Ok(out)
}

/// The lines that carry data, trimmed, with their numbers from 1.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let numbered = text.lines().enumerate().map(|(i, l)| (i + 1, l.trim()));
    numbered.filter(|(_, l)| !l.is_empty() && !l.starts_with('#'))
}

/// A finite number from `least` to `most`.
fn number(field: &str, what: &str, least: f64, most: f64) -> Result<f64, InputError> {
    let expected = || format!("expected {what} from {least} to {most}");
    let value: f64 = field
        .parse()
        .map_err(|_| InputError::new(format!("`{}` is no number", cut(field)), expected()))?;
    if !(least..=most).contains(&value) {
        return Err(InputError::new(format!("{} is out of range", cut(field)), expected()));
    }
    Ok(value)
}

/// The start of a field, for messages.
fn cut(field: &str) -> String {
    field.chars().take(40).collect()
}

/// A profile from (line, time in seconds, rate) rows. The axis starts at the first row; the last
/// row holds for the median step.
fn profile_of(rows: &[(usize, f64, Rate)]) -> Result<RateProfile, InputError> {
    let Some(&(_, first, _)) = rows.first() else {
        return Err(InputError::new("no row of data", "expected at least two rows"));
    };
    let mut steps: Vec<(Duration, Rate)> = Vec::with_capacity(rows.len());
    let mut last = first;
    for &(line, time, rate) in rows {
        if time < last {
            let found = format!("time {time} s after {last} s");
            return Err(InputError::new(found, "expected times that ascend").at_line(line));
        }
        last = time;
        let start = Duration::try_from_secs_f64(time - first)
            .ok()
            .filter(|d| d.as_secs_f64() <= MAX_S)
            .ok_or_else(|| {
                let found = format!("{} s of trace", time - first);
                InputError::new(found, format!("expected at most {MAX_S} s")).at_line(line)
            })?;
        // Of two rows of one time the later holds.
        steps.pop_if(|(s, _)| *s == start);
        steps.push((start, rate));
    }
    let mut gaps: Vec<Duration> = steps.windows(2).map(|w| w[1].0 - w[0].0).collect();
    gaps.sort_unstable();
    let Some(median) = gaps.get(gaps.len() / 2) else {
        return Err(InputError::new("one row only", "expected at least two rows"));
    };
    let period = steps[steps.len() - 1].0 + *median;
    RateProfile::new(&steps, Some(period))
}

/// The latest time in a trace, seconds: the year 2286, of those that count from 1970.
const LATEST_S: f64 = 1e10;
/// The longest trace: 115 days.
const MAX_S: f64 = 1e7;
/// The greatest rate in a trace: 1 Tbit/s.
const MAX_BPS: f64 = 1e12;
