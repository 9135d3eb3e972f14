//! Transfers that are no QUIC: oracles, Sprout and ABC on one cell (Octopus, section 2).

use std::path::Path;

use airlane_lab::plan::{Plan, RunKey};
use airlane_lab::request::Common;
use airlane_lab::scenario::Scenario;
use airlane_lab::workload::RunResult;
use airlane_lab::workloads::bulk;
use airlane_lab::world::RunOutput;

use crate::runs::run_one;

/// The built-in scenario with changes.
fn plan(set: &[&str]) -> Plan {
    let set: Vec<String> = set.iter().map(|s| (*s).to_owned()).collect();
    let scenario = Scenario::from_file(Path::new("motivation"), &set).unwrap();
    Plan::new(scenario, &Common::default()).unwrap()
}

fn output(plan: &Plan, scheme: &str) -> RunOutput {
    let scheme = plan.scenario.schemes.iter().position(|s| s.name == scheme).unwrap();
    run_one(plan, RunKey { case: 0, scheme, seed: plan.scenario.seeds[0] })
}

fn result(plan: &Plan, scheme: &str) -> RunResult {
    output(plan, scheme).result(plan)
}

fn refused(set: &[&str]) -> String {
    let set: Vec<String> = set.iter().map(|s| (*s).to_owned()).collect();
    match Scenario::from_file(Path::new("motivation"), &set) {
        Err(e) => e.to_string(),
        Ok(scenario) => Plan::new(scenario, &Common::default()).unwrap_err().to_string(),
    }
}

