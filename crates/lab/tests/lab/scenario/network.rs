//! Accesses: which is behind which, who is on which, and what `[link]` is short for.

use std::time::Duration;

use airlane_base::Rate;
use airlane_net::Direction::{Down, Up};
use airlane_scenario::*;

use airlane_lab::workloads::bulk::Transfers;
use airlane_lab::workloads::web::WebTraffic;

use super::{GOOD, message, read, viewers, with_set};

const CHAIN: &str = r#"
[core]
rtt_s = 0.03

[[access]]
name = "home"
behind = "dsl"
down = { rate_bps = 40e6, delay_s = 0.002, jitter_s = 0.001 }

[[access]]
name = "dsl"
kind = "link"
down = { rate_bps = 16e6, delay_s = 0.01, queue = { kind = "pie" }, loss = { p = 0.01 } }
up = { rate_bps = 2e6, delay_s = 0.004 }

[[scheme]]
name = "cubic"

[[scheme]]
name = "deep"
queue = { access = "dsl", limit_bdp = 8 }

[[bulk]]
at = ["home", "dsl"]

[[web]]
load_bps = 1e6
at = "dsl"

[[viewer]]
at = "home"
"#;

#[test]
fn accesses_say_what_they_carry_and_what_they_are_behind() {
    let s = read(CHAIN).unwrap();
    let [home, dsl] = s.network.accesses.as_slice() else { panic!("{:?}", s.network) };
    assert_eq!((home.name.as_str(), home.behind), ("home", Some(1)));
    assert_eq!((dsl.name.as_str(), dsl.behind), ("dsl", None));
    assert_eq!(dsl.way(Down).capacity, Capacity::Constant(Rate::from_mbps(16.0)));
    assert_eq!(dsl.way(Down).loss, Some(Loss::Bernoulli { p: 0.01 }));
    assert_eq!(dsl.way(Up).capacity, Capacity::Constant(Rate::from_mbps(2.0)));
    assert_eq!(home.way(Down).jitter, Duration::from_millis(1));
    // What is not said is that of `[link]`.
    let link = read(GOOD).unwrap();
    assert_eq!(home.way(Up), link.network.accesses[0].way(Up));
    // The delays of a chain add up.
    assert_eq!(s.network.rtt_at(1), Duration::from_millis(30 + 10 + 4));
    assert_eq!(s.network.rtt_at(0), Duration::from_millis(30 + 10 + 4 + 2));
    assert_eq!(
        (&Transfers::of(&s)[0].at, WebTraffic::of(&s)[0].at, viewers(&s).viewers[0].at),
        (&vec![0, 1], 1, 0)
    );
    let queue = s.schemes[1].queue.as_ref().unwrap();
    assert_eq!((queue.access, queue.queue.limit), (1, QueueLimit::Bdp(8.0)));
    assert!(s.network.bottleneck().is_none(), "with two accesses there is no only one");
}

#[test]
fn link_is_short_for_one_access_of_that_name() {
    let short = "[link]\nrate_bps = 5e6\nrtt_s = 0.04\njitter_s = 0.001\nuplink_rate_bps = 1e6\n";
    let long = "[core]\nrtt_s = 0.04\n[[access]]\nname = \"link\"\nup = { rate_bps = 1e6 }\n\
                down = { rate_bps = 5e6, jitter_s = 0.001 }\n";
    let rest = "[[scheme]]\nname = \"a\"\n[[bulk]]\n";
    let network = |text: &str| read(&format!("{text}{rest}")).unwrap().network;
    let mut of_long = network(long);
    of_long.accesses[0].is_short_form = true;
    assert_eq!(network(short), of_long);
    // Who is on the only access need not say so, and may.
    assert_eq!(Transfers::of(&read(&format!("{long}{rest}at = \"link\"")).unwrap())[0].at, [0]);
}

#[test]
fn a_value_of_an_access_is_set_by_its_number() {
    let s = with_set(CHAIN, &["access.1.down.steps=[[0, 1e6], [2, 2e6]]"]).unwrap();
    assert!(matches!(s.network.accesses[1].way(Down).capacity, Capacity::Steps(_)));
}

#[test]
fn what_no_network_can_be_has_a_message() {
    let cases = [
        ("[core]", "[link]\nrate_bps = 1e6\n[core]", "a/s.toml:2: link: found beside [[access]]"),
        ("behind = \"dsl\"", "behind = \"dsk\"", "a/s.toml:7: access.0.behind: found no access"),
        ("behind = \"dsl\"", "behind = \"dsk\"", "did you mean \"dsl\"?"),
        ("behind = \"dsl\"", "behind = \"home\"", "found a circle: home behind home"),
        ("kind = \"link\"", "behind = \"home\"", "7: access.0.behind: found a circle: home behind"),
        ("\"dsl\"\nkind", "\"home\"\nkind", "access: found \"home\" twice; expected distinct"),
        ("kind = \"link\"", "kind = \"lnik\"", "access.1.kind: found the text \"lnik\""),
        ("rate_bps = 16e6, ", "", "access.1.down.rate_bps: missing; expected exactly one of"),
        ("name = \"home\"\n", "", "access.0.name: missing"),
        ("at = [\"home\", \"dsl\"]", "", "bulk.0.at: missing; expected one of \"home\", \"dsl\""),
        ("at = [\"home\", \"dsl\"]", "at = []", "bulk.0.at: found no access; expected one of"),
        ("at = [\"home\", \"dsl\"]", "at = [1]", "bulk.0.at: found 1; expected a text or a list"),
        ("[\"home\", \"dsl\"]", "[\"dsl\", \"dsl\"]", "bulk.0.at: found \"dsl\" twice"),
        (
            "[\"home\", \"dsl\"]",
            "\"hmoe\"",
            "found no access \"hmoe\"; expected one of \"home\", \"",
        ),
        ("[\"home\", \"dsl\"]", "[\"home\", \"dsl\"]\nbytes = 9", "bytes: found beside several"),
        ("at = \"home\"", "at = [\"home\", \"dsl\"]", "viewer.0.at: found a list of 2; expected"),
        ("access = \"dsl\", ", "", "scheme.1.queue.access: missing; expected one of"),
        ("access = \"dsl\"", "access = \"x\"", "scheme.1.queue.access: found no access \"x\""),
    ];
    for (from, to, expected) in cases {
        assert!(CHAIN.contains(from), "{from}");
        let message = message(&CHAIN.replacen(from, to, 1));
        assert!(message.contains(expected), "{to}: {message}");
    }
    let core = message(&format!("{GOOD}[core]\nrtt_s = 1\n"));
    assert!(core.contains("core: found without [[access]]; expected `link.rtt_s`"), "{core}");
    let none = message("access = []\n[[scheme]]\nname = \"a\"\n[[bulk]]\n");
    assert!(none.contains("access: found no access; expected at least one"), "{none}");
}
