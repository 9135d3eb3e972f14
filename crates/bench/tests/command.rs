//! The bench as a command: what it prints, what it leaves, how it ends.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

/// A folder of this test's own, empty.
fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    folder
}

fn bench(arguments: &[&str], out: &PathBuf) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_airlane-bench"));
    command.args(arguments).arg("--quick").arg("--out").arg(out);
    // No data: a bar that wants some says so.
    command.env("AIRLANE_DATA", out.join("nothing"));
    command.output().expect("the bench runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_bar_leaves_its_rows_and_a_table() {
    let out = folder("rows");
    let done = bench(&["--only", "elements", "--only", "update"], &out);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let json = std::fs::read_to_string(out.join("bench.json")).expect("a file");
    let rows: Vec<Value> = serde_json::from_str(&json).expect("an array");
    let bars: Vec<&str> = rows.iter().filter_map(|r| r["bar"].as_str()).collect();
    let of_updates = ["embedded.mean", "embedded.p99", "sessions", "sessions_busy"]
        .map(|b| format!("update.{b}"));
    assert_eq!(bars[0], "elements");
    assert_eq!(bars[1..], of_updates);
    let table = text(&done.stdout);
    for row in &rows {
        assert!(row["ours"].as_f64().is_some_and(|x| x > 0.0), "{row}");
        assert!(row["ratio"].as_f64().is_some_and(|x| x > 0.0), "{row}");
        assert!(row["machine"].as_str().is_some_and(|m| m.contains("cores")), "{row}");
        let word = if row["holds"].as_bool().expect("a verdict") { "holds" } else { "MISSES" };
        let name = row["bar"].as_str().expect("a name");
        let line = table.lines().find(|l| l.starts_with(&format!("| {name} "))).expect("a line");
        assert!(line.contains(word), "{line}");
    }
    assert!(table.contains("left out: comyco"), "{table}");
}

#[test]
fn what_cannot_be_measured_is_skipped_and_only_strictness_minds() {
    // In a folder without the project there are no scripts and no fuzz targets.
    let out = folder("skipped");
    std::fs::create_dir_all(&out).expect("a folder");
    let root = out.to_str().expect("a path");
    let only = ["--only", "ns3", "--root", root];
    let done = bench(&only, &out);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let table = text(&done.stdout);
    assert!(table.contains("ns3: skipped: scripts/bench/ns3_build.py is not here"), "{table}");
    let json = std::fs::read_to_string(out.join("bench.json")).expect("a file");
    let rows: Vec<Value> = serde_json::from_str(&json).expect("an array");
    assert!(rows[0]["holds"].is_null(), "{json}");
    let strict = bench(&[&only[..], &["--strict"]].concat(), &out);
    assert_eq!(strict.status.code(), Some(1));
}

#[test]
fn bars_of_the_server_want_the_command_beside_the_bench() {
    let out = folder("alone");
    std::fs::create_dir_all(&out).expect("a folder");
    let alone = out.join("airlane-bench");
    std::fs::copy(env!("CARGO_BIN_EXE_airlane-bench"), &alone).expect("a copy");
    let done = Command::new(alone)
        .args(["--quick", "--only", "serve", "--only", "sessions", "--out"])
        .arg(&out)
        .output()
        .expect("the bench runs");
    assert!(done.status.success(), "{}", text(&done.stderr));
    let table = text(&done.stdout);
    for bar in ["serve", "sessions"] {
        let line = format!("- {bar}: skipped: no airlane beside this program: make build");
        assert!(table.contains(&line), "{table}");
    }
}

/// A server that the bench is told to be, and what it says of itself. It ends with this.
struct Serving(Child);

impl Serving {
    fn start(argument: &str) -> (Self, Value) {
        let child = Command::new(env!("CARGO_BIN_EXE_airlane-bench"))
            .arg(argument)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the bench runs");
        let mut serving = Self(child);
        let mut line = String::new();
        let output = serving.0.stdout.take().expect("its output");
        BufReader::new(output).read_line(&mut line).expect("a line");
        (serving, serde_json::from_str(&line).expect("JSON"))
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_peer_says_where_it_serves_and_what_it_shows() {
    for argument in ["--child-noq=own", "--child-noq=large", "--child-multipath=127.0.0.1:0"] {
        let (_serving, ready) = Serving::start(argument);
        assert!(ready["address"].as_str().is_some_and(|a| a.starts_with("127.0.0.1:")), "{ready}");
        assert!(ready["certificate"].as_array().is_some_and(|c| c.len() > 100), "{ready}");
    }
}

#[test]
fn noq_s_multipath_fetches_over_all_the_paths_that_it_is_given() {
    let (_serving, ready) = Serving::start("--child-multipath=127.0.0.1:0");
    // The second was validated, at the least: on a busy machine that takes longer.
    let fetched = [0.3, 3.0, 30.0].into_iter().any(|span_s| {
        let wanted = serde_json::json!({
            "server": ready["address"], "certificate": ready["certificate"],
            "more": ["127.0.0.2"], "omit_s": 0.0, "span_s": span_s,
        });
        let moved = run_child(&[&format!("--child-fetch={wanted}")]);
        let paths = moved["path_bytes"].as_array().expect("paths");
        assert_eq!(paths.len(), 2, "{moved}");
        moved["bits_per_second"].as_f64().is_some_and(|x| x > 1e6)
            && paths.iter().all(|p| p.as_u64().is_some_and(|bytes| bytes > 0))
    });
    assert!(fetched, "no bytes came over one of the paths");
}

#[test]
fn bad_input_is_named_and_leaves_nothing() {
    let out = folder("bad");
    let done = bench(&["--only", "speeed"], &out);
    assert_eq!(done.status.code(), Some(2));
    let message = text(&done.stderr);
    assert!(message.contains("--only: no bar speeed; expected ns3, speed, players"), "{message}");
    assert!(!out.exists());
}

/// What the bench prints when it starts itself with these arguments.
fn run_child(arguments: &[&str]) -> Value {
    let done = Command::new(env!("CARGO_BIN_EXE_airlane-bench"))
        .args(arguments)
        .output()
        .expect("the bench runs");
    assert!(done.status.success(), "{}", text(&done.stderr));
    serde_json::from_slice(&done.stdout).expect("JSON")
}

#[test]
fn many_flows_tell_their_cost() {
    let cost = run_child(&["--child-flows=8", "--child-seconds=1"]);
    // Eight flows of 2.5 Mbit/s fill their link for most of a second: 1378 bytes a packet.
    let packets = cost["packets"].as_f64().expect("a number");
    assert!((1_000.0..3_500.0).contains(&packets), "{cost}");
    // The window of such a flow is a few packets.
    let in_flight = cost["in_flight_bytes"].as_f64().expect("a number");
    assert!((1_000.0..40_000.0).contains(&in_flight), "{cost}");
}

#[test]
fn many_sessions_tell_their_cost() {
    let cost = run_child(&["--child-registry=1000", "--child-seconds=1"]);
    // 600 points of a session, of some ten bytes or more each.
    let full = cost["full_bytes"].as_f64().expect("a number");
    assert!((6e6..60e6).contains(&full), "{cost}");
    assert!(cost["most_bytes"].as_f64().is_some_and(|most| most >= full), "{cost}");
    // Each asked once a second.
    assert_eq!(cost["requests"], 1000, "{cost}");
    assert!(cost["median_s"].as_f64() <= cost["longest_s"].as_f64(), "{cost}");
}