/// A trace in Mahimahi's format whose opportunities come in bursts, with outages, and which is shorter
/// than the runs: they wrap around.
fn mahimahi(folder: &Path) -> String {
    let mut text = String::new();
    for ms in 1..=3_700_u64 {
        let opportunities = match (ms / 400) % 4 {
            0 => 1,
            1 if ms % 7 == 0 => 9,
            2 => u64::from(ms % 20 == 0),
            3 if ms % 3 == 0 => 2,
            _ => 0,
        };
        (0..opportunities).for_each(|_| text.push_str(&format!("{ms}\n")));
    }
    text.push_str("3700\n");
    let path = folder.join("bursts.txt");
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

#[test]
fn an_oracle_fills_the_link_and_leaves_no_queue_and_a_stale_one_leaves_one() {
    let folder = tempfile::tempdir().unwrap();
    let trace = mahimahi(folder.path());
    let recorded = format!("access.0.down.trace=\"{trace}\"");
    // Of a recorded trace in bursts, at offsets that fall between opportunities and wrap around; of a
    // made-up one, which has no opportunities but rates; and of packets that are no opportunity each.
    for seed in [11, 12] {
        let seeds = format!("seeds=[{seed}]");
        let made = format!("cases.seed={seed}");
        for set in [
            vec![seeds.as_str(), "duration_s=20", "access.0.down.generator", recorded.as_str()],
            vec![seeds.as_str(), "duration_s=20", made.as_str()],
            vec![seeds.as_str(), "duration_s=20", made.as_str(), "transport.payload_bytes=1350"],
        ] {
            // A key alone takes it away.
            let plan = changed(&set);
            let run = result(&plan, "oracle");
            let used = run.value("link_utilisation").unwrap();
            let most = run.value("queue_max_ms").unwrap();
            assert!((0.995..=1.0).contains(&used), "{set:?}: {used}");
            assert!(most < 5.2, "{set:?}: {most} ms");
            assert_eq!(run.value("drops_overflow"), Some(0.0));
            let stale = result(&plan, "oracle-stale");
            let (tail, own) = (stale.value("queue_p999_ms"), run.value("queue_p999_ms"));
            assert!(tail.unwrap() > 3.0 * own.unwrap(), "{set:?}: {tail:?} over {own:?}");
        }
    }
}

/// The built-in scenario with changes, of which a name without a value takes a key of its access away.
fn changed(set: &[&str]) -> Plan {
    let mut text = include_str!("../../../../scenarios/motivation.toml").to_owned();
    let kept: Vec<String> =
        set.iter().filter(|s| s.contains('=')).map(|s| (*s).to_owned()).collect();
    if kept.len() < set.len() {
        text = text.replace("generator = \"lte\", ", "");
    }
    let scenario = Scenario::from_bytes(text.as_bytes(), Path::new("m.toml"), &kept).unwrap();
    Plan::new(scenario, &Common::default()).unwrap()
}

#[test]
fn the_same_seed_gives_the_same_packets() {
    let plan = plan(&["duration_s=5"]);
    for scheme in ["oracle", "oracle-stale", "sprout", "abc"] {
        let (once, again) = (output(&plan, scheme), output(&plan, scheme));
        assert_eq!(once.packet_hash, again.packet_hash, "{scheme}");
        let transfer = &bulk::Output::of(&once)[0];
        assert!(transfer.failure.is_none() && transfer.bytes > 0, "{scheme}");
    }
}

#[test]
fn abc_fills_a_constant_link_with_little_waiting() {
    let set = ["duration_s=30", "access.0.down.rate_bps=12e6"];
    let plan = constant(&set);
    let run = result(&plan, "abc");
    let value = |metric: &str| run.value(metric).unwrap();
    let (used, wait, tail) =
        (value("link_utilisation"), value("queue_p50_ms"), value("queue_p99_ms"));
    // The tail is of the first second, in which the window doubles.
    assert!(used > 0.96 && wait < 10.0 && tail < 60.0, "{used} {wait} {tail}");
    assert_eq!(run.value("drops_overflow"), Some(0.0));
}

#[test]
fn abc_follows_steps_up_and_down() {
    let set = ["duration_s=30", "access.0.down.steps=[[0, 12e6], [10, 3e6], [20, 12e6]]"];
    let plan = constant(&set);
    let output = output(&plan, "abc");
    let rows = &bulk::Output::of(&output)[0].samples;
    let rate = |from: f64, to: f64| {
        let at = |t: f64| rows.iter().find(|s| s.at.as_secs_f64() >= t).unwrap();
        let (a, b) = (at(from), at(to));
        (b.acked_bytes - a.acked_bytes) as f64 * 8e-6 / (b.at - a.at).as_secs_f64()
    };
    assert!((10.5..12.0).contains(&rate(5.0, 9.5)), "{}", rate(5.0, 9.5));
    assert!((2.5..3.01).contains(&rate(11.0, 19.5)), "{}", rate(11.0, 19.5));
    assert!((10.5..12.0).contains(&rate(21.0, 29.0)), "{}", rate(21.0, 29.0));
    // A second after the step down what had come too much is gone.
    let way = output.ways.iter().find(|way| way.direction == airlane_net::Direction::Down).unwrap();
    let late = way.rows.iter().filter(|row| (12.0..20.0).contains(&row.at.as_secs_f64()));
    let most = late.map(|row| row.queue_bytes).max().unwrap();
    assert!(most < 25_000, "{most} bytes: more than 60 ms");
}

fn constant(set: &[&str]) -> Plan {
    let set: Vec<&str> = set.iter().copied().chain(["access.0.down.generator"]).collect();
    changed(&set)
}

#[test]
fn what_a_transport_cannot_carry_is_refused() {
    let e = refused(&["bulk.0.bytes=1000000"]);
    assert!(e.contains("not sent again") && e.contains("bulk_transport"), "{e}");
    let e = refused(&["bulk.0.count=2"]);
    assert!(e.contains("2 use the network"), "{e}");
    let e = refused(&["access.0.down.jitter_s=0.01"]);
    assert!(e.contains("without loss and jitter"), "{e}");
    let e = refused(&["bulk.0.controller=\"abc\""]);
    assert!(e.contains("expected bulk_transport = \"datagrams\""), "{e}");
    let e = refused(&["scheme.2.bulk_transport=\"pigeon\""]);
    assert!(e.contains("bulk_transport"), "{e}");
}
