//! One stream over several radios, in worlds.

use std::path::Path;

use airlane_scenario::Scenario;
use airlane_sim::Common;
use airlane_sim::plan::{Plan, RunKey};
use airlane_sim::workload::{ActorResult, Flow, RunResult};
use airlane_sim::world::RunOutput;

use crate::runs::run_one;

/// The results of the built-in scenario with these values, by scheme.
fn results(set: &[&str]) -> Vec<(String, RunResult)> {
    let set: Vec<String> = set.iter().map(|s| (*s).to_owned()).collect();
    let scenario =
        Scenario::from_file(airlane_lab::registry().scenarios(), Path::new("fbdt"), &set).unwrap();
    let plan = Plan::new(scenario, &Common::default()).unwrap();
    let name = |key: RunKey| plan.scenario.schemes[key.scheme].name.clone();
    plan.runs().map(|key| (name(key), run_one(&plan, key).result(&plan))).collect()
}

fn actor<'a>(result: &'a RunResult, name: &str) -> &'a ActorResult {
    result.actors.iter().find(|a| a.name == name).unwrap()
}

fn figure(result: &RunResult, name: &str, metric: &str) -> f64 {
    actor(result, name).value(metric).unwrap()
}

#[test]
fn the_built_in_radios_add_up() {
    let all = results(&["duration_s=7"]);
    let names: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["wifi", "5g", "blest", "linux", "fbdt"]);
    let goodput = |i: usize| figure(&all[i].1, "phone", "goodput_bps") / 1e6;
    let (wifi, cellular, blest, both) = (goodput(0), goodput(1), goodput(2), goodput(4));
    assert!((0.93 * 40.0..40.0).contains(&wifi), "{wifi} of 40 Mbit/s");
    // Of six seconds half a one in the dark and 1.5 at 10 Mbit/s leave 82 of 120.
    assert!((70.0..82.5).contains(&cellular), "{cellular} Mbit/s over 5G");
    assert!(both > 0.9 * (wifi + cellular) && both < 122.5, "{both} of {wifi} + {cellular} Mbit/s");
    assert!(blest < both, "{blest} Mbit/s with BLEST");
    let fbdt = &all[4].1;
    assert!(figure(fbdt, "phone", "redundant_share") < 0.02);
    let share = figure(fbdt, "phone.5g", "byte_share");
    assert!((cellular / (wifi + cellular) - share).abs() < 0.05, "5G brought {share}");
    assert_eq!(figure(&all[0].1, "phone.wifi", "byte_share"), 1.0);
    // No byte is on its way for longer than the memory at both ends takes to empty.
    let latency = figure(fbdt, "phone", "latency_ms");
    assert!((15.0..2.0 * 1.05e6 * 8.0 / 160e3).contains(&latency), "{latency} ms");
    assert!(figure(fbdt, "phone", "latency_p99_ms") >= latency);
    // What comes over one radio is in order; over two, bytes of a window's end wait for the others.
    assert_eq!(figure(&all[0].1, "phone", "delay_p99_ms"), 0.0);
    let delay = figure(fbdt, "phone", "delay_ms");
    assert!(delay > 0.0 && delay < latency, "{delay} ms");
    assert!(figure(fbdt, "phone", "delay_p99_ms") >= delay);
}

#[test]
fn a_tunnel_runs_alike_each_time_and_begins_and_ends_when_it_should() {
    let set = [
        "duration_s=2.9",
        "tunnel.0.start_s=0.5",
        "tunnel.0.skip_s=0.25",
        "tunnel.0.bytes=20000000",
    ];
    let (first, again) = (results(&set), results(&set));
    for ((name, a), (_, b)) in first.iter().zip(&again) {
        assert_eq!(a.packet_hash, b.packet_hash, "{name}");
    }
    // 20 MB take 1.1 s of 153 Mbit/s, of which the first quarter does not count.
    let goodput = figure(&first[4].1, "phone", "goodput_bps") / 1e6;
    assert!((120.0..157.0).contains(&goodput), "{goodput} Mbit/s");
    assert!(first.iter().all(|(_, r)| actor(r, "phone").failure.is_none()));
}

#[test]
fn parts_of_fbdt_are_left_out_one_or_several_and_as_the_paper_prints_it() {
    let goodput = |set: &[&str]| {
        let all = results(&[&["duration_s=4"], set].concat());
        let (name, fbdt) = all.last().unwrap();
        assert_eq!(name, "fbdt");
        (figure(fbdt, "phone", "goodput_bps") / 1e6, figure(fbdt, "phone", "redundant_share"))
    };
    let (all, _) = goodput(&[]);
    let (bare, again) =
        goodput(&["scheme.4.tunnel_without=[\"parts\", \"backward\", \"redundancy\"]"]);
    assert_eq!(again, 0.0);
    assert!(bare < 0.95 * all, "{bare} of {all} Mbit/s");
    let one = goodput(&["scheme.4.tunnel_without=redundancy"]);
    assert_eq!((one.1, one), (0.0, goodput(&["scheme.4.tunnel_without=[\"redundancy\"]"])));
    let (published, _) = goodput(&["scheme.4.tunnel_scheduler=fbdt-paper"]);
    assert!(published > 10.0 && published < all, "{published} of {all} Mbit/s");
}

