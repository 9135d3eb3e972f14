//! Somebody else's workload, controller and queue in every place where one appears: scenario, summary, report,
//! sweep, claims.

use std::fs;
use std::path::{Path, PathBuf};

use airlane_extension::registry;
use airlane_judge::claims::ClaimSet;
use airlane_judge::reproduce;
use airlane_judge::request::{ReproduceRequest, RunRequest, SweepRequest};
use airlane_judge::summary::{Summary, Verdict};
use airlane_sim::Common;
use tempfile::TempDir;

const SCENARIO: &str = "name = \"calls\"\ntitle = \"Calls\"\nduration_s = 10\nseeds = [1, 2]\n\
    [link]\nrate_bps = 2e6\nrtt_s = 0.04\nqueue = { kind = \"droptail\", limit_bdp = 2 }\n\
    [[scheme]]\nname = \"cubic\"\n[[scheme]]\nname = \"reno\"\ncontroller = \"reno\"\n\
    [[exchange]]\nname = \"near\"\n[[exchange]]\nname = \"large\"\nbytes = 200000\n";

fn scenario(folder: &TempDir, text: &str) -> PathBuf {
    let file = folder.path().join("calls.toml");
    fs::write(&file, text).unwrap();
    file
}

fn common(folder: &TempDir) -> Common<'static> {
    Common { out: folder.path().to_owned(), jobs: 2, ..Common::default() }
}

fn summary(folder: &TempDir) -> Summary {
    serde_json::from_slice(&fs::read(folder.path().join("summary.json")).unwrap()).unwrap()
}

#[test]
fn it_is_in_scenario_summary_and_report() {
    let dir = tempfile::tempdir().unwrap();
    let common = common(&dir);
    let scenario = scenario(&dir, SCENARIO);
    airlane_judge::run(&registry(), &RunRequest { common, scenario, set: Vec::new() }).unwrap();
    let summary = summary(&dir);
    let of = |case: &str, metric: &str| -> Vec<f64> {
        let rows = summary.rows.iter().filter(|r| r.case == case && r.metric == metric);
        rows.inspect(|r| assert_eq!(r.unit, "s")).map(|r| r.value).collect()
    };
    let (near, large) = (of("1/near", "response_s"), of("1/large", "response_s"));
    assert_eq!((near.len(), large.len()), (4, 4), "two schemes, two seeds");
    // A handshake and a response take two round trips, and 200 kB at 2 Mbit/s 0.8 s.
    assert!(near.iter().all(|s| *s > 0.08) && large.iter().all(|s| *s > 0.8), "{near:?} {large:?}");
    let page = fs::read_to_string(dir.path().join("report.html")).unwrap();
    assert!(page.contains("The caller near and the caller large share one link"));
}

/// Ten packets in flight on 40 ms are 2.7 Mbit/s, less than the link carries: a response of 20 kB takes two round trips
/// and not the time of Cubic's slow start. On a queue that serves the newest packet first, packets are overtaken.
#[test]
fn its_controller_and_its_queue_take_part() {
    let dir = tempfile::tempdir().unwrap();
    let text = SCENARIO.replace("controller = \"reno\"", "controller = \"fixed\"");
    let runs = |text: &str| {
        let request =
            RunRequest { common: common(&dir), scenario: scenario(&dir, text), set: vec![] };
        airlane_judge::run(&registry(), &request).unwrap();
        let of_scheme = |run: &&airlane_judge::summary::RunEntry| run.scheme == "reno";
        summary(&dir)
            .runs
            .iter()
            .filter(of_scheme)
            .map(|r| r.packet_hash.clone())
            .collect::<Vec<_>>()
    };
    let (reno, fixed) = (runs(SCENARIO), runs(&text));
    assert_ne!(reno, fixed);
    let newest_first = text.replace("\"droptail\"", "\"newest-first\"");
    assert_ne!(runs(&newest_first), fixed);
    let page = fs::read_to_string(dir.path().join("report.html")).unwrap();
    assert!(page.contains("newest-first, holds"), "the queue is named");
    let wrong = registry().scenarios().keys_as_markdown();
    assert!(
        wrong.contains("\"bbr3\", \"fixed\"") && wrong.contains("\"dualpi2\", \"newest-first\"")
    );
}

