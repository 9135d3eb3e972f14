//! The tables of tunnels, and what a scheme says of them.

use airlane_base::InputError;

use super::{Entry, SchemeOptions, Tunnels};
use airlane_scenario::{
    CORE_RTT, DURATION, Frame, NONE, RTT, Reader, Scenario, at, control, start,
};

/// Receive memory of a stream: as Linux gives it to a connection.
const MEMORY: u64 = 6 << 20;

pub(super) fn tables(r: &mut Reader<'_>, frame: &Frame<'_>) -> Tunnels {
    let mut number = 0;
    Tunnels(r.list(
        "tunnel",
        "Streams of data over several accesses at once, by FBDT or MPTCP.",
        |r| {
            number += 1;
            entry(r, number, frame)
        },
    ))
}

fn entry(r: &mut Reader<'_>, number: usize, frame: &Frame<'_>) -> Entry {
    let name = r.name_or_none("name", "\"tunnel\" and its number from 1", "Name of rows.");
    Entry {
        name: name.unwrap_or_else(|| format!("tunnel{number}")),
        control: control(r, None, "the scheme's, with its weight"),
        start: start(r, frame.duration, "0").unwrap_or_default(),
        skip: r
            .time_or_none("skip_s", DURATION, "0", "Time at its beginning that does not count.")
            .unwrap_or_default(),
        bytes: r.count_or_none("bytes", (1, 1 << 50), NONE, "It ends after so many bytes."),
        memory: r.count(
            "memory_bytes",
            (1 << 20, 1 << 32),
            MEMORY,
            "What each end holds of what it receives, and of what it sends.",
        ),
        at: at(r, frame.network, usize::MAX),
        rtt: r.time_or_none("rtt_s", RTT, CORE_RTT, "Round trip of propagation in the core."),
    }
}

pub(super) fn of_scheme(r: &mut Reader<'_>) -> Option<SchemeOptions> {
    let doc = "Which access sends what of a tunnel: FBDT, or MPTCP with one of its schedulers.";
    let scheduler = r.word_or_none("tunnel_scheduler", "\"fbdt\"", doc);
    let only = r.name_or_none("tunnel_only", "all", "The one access that tunnels use.");
    let range = (64 << 10, 16 << 20);
    let doc = "Bytes of a window of FBDT at most.";
    let window = r.count_or_none("tunnel_window_bytes", range, "1048576", doc);
    let doc = "Part or parts of FBDT that are left out: all go forward, nothing is sent again, directions \
               stay as they are, nobody is held to a part of the memory, one window is open at a time, or \
               what is late is sent again after a mean round trip.";
    let without = r.words_or_none("tunnel_without", "none", doc);
    if scheduler.is_none() && only.is_none() && window.is_none() && without.is_none() {
        return None;
    }
    Some(SchemeOptions {
        scheduler: scheduler.unwrap_or_default(),
        only,
        window,
        without: without.unwrap_or_default(),
    })
}

/// Checks that each access that a scheme names is one of every tunnel's.
pub(super) fn check(tunnels: &Tunnels, scenario: &Scenario) -> Result<(), InputError> {
    let accesses = &scenario.network.accesses;
    for scheme in &scenario.schemes {
        let Some(only) = scheme.parts.of::<SchemeOptions>().and_then(|of| of.only.as_ref()) else {
            continue;
        };
        for tunnel in &tunnels.0 {
            if !tunnel.at.iter().any(|access| accesses[*access].name == *only) {
                let has: Vec<_> = tunnel.at.iter().map(|a| accesses[*a].name.as_str()).collect();
                let found = format!("found \"{only}\" in scheme \"{}\"", scheme.name);
                let expected =
                    format!("expected an access of \"{}\": {}", tunnel.name, has.join(", "));
                return Err(InputError::new(found, expected).at_key("tunnel_only"));
            }
        }
    }
    Ok(())
}
