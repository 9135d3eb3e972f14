//! Worlds on networks of several accesses: chains, hosts with two radios, who measures what.

use std::path::Path;
use std::time::Duration;

use airlane_lab::workloads::bulk;
use airlane_net::Direction::{self, Down};
use airlane_scenario::Scenario;
use airlane_sim::Common;
use airlane_sim::plan::Plan;
use airlane_sim::world::{DirectionOutput, FlowSample, LinkSampleRow, RunOutput};

use crate::runs::{plan, run_one};

/// Bytes of bodies per IP byte of full packets.
const BODY: f64 = 0.96;

fn run(plan: &Plan) -> RunOutput {
    run_one(plan, plan.runs().next().unwrap())
}

fn built_in(name: &str, set: &[&str]) -> (Plan, RunOutput) {
    let set: Vec<String> = set.iter().map(|s| (*s).to_owned()).collect();
    let scenario =
        Scenario::from_file(airlane_lab::registry().scenarios(), Path::new(name), &set).unwrap();
    let plan = Plan::new(scenario, &Common::default()).unwrap();
    let output = run(&plan);
    (plan, output)
}

fn way<'a>(output: &'a RunOutput, access: &str, direction: Direction) -> &'a DirectionOutput {
    output.ways.iter().find(|w| w.access == access && w.direction == direction).unwrap()
}

/// Mbit/s acknowledged between two times in seconds.
fn rate(samples: &[FlowSample], from: f64, to: f64) -> f64 {
    let at = |t: f64| samples.iter().find(|s| s.at.as_secs_f64() >= t).unwrap();
    let (a, b) = (at(from), at(to));
    (b.acked_bytes - a.acked_bytes) as f64 * 8e-6 / (b.at - a.at).as_secs_f64()
}

/// Mean of the bytes waiting between two times in seconds.
fn queue(rows: &[LinkSampleRow], from: f64, to: f64) -> f64 {
    let within = |r: &&LinkSampleRow| (from..to).contains(&r.at.as_secs_f64());
    let bytes: Vec<f64> = rows.iter().filter(within).map(|r| r.queue_bytes as f64).collect();
    bytes.iter().sum::<f64>() / bytes.len() as f64
}

#[test]
fn the_slower_link_of_a_chain_is_the_bottleneck_and_holds_the_queue() {
    let (_, output) = built_in("chain", &["duration_s=36"]);
    let samples = &bulk::Output::of(&output)[0].samples;
    let (before, after) = (rate(samples, 6.0, 19.5), rate(samples, 24.0, 35.5));
    assert!((16.0 * BODY..=16.0).contains(&before), "{before:.2} Mbit/s behind 16");
    assert!((8.0 * BODY..=8.0).contains(&after), "{after:.2} Mbit/s behind 8");
    let dsl = &way(&output, "dsl", Down).rows;
    let home = &way(&output, "home", Down).rows;
    let waits = |from, to| (queue(dsl, from, to), queue(home, from, to));
    let (line, house) = waits(6.0, 19.5);
    assert!(line > 10.0 * house, "at first in front of the line: {line:.0} and {house:.0} bytes");
    let (line, house) = waits(24.0, 35.5);
    assert!(house > 10.0 * line, "then in front of the house: {house:.0} and {line:.0} bytes");
    // What leaves the line enters the house.
    let (line, house) = (way(&output, "dsl", Down), way(&output, "home", Down));
    let inside = line.counters.polled.0 - house.counters.pushed.0;
    assert!(inside <= 60, "{inside} packets between the two");
}

#[test]
fn connections_over_two_radios_add_up() {
    let (plan, output) = built_in("two-radios", &["duration_s=20"]);
    let phone = &bulk::Output::of(&output)[0];
    let names: Vec<&str> = phone.parts.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(names, ["phone.wifi", "phone.lte"]);
    for (part, mbps) in phone.parts.iter().zip([12.0, 6.0]) {
        let got = rate(&part.samples, 5.0, 19.5);
        assert!((mbps * BODY..=mbps).contains(&got), "{}: {got:.2} of {mbps} Mbit/s", part.name);
    }
    let both = rate(&phone.samples, 5.0, 19.5);
    assert!((18.0 * BODY..=18.0).contains(&both), "{both:.2} of 18 Mbit/s");
    assert_eq!(phone.bytes, phone.parts.iter().map(|p| p.bytes).sum::<u64>());
    assert_eq!(phone.failure, None);
    for access in ["wifi", "lte"] {
        let used = way(&output, access, Down).report.utilisation;
        assert!(used > 0.9, "{access}: {used:.3}");
    }
    // Every one of them has its rows.
    let result = output.result(&plan);
    let goodput = |name: &str| {
        let actor = result.actors.iter().find(|a| a.name == name).unwrap();
        actor.value("goodput_bps").unwrap()
    };
    let sum = goodput("phone.wifi") + goodput("phone.lte");
    assert!((goodput("phone") / sum - 1.0).abs() < 1e-9);
    assert_eq!(result.actors.iter().filter(|a| !a.part).count(), 1, "one session");
    let ways: Vec<&str> = result.ways.iter().map(|w| w.name.as_str()).collect();
    assert_eq!(ways, ["wifi.down", "wifi.up", "lte.down", "lte.up"]);
    for way in &result.ways {
        assert!(way.figures.value("link_utilisation").is_some(), "{}", way.name);
        assert!(way.figures.value("drops_overflow").is_some(), "{}", way.name);
    }
    assert_eq!(result.value("link_utilisation"), None, "there is no only link");
}

