//! Keys of a half-duplex link: one capacity, and what each direction has of its own.

use airlane_base::Rate;

use super::super::reader::Reader;
use super::super::types::*;
use super::link::{CAPACITY_KEYS, DOWN_LIMIT, capacity, setting_way, way};
use super::queue::queue;

/// An access of kind "half_duplex".
pub(super) fn half_duplex(r: &mut Reader<'_>) -> AccessKind {
    let expected = "expected one for both directions, beside `kind`: a half-duplex link has a single \
                    capacity";
    let one = |r: &mut Reader<'_>| {
        let is_refused = refuse_capacity(r, expected);
        (way(r, Capacity::Shared, |r| queue(r, DOWN_LIMIT)), is_refused)
    };
    let down = r.section("down", "From the core to the hosts.", one);
    let up = r.section("up", "From the hosts to the core.", one);
    let (capacity, per_host) = own_keys(r, stand_in(down.1 || up.1));
    let link = Link { down: Way { capacity, ..down.0 }, up: up.0 };
    AccessKind::HalfDuplex { link, per_host }
}

/// Keys of an access that those of kind "half_duplex" alone have: the capacity, `default` if there is
/// none, and whether each host has a link of its own.
pub(super) fn own_keys(r: &mut Reader<'_>, default: Option<Rate>) -> (Capacity, bool) {
    let per_host = r.flag_or_none(
        "per_host",
        "false",
        "Of kind \"half_duplex\", as is the capacity beside it: each host has such a link of its own, \
         from a random offset of the trace on; otherwise all hosts share one.",
    );
    (capacity(r, default), per_host.unwrap_or(false))
}

/// Refuses those keys on an access of another kind.
pub(super) fn refuse_own_keys(r: &mut Reader<'_>, kind: &str) {
    let found = format!("found on an access of kind \"{kind}\"");
    let expected = "expected a capacity in `down` and in `up`, or kind = \"half_duplex\", whose \
                    directions share one";
    r.refuse(&CAPACITY_KEYS, &found, expected);
    r.refuse(&["per_host"], &found, "expected it on one of kind \"half_duplex\" only");
}

/// A half-duplex link that stands alone, from settings of the command line.
pub(super) fn settings(r: &mut Reader<'_>) -> Link {
    let expected = "expected it with --both-directions: a half-duplex link has a single capacity";
    let one = |r: &mut Reader<'_>| {
        let is_refused = refuse_capacity(r, expected);
        (setting_way(r, Capacity::Shared, DOWN_LIMIT), is_refused)
    };
    let up = r.section("up", "From the clients to the target.", one);
    let down = r.section("down", "Back.", one);
    let capacity = capacity(r, stand_in(down.1 || up.1));
    Link { down: Way { capacity, ..down.0 }, up: up.0 }
}

/// Refuses the capacity of one direction; whether there was one.
fn refuse_capacity(r: &mut Reader<'_>, expected: &str) -> bool {
    r.refuse(&CAPACITY_KEYS, "found the capacity of one direction", expected)
}

/// A rate to go on with where a capacity is refused: that the one of both directions is missing as well
/// would say less.
fn stand_in(is_refused: bool) -> Option<Rate> {
    is_refused.then_some(Rate::from_bps(1_000))
}