#[test]
fn its_keys_are_checked_like_all_others() {
    let message = |text: &str| {
        let read = airlane_scenario::Scenario::from_bytes(
            registry().scenarios(),
            text.as_bytes(),
            Path::new("c.toml"),
            &[],
        );
        read.unwrap_err().to_string()
    };
    let slip = message(&SCENARIO.replace("bytes = 200000", "byte = 200000"));
    assert!(slip.contains("exchange.1.byte: unknown key; did you mean `bytes`?"), "{slip}");
    let twice = message(&SCENARIO.replace("\"large\"", "\"near\""));
    assert!(twice.contains("found \"near\" twice"), "{twice}");
    let keys = registry().scenarios().keys_as_markdown();
    assert!(
        keys.contains("| `exchange.bytes` | whole number, 1 to 1073741824 | 20000 |"),
        "{keys}"
    );
}

#[test]
fn sweeps_show_it_and_tell_its_worlds_apart() {
    let dir = tempfile::tempdir().unwrap();
    let common = common(&dir);
    let scenario = scenario(&dir, SCENARIO);
    let grid = vec!["exchange.0.bytes=1000,50000".to_owned()];
    let request = SweepRequest { common, scenario, set: Vec::new(), grid, fresh: false };
    airlane_judge::sweep(&registry(), &request).unwrap();
    let summary = summary(&dir);
    let hashes: std::collections::BTreeSet<_> =
        summary.runs.iter().map(|r| r.packet_hash.clone()).collect();
    assert_eq!((summary.runs.len(), hashes.len()), (8, 8), "every world is another");
    let table = fs::read_to_string(dir.path().join("sweep.csv")).unwrap();
    assert!(table.contains("response_s"));
}

/// A claim about the slowest caller, and one about the mean of all.
const CLAIMS: &str = r#"
schema = 3
system = "x"
seed = 7
[scenario]
duration_s = 8
link = { rate_bps = 2e6, rtt_s = 0.04, queue = { kind = "droptail", limit_bdp = 2 } }
exchange = [{ name = "near" }, { name = "large", bytes = 100000 }]
[schemes.cubic]
[schemes.slow]
controller = "explicit"
rate_bps = 4e5

[[claim]]
id = "x.later"
source = "here"
statement = "Whoever sends at 0.4 Mbit/s answers later."
paper = { text = "no figure" }
unit = "s"
statistic = "Mean over draws."
rule_text = "above half a second"
rule = { kind = "above", of = "response_change_s", bound = 0.5 }
compare = ["slow", "cubic"]
mixes = "m"
beside = ["response_s", "response_s_of_baseline", "sum(response_s / response_s_of_baseline)"]
full = { pairs = 10, seeds = 1 }
quick = { pairs = 10, seeds = 1 }
"#;

#[test]
fn claims_are_judged_by_its_metrics_and_what_follows_from_them() {
    let dir = tempfile::tempdir().unwrap();
    let set = ClaimSet::from_text(&registry(), CLAIMS, Path::new("x.toml")).unwrap();
    let common = common(&dir);
    let request = ReproduceRequest {
        common,
        system: "x".to_owned(),
        quick: true,
        only: vec![],
        fresh: false,
        adopt: None,
        record: None,
    };
    reproduce(&[set], &request).unwrap();
    let summary = summary(&dir);
    let [claim] = summary.claims.as_slice() else { panic!("{:?}", summary.claims) };
    assert_eq!((claim.verdict, claim.n), (Verdict::Holds, 10), "{claim:?}");
    assert_eq!(claim.checks[0].unit, "s");
    let of = |metric: &str| -> (f64, String) {
        let of_all = |r: &&airlane_judge::summary::Row| r.case == "all" && r.metric == metric;
        let row = summary.rows.iter().find(of_all).unwrap_or_else(|| panic!("no {metric}"));
        (row.value, row.unit.clone())
    };
    let (slow, fast) = (of("response_s"), of("response_s_of_baseline"));
    assert!(slow.0 > 2.0 * fast.0 && slow.1 == "s", "{slow:?} {fast:?}");
    assert_eq!(of("sum(response_s / response_s_of_baseline)").1, "");
    let page = fs::read_to_string(dir.path().join("claims/x.later.html")).unwrap();
    assert!(page.contains("the caller near and the caller large"), "who uses the network");
    let unknown = CLAIMS.replace("\"response_s\", ", "\"answers\", ");
    let set = ClaimSet::from_text(&registry(), &unknown, Path::new("x.toml")).unwrap();
    let e = reproduce(&[set], &request).unwrap_err().to_string();
    assert!(e.contains("x.later.beside: \"answers\""), "{e}");
}
