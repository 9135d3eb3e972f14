//! The tables of web traffic.

use airlane_base::Rate;

use super::{Entry, WebTraffic};
use airlane_scenario::{
    CORE_RTT, ControllerConfig, Frame, RATE, RTT, Range, Reader, at, control, range,
};

const SIZE: (u64, u64) = (1, 1 << 40);
const SHAPE: Range = range(0.1, 10.0, "1.2");

pub(super) fn tables(r: &mut Reader<'_>, frame: &Frame<'_>) -> WebTraffic {
    let mut number = 0;
    WebTraffic(r.list(
        "web",
        "Web traffic: short transfers, each on a connection of its own.",
        |r| {
            number += 1;
            entry(r, number, frame)
        },
    ))
}

fn entry(r: &mut Reader<'_>, number: usize, frame: &Frame<'_>) -> Entry {
    let name = r.name_or_none("name", "\"web\" and its number from 1", "Name of rows.");
    let load = r.rate_or_none("load_bps", RATE, "required", "Bodies offered per time, on average.");
    if !r.has("load_bps") {
        r.fail("load_bps", "missing", "expected the load, such as 10e6");
    }
    let servers = r.count("servers", (1, 10_000), 200, "How many servers; each has a host.");
    let plain_cubic = ControllerConfig::cubic(1.0);
    let control = control(r, None, "plain Cubic").unwrap_or(plain_cubic);
    let at = at(r, frame.network, 1)[0];
    let rtt = r.time_or_none("rtt_s", RTT, CORE_RTT, "Round trip of propagation in the core.");
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
    Entry {
        name: name.unwrap_or_else(|| format!("web{number}")),
        load: load.unwrap_or(Rate::from_bps(0)),
        servers: servers as usize,
        control,
        at,
        rtt,
        shape,
        min_bytes: least,
        max_bytes: most,
    }
}
