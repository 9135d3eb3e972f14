//! Keys of what shares the link with the viewers.

use std::time::Duration;

use airlane_base::Rate;

use super::super::bounds::{Range, range};
use super::super::reader::{NONE, Reader};
use super::super::tree::plain;
use super::super::types::*;
use super::scheme::control;
use super::{DURATION, MOMENT, RATE, RTT};

const SIZE: (u64, u64) = (1, 1 << 40);
const SHAPE: Range = range(0.1, 10.0, "1.2");

/// When something starts, within the run.
pub(super) fn start(r: &mut Reader<'_>, duration: Duration, default: &str) -> Option<Duration> {
    let start = r.time_or_none("start_s", MOMENT, default, "When it starts.")?;
    if start >= duration {
        let found = format!("found {}", plain(start.as_secs_f64()));
        let expected = format!("expected less than duration_s = {}", plain(duration.as_secs_f64()));
        r.fail("start_s", found, expected);
    }
    Some(start)
}

pub(super) fn bulk(r: &mut Reader<'_>, number: usize, duration: Duration) -> Bulk {
    let name = r.name_or_none("name", "\"bulk\" and its number from 1", "Name of rows.");
    let control = control(r, None, "the scheme's, with its weight");
    let start = start(r, duration, "0").unwrap_or_default();
    let stop = r.time_or_none("stop_s", DURATION, "the end of the run", "When it stops.");
    let bytes = r.count_or_none("bytes", (1, 1 << 50), NONE, "It stops after so many bytes.");
    if stop.is_some() && bytes.is_some() {
        r.fail("bytes", "found beside stop_s", "expected one of them");
    }
    if let Some(stop) = stop.filter(|stop| *stop <= start) {
        let found = format!("found {}", plain(stop.as_secs_f64()));
        r.fail("stop_s", found, "expected a time after start_s");
    }
    Bulk {
        name: name.unwrap_or_else(|| format!("bulk{number}")),
        control,
        start,
        until: match (stop, bytes) {
            (Some(stop), _) => BulkEnd::At(stop),
            (None, Some(bytes)) => BulkEnd::Bytes(bytes),
            (None, None) => BulkEnd::Run,
        },
        rtt: r.time_or_none("rtt_s", RTT, "`link.rtt_s`", "Round trip of propagation."),
        count: r.count("count", (1, 10_000), 1, "How many of the same kind.") as usize,
    }
}

pub(super) fn web(r: &mut Reader<'_>, number: usize) -> Web {
    let name = r.name_or_none("name", "\"web\" and its number from 1", "Name of rows.");
    let load = r.rate_or_none("load_bps", RATE, "required", "Bodies offered per time, on average.");
    if !r.has("load_bps") {
        r.fail("load_bps", "missing", "expected the load, such as 10e6");
    }
    let servers = r.count("servers", (1, 10_000), 200, "How many servers; each has a host.");
    let plain_cubic = Control::Cubic { weight: 1.0, rule: WeightRule::Synchronised };
    let control = control(r, None, "plain Cubic").unwrap_or(plain_cubic);
    let rtt = r.time_or_none("rtt_s", RTT, "`link.rtt_s`", "Round trip of propagation.");
    let shape = r.number(
        "shape",
        SHAPE,
        1.2,
        "Shape of the Pareto distribution that sizes are drawn from: the smaller, the heavier its \
         tail.",
    );
    let least = r.count("least_bytes", SIZE, 4_000, "The least size of a transfer.");
    let most =
        r.count("most_bytes", SIZE, 20_000_000, "The greatest; the distribution ends there.");
    if least >= most {
        let found = format!("found {most}, and least_bytes = {least}");
        r.fail("most_bytes", found, "expected more than least_bytes");
    }
    Web {
        name: name.unwrap_or_else(|| format!("web{number}")),
        load: load.unwrap_or(Rate::from_bps(0)),
        servers: servers as usize,
        control,
        rtt,
        shape,
        least_bytes: least,
        most_bytes: most,
    }
}
