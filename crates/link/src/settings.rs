//! A link from `KEY=VALUE`, with the keys of the laboratory's scenarios (`docs/guide/link.md`).

use std::time::Duration;

use airlane_base::{InputError, Seed};
use airlane_net::link::Supply;
use airlane_net::trace::{Trace, TraceOptions};
use airlane_net::{Direction, Way};
use airlane_scenario::{
    Capacity, Link, TraceFrom, TraceSource, half_duplex_of_settings, link_of_settings,
    supply_of_steps,
};

use crate::spec::LinkSpec;

/// A generated trace is so long, and then repeats.
const GENERATED: Duration = Duration::from_secs(600);
/// The round trip that a limit in BDP counts with on a link without delay: a scenario's default.
const QUEUE_RTT: Duration = Duration::from_millis(20);

impl LinkSpec {
    /// A link from settings such as `rate_bps=10e6`, `queue.kind=pie`, `loss.p=0.01`, for each
    /// direction. Of two of one key the later holds. A direction `up` without a capacity has that
    /// of a scenario's way back: 10 Mbit/s, and 1000 packets in front of it unless told otherwise.
    ///
    /// # Errors
    /// Names the direction, the key, what was found and what was expected; the file and line, if
    /// a trace is at fault.
    pub fn from_settings<S: AsRef<str>>(
        up: &[S],
        down: &[S],
        seed: Seed,
    ) -> Result<Self, InputError> {
        let Link { up, down } = link_of_settings(up, down)?;
        let rtt = queue_rtt(&up, &down);
        let realised = |way: &airlane_scenario::Way, direction| -> Result<Way, InputError> {
            let supply = supply(&way.capacity, direction, direction.name(), seed)?;
            Ok(way.realised(&way.queue, supply, rtt))
        };
        Ok(Self::new(realised(&up, Direction::Up)?, realised(&down, Direction::Down)?, seed))
    }

    /// A half-duplex link from such settings of both directions, and of each on top of these. The
    /// capacity is one of both.
    ///
    /// # Errors
    /// As [`LinkSpec::from_settings`], and for a capacity of one direction.
    pub fn half_duplex_from_settings<S: AsRef<str>>(
        both: &[S],
        up: &[S],
        down: &[S],
        seed: Seed,
    ) -> Result<Self, InputError> {
        let Link { up, down } = half_duplex_of_settings(both, up, down)?;
        let rtt = queue_rtt(&up, &down);
        let supply = supply(&down.capacity, Direction::Down, "", seed)?;
        let realised = |way: &airlane_scenario::Way| way.realised(&way.queue, supply.clone(), rtt);
        Ok(Self { half_duplex: true, ..Self::new(realised(&up), realised(&down), seed) })
    }
}

/// The round trip that limits in BDP count with.
fn queue_rtt(up: &airlane_scenario::Way, down: &airlane_scenario::Way) -> Duration {
    match up.delay + down.delay {
        Duration::ZERO => QUEUE_RTT,
        rtt => rtt,
    }
}

/// Rate of the link in a direction, and the offset at which its trace begins; errors are about keys
/// of `table`.
fn supply(
    capacity: &Capacity,
    direction: Direction,
    table: &str,
    seed: Seed,
) -> Result<(Supply, Duration), InputError> {
    let at = |key: &'static str| {
        move |e: InputError| match e.place.file {
            Some(_) => e,
            None if table.is_empty() => e.at_key(key),
            None => e.at_key(format!("{table}.{key}")),
        }
    };
    let source = match capacity {
        Capacity::Constant(rate) => return Ok((Supply::Constant(*rate), Duration::ZERO)),
        Capacity::Steps(steps) => {
            return Ok((supply_of_steps(steps).map_err(at("steps"))?, Duration::ZERO));
        }
        Capacity::Trace(source) => source,
        Capacity::Air | Capacity::Shared => {
            let found = "a direction without a capacity of its own";
            return Err(at("rate_bps")(InputError::new(found, "expected a link")));
        }
    };
    let seed = seed.split("trace").split(direction.name());
    let TraceSource { from, column, scale, offset, .. } = source;
    let trace = match from {
        TraceFrom::File(file) => {
            let options = TraceOptions { column: column.clone(), ..TraceOptions::default() };
            Trace::load_with(file, &options)?
        }
        TraceFrom::Generator { medium, outages } => {
            Trace::synthetic_with(*medium, *outages, seed, GENERATED)
                .map_err(at("generator_outages"))?
        }
    };
    let supply = source.adapted(trace, seed).map_err(at("trace_mean_bps"))?.supply();
    let supply = supply.scaled(*scale).map_err(at("trace_scale"))?;
    Ok((supply, offset.unwrap_or_default()))
}