#[test]
fn link_is_short_for_an_access_to_the_last_packet() {
    let rest = "[host]\nsend_jitter_packets = 0\n[[scheme]]\nname = \"a\"\n[[bulk]]\n[[web]]\n\
                load_bps = 1e6\nservers = 3\n";
    let hash = |of_link: &str, name: &str| {
        let short =
            format!("duration_s = 5\n[link]\nrate_bps = 5e6\nrtt_s = 0.04\n{of_link}{rest}");
        let long = format!(
            "duration_s = 5\n[core]\nrtt_s = 0.04\n[[access]]\nname = \"{name}\"\n[access.down]\n\
             rate_bps = 5e6\n{of_link}{rest}"
        );
        [short, long].map(|text| run(&plan(&text, &[])).packet_hash)
    };
    let [short, long] = hash("", "link");
    assert_eq!(short, long);
    assert_eq!(hash("", "home"), [short, short]);
    // What an access draws it draws from a seed of its name, be that any.
    let random = "jitter_s = 0.001\nloss = { p = 0.001 }\nqueue = { kind = \"pie\" }\n";
    let [short, long] = hash(random, "link");
    assert_ne!(short, long);
    assert_ne!(hash(random, "home")[1], long);
}

#[test]
fn a_queue_of_a_scheme_is_that_of_the_access_that_it_names() {
    let text = "duration_s = 10\n[[access]]\nname = \"outer\"\ndown = { rate_bps = 4e6 }\n\
                [[access]]\nname = \"inner\"\nbehind = \"outer\"\ndown = { rate_bps = 40e6 }\n\
                [[scheme]]\nname = \"a\"\nqueue = { access = \"outer\", limit_packets = 400 }\n\
                [[bulk]]\nat = \"inner\"\n";
    let deep = run(&plan(text, &[]));
    let plain = run(&plan(text, &["scheme.0.queue.access=inner"]));
    let held = |output: &RunOutput| {
        let outer = way(output, "outer", Down);
        outer.rows.iter().map(|r| r.queue_packets).max().unwrap()
    };
    assert!(held(&deep) > 200, "{} packets in a queue of 400", held(&deep));
    assert!(held(&plain) < 40, "{} packets in a queue of 1.5 BDP", held(&plain));
}

#[test]
fn ways_with_traces_draw_traces_and_offsets_of_their_own() {
    let text = "duration_s = 3\n[[access]]\nname = \"a\"\ndown = { generator = \"lte\" }\n\
                up = { generator = \"lte\" }\n\
                [[access]]\nname = \"b\"\ndown = { generator = \"lte\" }\n\
                [[scheme]]\nname = \"x\"\n[[bulk]]\nat = [\"a\", \"b\"]\n";
    let plan = plan(text, &[]);
    let traces: Vec<_> = plan.cases[0].traces.iter().collect();
    let ways: Vec<_> = traces.iter().map(|(way, _)| **way).collect();
    assert_eq!(ways, [(0, Down), (0, Direction::Up), (1, Down)]);
    assert!(traces[0].1 != traces[1].1 && traces[0].1 != traces[2].1);
    let output = run(&plan);
    assert!(bulk::Output::of(&output)[0].parts.iter().all(|p| p.bytes > 0 && p.failure.is_none()));
}

#[test]
fn a_sender_with_a_long_way_has_the_delays_of_every_access_on_it() {
    let text = "duration_s = 4\n[core]\nrtt_s = 0.02\n[[access]]\nname = \"outer\"\n\
                down = { rate_bps = 100e6, delay_s = 0.01 }\nup = { delay_s = 0.02 }\n\
                [[access]]\nname = \"inner\"\nbehind = \"outer\"\n\
                down = { rate_bps = 100e6, delay_s = 0.03 }\n\
                [[scheme]]\nname = \"a\"\ncontroller = \"explicit\"\nrate_bps = 1e6\n\
                [[bulk]]\nat = \"inner\"\nrtt_s = 0.1\n";
    let plan = plan(text, &["host.send_jitter_packets=0"]);
    let output = run(&plan);
    let rtt = bulk::Output::of(&output)[0].samples.last().unwrap().rtt_s.unwrap();
    let least = 0.1 + 0.01 + 0.02 + 0.03;
    // Acknowledgements wait for a second packet.
    assert!((least..least + 0.02).contains(&rtt), "{rtt:.4} s");
    assert_eq!(plan.scenario.network.rtt_at(1), Duration::from_millis(20 + 10 + 20 + 30));
}
