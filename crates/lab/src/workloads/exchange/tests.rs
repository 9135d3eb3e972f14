//! The workload in every place where one appears: scenario, summary, report, sweep, claims.

use std::fs;
use std::path::{Path, PathBuf};

use airlane_judge::claims::ClaimSet;
use airlane_judge::reproduce::reproduce_sets;
use airlane_judge::request::{ReproduceRequest, RunRequest, SweepRequest};
use airlane_judge::summary::{Summary, Verdict};
use airlane_sim::Common;

const SCENARIO: &str = "name = \"calls\"\ntitle = \"Calls\"\nduration_s = 10\nseeds = [1, 2]\n\
    [link]\nrate_bps = 2e6\nrtt_s = 0.04\nqueue = { kind = \"droptail\", limit_bdp = 2 }\n\
    [[scheme]]\nname = \"cubic\"\n[[scheme]]\nname = \"reno\"\ncontroller = \"reno\"\n\
    [[exchange]]\nname = \"near\"\n[[exchange]]\nname = \"large\"\nbytes = 200000\n";

/// A folder that is gone with the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let dir =
            std::env::temp_dir().join(format!("airlane-exchange-{name}-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        Self(dir)
    }

    fn scenario(&self, text: &str) -> PathBuf {
        let file = self.0.join("calls.toml");
        fs::write(&file, text).unwrap();
        file
    }

    fn summary(&self) -> Summary {
        serde_json::from_slice(&fs::read(self.0.join("summary.json")).unwrap()).unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn it_is_in_scenario_summary_and_report() {
    let dir = Scratch::new("run");
    let common = Common { out: dir.0.clone(), jobs: 2, ..Common::default() };
    let scenario = dir.scenario(SCENARIO);
    let outcome = crate::run(&RunRequest { common, scenario, set: Vec::new() }).unwrap();
    assert!(outcome.line.starts_with("The slowest caller waits "), "{}", outcome.line);
    assert!(outcome.table.contains("slowest"), "{}", outcome.table);
    let summary = dir.summary();
    let of = |case: &str, metric: &str| -> Vec<f64> {
        let rows = summary.rows.iter().filter(|r| r.case == case && r.metric == metric);
        rows.inspect(|r| assert_eq!(r.unit, "s")).map(|r| r.value).collect()
    };
    let (near, large) = (of("1/near", "response_s"), of("1/large", "response_s"));
    assert_eq!((near.len(), large.len()), (4, 4), "two schemes, two seeds");
    // A handshake and a response take two round trips, and 200 kB at 2 Mbit/s 0.8 s.
    assert!(near.iter().all(|s| *s > 0.08) && large.iter().all(|s| *s > 0.8), "{near:?} {large:?}");
    assert_eq!(of("1", "slowest_response_s"), large);
    let page = fs::read_to_string(dir.0.join("report.html")).unwrap();
    for words in ["Requests and responses", "The caller near and the caller large share one link"] {
        assert!(page.contains(words), "the page lacks {words}");
    }
}

#[test]
fn its_keys_are_checked_like_all_others() {
    let message = |text: &str| {
        let read = airlane_scenario::Scenario::from_bytes(
            crate::registry().scenarios(),
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
    let keys = crate::registry().scenarios().keys_as_markdown();
    assert!(keys.contains("| `exchange.pause_s` | number, 0 to 60 s | 0.1 |"), "{keys}");
}

#[test]
fn sweeps_show_it_and_tell_its_worlds_apart() {
    let dir = Scratch::new("sweep");
    let common = Common { out: dir.0.clone(), jobs: 2, ..Common::default() };
    let scenario = dir.scenario(SCENARIO);
    let grid = vec!["exchange.0.bytes=1000,50000".to_owned()];
    let request = SweepRequest { common, scenario, set: Vec::new(), grid, fresh: false };
    let outcome = crate::sweep(&request).unwrap();
    assert!(outcome.table.starts_with("Slowest caller, s"), "{}", outcome.table);
    let summary = dir.summary();
    let hashes: std::collections::BTreeSet<_> =
        summary.runs.iter().map(|r| r.packet_hash.clone()).collect();
    assert_eq!((summary.runs.len(), hashes.len()), (8, 8), "every world is another");
    let table = fs::read_to_string(dir.0.join("sweep.csv")).unwrap();
    assert!(table.contains("slowest_response_s"));
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
id = "x.slowest"
source = "here"
statement = "Whoever sends at 0.4 Mbit/s answers later."
paper = { text = "no figure" }
unit = "s"
statistic = "Mean over draws."
rule_text = "above one second"
rule = { kind = "above", of = "slowest_response_change_s", bound = 1.0 }
compare = ["slow", "cubic"]
mixes = "m"
beside = ["response_s", "response_s_of_baseline", "sum(response_s / response_s_of_baseline)"]
full = { pairs = 10, seeds = 1 }
quick = { pairs = 10, seeds = 1 }
"#;

#[test]
fn claims_are_judged_by_its_metrics_and_what_follows_from_them() {
    let dir = Scratch::new("claims");
    let set = ClaimSet::from_text(crate::registry(), CLAIMS, Path::new("x.toml")).unwrap();
    let common = Common { out: dir.0.clone(), jobs: 2, ..Common::default() };
    let request = ReproduceRequest {
        common,
        system: "x".to_owned(),
        quick: true,
        only: vec![],
        fresh: false,
    };
    reproduce_sets(&[set], &request).unwrap();
    let summary = dir.summary();
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
    let page = fs::read_to_string(dir.0.join("claims/x.slowest.html")).unwrap();
    assert!(page.contains("the caller near and the caller large"), "who uses the network");
    let unknown = CLAIMS.replace("\"response_s\", ", "\"answers\", ");
    let set = ClaimSet::from_text(crate::registry(), &unknown, Path::new("x.toml")).unwrap();
    let e = reproduce_sets(&[set], &request).unwrap_err().to_string();
    assert!(e.contains("x.slowest.beside: \"answers\""), "{e}");
}
