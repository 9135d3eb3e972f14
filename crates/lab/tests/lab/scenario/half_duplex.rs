//! Half-duplex accesses: what they say, and what is said about bad ones.

use std::time::Duration;

use airlane_base::Rate;
use airlane_net::Direction::{Down, Up};
use airlane_scenario::*;

use super::{message, read, with_set};

const AIR: &str = r#"
[[access]]
name = "line"
down = { rate_bps = 100e6 }

[[access]]
name = "air"
kind = "half_duplex"
behind = "line"
rate_bps = 40e6
per_host = true
down = { delay_s = 0.002, queue = { kind = "pie" } }
up = { delay_s = 0.003, loss = { p = 0.01 }, jitter_s = 0.001 }

[[scheme]]
name = "cubic"

[[bulk]]
at = "air"
"#;

#[test]
fn a_half_duplex_access_has_one_capacity_and_two_ways() {
    let s = read(AIR).unwrap();
    let air = &s.network.accesses[1];
    assert!(air.is_half_duplex() && !air.is_air() && !s.network.accesses[0].is_half_duplex());
    assert!(matches!(air.kind, AccessKind::HalfDuplex { per_host: true, .. }));
    assert_eq!(air.behind, Some(0));
    assert_eq!(air.way(Down).capacity, Capacity::Constant(Rate::from_mbps(40.0)));
    assert_eq!(air.way(Up).capacity, Capacity::Shared);
    assert_eq!(air.way(Up).loss, Some(Loss::Bernoulli { p: 0.01 }));
    assert_eq!(air.way(Up).jitter, Duration::from_millis(1));
    // Neither direction is the way back of the other: both hold as much.
    assert_eq!(air.way(Down).queue.limit, QueueLimit::Bdp(1.5));
    assert_eq!(air.way(Up).queue.limit, QueueLimit::Bdp(1.5));
    assert_eq!(s.network.rtt_at(1), Duration::from_millis(20 + 2 + 3));
    let alone = AIR.replace("behind = \"line\"\n", "").replacen(
        "[[access]]\nname = \"line\"\ndown = { rate_bps = 100e6 }\n",
        "",
        1,
    );
    let alone = read(&alone).unwrap();
    assert!(alone.network.bottleneck().is_none(), "neither way alone is the bottleneck");
}

#[test]
fn its_capacity_is_whatever_one_of_a_link_may_be() {
    let set = |set: &str| with_set(AIR, &[set]).unwrap().network.accesses[1].clone();
    let steps = set("access.1.steps=[[0, 1e6], [2, 2e6]]");
    assert!(matches!(&steps.way(Down).capacity, Capacity::Steps(steps) if steps.len() == 2));
    let trace = set("access.1.trace=a.mahi");
    let Capacity::Trace(source) = &trace.way(Down).capacity else { panic!("{trace:?}") };
    assert_eq!(source.from, TraceFrom::File("a.mahi".into()));
    assert_eq!(trace.way(Up).capacity, Capacity::Shared);
}

#[test]
fn what_no_half_duplex_access_can_be_has_a_message() {
    let cases = [
        (
            "rate_bps = 40e6\n",
            "",
            "a/s.toml:6: access.1.rate_bps: missing; expected exactly one of rate_bps, trace",
        ),
        (
            "down = { delay_s",
            "down = { rate_bps = 20e6, delay_s",
            "a/s.toml:12: access.1.down.rate_bps: found the capacity of one direction; expected one \
             for both directions, beside `kind`: a half-duplex link has a single capacity",
        ),
        (
            "up = { delay_s",
            "up = { trace_scale = 2, delay_s",
            "a/s.toml:13: access.1.up.trace_scale: found the capacity of one direction",
        ),
        ("rate_bps = 40e6", "rate_bps = 40e6\ntrace = \"x\"", "access.1.trace: found 2 capacities"),
        ("per_host = true", "per_host = 1", "access.1.per_host: found 1; expected true or false"),
        ("per_host = true", "per_hots = true", "access.1.per_hots: unknown key; did you mean"),
        ("kind = \"half_duplex\"", "kind = \"halfduplex\"", "did you mean \"half_duplex\"?"),
        (
            "kind = \"half_duplex\"",
            "kind = \"cell\"",
            "a/s.toml:10: access.1.rate_bps: found on an access of kind \"cell\"; expected a \
             capacity in `down` and in `up`, or kind = \"half_duplex\"",
        ),
        (
            "down = { rate_bps = 100e6 }\n",
            "down = { rate_bps = 100e6 }\nper_host = true\n",
            "access.0.per_host: found on an access of kind \"link\"; expected it on one of kind",
        ),
        ("behind = \"line\"", "behind = \"air\"", "found a circle: air behind air"),
    ];
    // Those who leave the one capacity out and give one of a direction hear of that.
    let moved = AIR
        .replace("rate_bps = 40e6\n", "")
        .replace("down = { delay_s", "down = { rate_bps = 1e6, delay_s");
    let moved = message(&moved);
    assert!(moved.contains("access.1.down.rate_bps: found the capacity of one"), "{moved}");
    for (from, to, expected) in cases {
        assert!(AIR.contains(from), "{from}");
        let message = message(&AIR.replacen(from, to, 1));
        assert!(message.contains(expected), "{to}: {message}");
    }
}