#[test]
fn unknown_parts_and_parts_that_are_named_twice_are_refused() {
    let refused = |set: &str| {
        let scenarios = airlane_lab::registry().scenarios();
        let set = [set.to_owned()];
        Scenario::from_file(scenarios, Path::new("fbdt"), &set).unwrap_err().to_string()
    };
    let unknown = refused("scheme.4.tunnel_without=[\"parts\", \"pieces\"]");
    assert!(unknown.contains("tunnel_without") && unknown.contains("\"estimates\""), "{unknown}");
    let twice = refused("scheme.4.tunnel_without=[\"parts\", \"parts\"]");
    assert!(twice.contains("\"parts\" twice"), "{twice}");
}

#[test]
fn an_access_that_no_tunnel_is_on_is_refused() {
    let set = ["scheme.0.tunnel_only=wired".to_owned()];
    let scenario =
        Scenario::from_file(airlane_lab::registry().scenarios(), Path::new("fbdt"), &set).unwrap();
    let error = Plan::new(scenario, &Common::default()).unwrap_err().to_string();
    assert!(error.contains("tunnel_only"), "{error}");
    assert!(error.contains("\"wired\"") && error.contains("wifi, 5g"), "{error}");
}

/// A run of FBDT over two radios in a scene of this text, under a scheme with these keys.
fn two_ways(network: &str, controller: &str) -> (Plan, RunOutput) {
    let text = format!(
        "duration_s = 40\n{network}[[scheme]]\nname = \"fbdt\"\ncontroller = \"{controller}\"\n\
         [[tunnel]]\nname = \"phone\"\nat = [\"one\", \"two\"]\nskip_s = 10\n"
    );
    let scenario = Scenario::from_bytes(
        airlane_lab::registry().scenarios(),
        text.as_bytes(),
        Path::new("s.toml"),
        &[],
    )
    .unwrap();
    let plan = Plan::new(scenario, &Common::default()).unwrap();
    let output = run_one(&plan, plan.runs().next().unwrap());
    (plan, output)
}

/// The mean over samples of the window in use over the round trip, of each radio, in bits/s.
fn window_rates(output: &RunOutput) -> Vec<f64> {
    let mean = |flow: &Flow<'_>| {
        let counted = flow.samples.iter().filter(|s| s.at.as_secs_f64() >= 10.0);
        let rates: Vec<f64> = counted
            .filter_map(|s| Some((s.sent_bytes - s.acked_bytes - s.lost_bytes) as f64 / s.rtt_s?))
            .collect();
        8.0 * rates.iter().sum::<f64>() / rates.len() as f64
    };
    output.flows().iter().map(mean).collect()
}

/// Equations 1 and 2 hold for radios of these rates, in bits/s, and delays, in seconds.
fn share_windows_and_add_up(rates: [f64; 2], delays: [f64; 2]) {
    let access = |name: &str, i: usize| {
        format!(
            "[[access]]\nname = \"{name}\"\ndown = {{ rate_bps = {}, delay_s = {} }}\n",
            rates[i], delays[i]
        )
    };
    let network = format!("[core]\nrtt_s = 0.01\n{}{}", access("one", 0), access("two", 1));
    let (plan, output) = two_ways(&network, "cubic");
    let of = window_rates(&output);
    let result = output.result(&plan);
    // Equation 1: of N packets one way has N W1 RTT2 / (W1 RTT2 + W2 RTT1).
    let (model, share) = (of[0] / (of[0] + of[1]), figure(&result, "phone.one", "byte_share"));
    assert!((model - share).abs() < 0.02, "{share} for {model}");
    // Equation 2: the rates W / RTT of both add up; packets carry headers too.
    let (sum, goodput) = (of[0] + of[1], figure(&result, "phone", "goodput_bps"));
    assert!((0.9..1.02).contains(&(goodput / sum)), "{goodput} for {sum}");
}

#[test]
fn radios_that_are_alike_share_windows_and_add_up() {
    share_windows_and_add_up([40e6, 40e6], [0.01, 0.01]);
}

#[test]
fn radios_of_unequal_rates_share_windows_and_add_up() {
    share_windows_and_add_up([30e6, 90e6], [0.01, 0.01]);
}

#[test]
fn a_fast_radio_with_little_delay_shares_windows_and_adds_up() {
    share_windows_and_add_up([60e6, 20e6], [0.005, 0.04]);
}

#[test]
fn a_fast_radio_with_much_delay_shares_windows_and_adds_up() {
    share_windows_and_add_up([20e6, 60e6], [0.005, 0.04]);
}

#[test]
fn coupled_radios_behind_one_bottleneck_take_what_one_connection_would() {
    let network = "[core]\nrtt_s = 0.03\n\
        [[access]]\nname = \"line\"\ndown = { rate_bps = 20e6 }\n\
        [[access]]\nname = \"one\"\nbehind = \"line\"\ndown = { rate_bps = 100e6, delay_s = 0.002 }\n\
        [[access]]\nname = \"two\"\nbehind = \"line\"\ndown = { rate_bps = 100e6, delay_s = 0.002 }\n\
        [[bulk]]\nat = \"one\"\ncontroller = \"reno\"\n";
    let share = |controller| {
        let (plan, output) = two_ways(network, controller);
        figure(&output.result(&plan), "phone", "goodput_bps") / 20e6
    };
    let (coupled, alone) = (share("coupled"), share("reno"));
    assert!((0.4..0.56).contains(&coupled), "{coupled}");
    assert!((0.58..0.72).contains(&alone), "not coupled: {alone}");
}
