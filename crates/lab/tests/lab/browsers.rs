//! A page of what browsers recorded, beside the laboratory.

use std::fs;
use std::path::{Path, PathBuf};

use airlane_judge::request::{Outcome, ReportRequest};
use airlane_judge::summary::{ClaimEntry, Summary, Verdict};
use airlane_sim::LabError;
use serde_json::{Value, json};

const CHUNKS: usize = 8;
const QUALITY: [f64; 2] = [40.0, 80.0];
const BYTES: [u64; 2] = [150_000, 600_000];

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("browsers").join(name);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(path.join("tables")).unwrap();
        Self(path)
    }

    fn report(&self, record: &Value) -> Result<(Outcome, Summary), LabError> {
        for title in ["one", "two"] {
            let rung = |name: &str, i: usize| {
                json!({
                    "name": name, "width": 640, "height": 360,
                    "nominal_bps": BYTES[i] * 2, "size_bytes": vec![BYTES[i]; CHUNKS],
                    "quality": {"vmaf": vec![QUALITY[i]; CHUNKS]},
                })
            };
            let table = json!({
                "format": "airlane-chunks", "version": 1, "video": title, "chunk_s": 4.0,
                "rungs": [rung("low", 0), rung("high", 1)],
            });
            fs::write(self.0.join("tables").join(format!("{title}.json")), table.to_string())
                .unwrap();
        }
        fs::write(self.0.join("browsers.json"), record.to_string()).unwrap();
        let out = self.0.join("report");
        let outcome = airlane_lab::report(&ReportRequest {
            folders: vec![self.0.clone()],
            out: out.clone(),
        })?;
        let summary = fs::read_to_string(out.join("summary.json")).unwrap();
        assert!(fs::read_to_string(out.join("report.html")).unwrap().contains("Minerva, browsers"));
        Ok((outcome, serde_json::from_str(&summary).unwrap()))
    }
}

/// A player that fetches a chunk every 2 s at these rungs, and begins to play after half a second.
fn player(title: &str, rungs: &[usize], stalls: Value) -> Value {
    let chunk = |(i, rung): (usize, &usize)| {
        json!({
            "kind": "video", "rung": rung, "bps": 1e6, "place_s": i as f64 * 4.0,
            "duration_s": 4.0, "requested_s": i as f64 * 2.0, "arrived_s": i as f64 * 2.0 + 0.5,
            "bytes": BYTES[*rung],
        })
    };
    json!({
        "title": title, "abr": "mpc", "sid": "s", "metric": "vmaf", "began_s": 0.0, "now_s": 20.0,
        "place_s": 16.0, "ended": false, "startup_s": 0.5, "stalls": stalls, "faults": [],
        "chunks": rungs.iter().enumerate().map(chunk).collect::<Vec<_>>(),
        "frames": 400, "dropped_frames": 4,
        "server": {"now_s": 25.0, "sessions": [{"history": [[10.0, 1e6, 1.5, 3.0, 40.0, 39.0]]}]},
    })
}

fn record(runs: Vec<Value>, repeat: usize) -> Value {
    json!({
        "format": "airlane-browsers", "version": 1, "began": "2026-11-22T00:00:00Z",
        "command": "story", "host": {"name": "h", "cpus": 2}, "dashjs": "5.2.1",
        "setup": {
            "players": 2, "duration_s": 20.0, "stagger_s": 0.0, "abr": ["mpc"],
            "schemes": ["plain", "minerva"], "repeat": repeat,
            "link": {"rate_bps": 4e6, "rtt_s": 0.02, "queue": "pie"},
        },
        "runs": runs,
    })
}

fn run(scheme: &str, round: usize, cpu: f64, rungs: &[usize]) -> Value {
    let stall = json!([{"from_s": 8.5, "to_s": 10.5, "place_s": 8.0}]);
    let players = [player("one", rungs, json!([])), player("two", rungs, stall)];
    json!({"scheme": scheme, "round": round, "cpu": cpu, "players": players})
}

fn claim<'a>(summary: &'a Summary, id: &str) -> &'a ClaimEntry {
    summary.claims.iter().find(|c| c.id == id).unwrap_or_else(|| panic!("no {id}"))
}

/// Mean over the players and seeds.
fn laboratory_rate_bps(summary: &Summary) -> f64 {
    let rows = summary.rows.iter().filter(|r| {
        (r.scheme.as_str(), r.metric.as_str()) == ("minerva-laboratory", "mean_rate_bps")
    });
    let rates: Vec<f64> = rows.map(|r| r.value).collect();
    rates.iter().sum::<f64>() / rates.len() as f64
}

#[test]
fn what_a_browser_saw_counts_as_a_run_does() {
    let runs = vec![run("plain", 0, 0.5, &[0; 7]), run("minerva", 0, 0.5, &[0, 1, 1, 1, 1, 1, 1])];
    let mut record = record(runs, 1);
    // What was asked for again is no fault of a session.
    record["runs"][0]["players"][0]["failed_loads"] = json!(["net::ERR_QUIC_PROTOCOL_ERROR"]);
    let folder = Folder::new("figures");
    let (_, summary) = folder.report(&record).unwrap();
    let page = fs::read_to_string(folder.0.join("report/report.html")).unwrap();
    assert!(page.contains("request failed below HTTP"));
    let figure = |viewer: &str, scheme: &str, metric: &str| {
        let rows = summary.rows.iter();
        rows.filter(|r| {
            (r.case.as_str(), r.scheme.as_str(), r.metric.as_str()) == (viewer, scheme, metric)
        })
        .map(|r| r.value)
        .next()
        .unwrap_or_else(|| panic!("no {metric} of {viewer}"))
    };
    // Pictures from 0.5 s on: chunks begin at 0.5, 4.5 ... 16.5 s.
    let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-6, "{a} for {b}");
    near(figure("1/v1", "minerva-browsers", "chunks"), 5.0);
    near(figure("1/v1", "minerva-browsers", "vmaf"), (40.0 + 4.0 * 80.0) / 5.0);
    near(figure("1/v1", "minerva-browsers", "switches"), 1.0);
    near(figure("1/v1", "minerva-browsers", "startup_s"), 0.5);
    near(figure("1/v1", "minerva-browsers", "stall_s"), 0.0);
    // The stall of two seconds is charged to the third chunk, whatever had arrived.
    near(figure("1", "cubic-browsers", "min_qoe"), 40.0 - 25.0 * 2.0 / 5.0);
    near(figure("1/v2", "cubic-browsers", "stall_s"), 2.0);
    near(figure("1/v2", "cubic-browsers", "stalls"), 1.0);
    near(figure("1/v2", "cubic-browsers", "qoe"), 40.0 - 25.0 * 2.0 / 5.0);
    // Seven chunks by 12.5 s.
    near(figure("1/v1", "cubic-browsers", "bitrate_bps"), 300_000.0);
    // Nobody counted what the browsers' link dropped, which is not to say that it dropped nothing.
    let counted = |scheme: &str| {
        let of_link = |r: &&airlane_judge::summary::Row| {
            r.scheme == scheme && (r.metric.starts_with("drops_") || r.metric.contains("queue"))
        };
        summary.rows.iter().filter(of_link).count()
    };
    assert!(counted("minerva-laboratory") > 0);
    assert_eq!(counted("minerva-browsers"), 0);
    let rate = claim(&summary, "browsers.cubic.rate");
    assert!(rate.measured.is_some() && rate.verdict == Verdict::Reported, "{rate:?}");
}

#[test]
fn the_laboratory_pauses_between_chunks_as_the_browsers_networks_did() {
    let rate_bps = |name: &str, pause_s: Option<f64>| {
        let mut run = run("minerva", 0, 0.5, &[0; 7]);
        for player in run["players"].as_array_mut().unwrap() {
            for chunk in player["chunks"].as_array_mut().unwrap() {
                let sent_s = chunk["requested_s"].as_f64().unwrap() + 0.01;
                chunk["sent_s"] = json!(pause_s.map(|_| sent_s));
                chunk["received_s"] = json!(pause_s.map(|pause_s| sent_s + 2.0 - pause_s));
            }
        }
        let mut record = record(vec![run], 1);
        record["setup"]["schemes"] = json!(["minerva"]);
        let (_, summary) = Folder::new(name).report(&record).unwrap();
        laboratory_rate_bps(&summary)
    };
    let untold = rate_bps("untold", None);
    assert!((rate_bps("at-once", Some(0.0)) / untold - 1.0).abs() < 1e-9);
    let paused = rate_bps("paused", Some(1.5));
    assert!(paused < 0.9 * untold, "{paused} for {untold}");
}

#[test]
fn a_trace_goes_on_in_the_laboratory_where_it_was_for_the_browsers() {
    // Mahimahi's: 30 s with a packet every 12 ms (1 Mbit/s), then 30 s with one every 2 ms.
    let folder = Folder::new("trace");
    let trace = folder.0.join("rises.trace");
    let times = (1..=2_500).map(|i| i * 12).chain((1..=15_000).map(|i| 30_000 + i * 2));
    fs::write(&trace, times.map(|ms: u32| format!("{ms}\n")).collect::<String>()).unwrap();
    let rate_bps = |offset_s: f64, link_s: f64| {
        let mut run = run("minerva", 0, 0.5, &[0; 7]);
        run["link_s"] = json!(link_s);
        let mut record = record(vec![run], 1);
        record["setup"]["schemes"] = json!(["minerva"]);
        record["setup"]["link"] = json!({
            "trace": trace, "trace_offset_s": offset_s, "rtt_s": 0.02, "queue": "pie",
        });
        let (_, summary) = folder.report(&record).unwrap();
        laboratory_rate_bps(&summary)
    };
    let (slow, fast) = (rate_bps(0.0, 0.0), rate_bps(32.0, 0.0));
    assert!(fast > 2.0 * slow, "{slow} and {fast}");
    // The link may have run for a while before the first player began.
    assert!((rate_bps(0.0, 32.0) / fast - 1.0).abs() < 1e-9);
}

#[test]
fn claims_are_judged_on_runs_that_are_not_void() {
    let good = [0, 1, 1, 1, 1, 1, 1];
    let rounds = |n: usize, cpu: f64| {
        let all =
            (0..n).flat_map(|i| [run("plain", i, cpu, &[0; 7]), run("minerva", i, cpu, &good)]);
        record(all.collect(), n)
    };
    let (outcome, summary) = Folder::new("judged").report(&rounds(10, 0.6)).unwrap();
    let gain = claim(&summary, "browsers.gain");
    assert_eq!((gain.n, gain.verdict), (10, Verdict::Holds), "{gain:?}");
    // These fetch far less than the link carries: the laboratory cannot agree.
    let rate = claim(&summary, "browsers.minerva.rate");
    assert_eq!((rate.n, rate.verdict), (10, Verdict::Fails), "{rate:?}");
    assert!(rate.ci95.is_some_and(|[lo, _]| lo > 10.0), "{rate:?}");
    assert!(outcome.failed >= 1);

    let (outcome, summary) = Folder::new("few").report(&rounds(5, 0.6)).unwrap();
    for id in ["browsers.gain", "browsers.minerva.rate", "browsers.minerva.quality"] {
        let claim = claim(&summary, id);
        assert_eq!((claim.n, claim.verdict), (5, Verdict::Undecided), "{claim:?}");
        assert_eq!(claim.reason, "5 of at least 10 rounds that decide");
    }
    assert_eq!(outcome.failed, 0);

    let (outcome, summary) = Folder::new("void").report(&rounds(5, 0.9)).unwrap();
    for claim in &summary.claims {
        assert_eq!((claim.n, claim.verdict), (0, Verdict::Reported), "{claim:?}");
        assert!(claim.reason.contains("85 %"), "{claim:?}");
    }
    assert_eq!(outcome.failed, 0);
}

#[test]
fn a_record_that_is_none_is_refused_with_the_key() {
    let folder = Folder::new("refused");
    let sound = || record(vec![run("plain", 0, 0.5, &[0; 7]), run("minerva", 0, 0.5, &[0; 7])], 1);
    let refused = |change: &dyn Fn(&mut Value), words: &str| {
        let mut record = sound();
        change(&mut record);
        match folder.report(&record) {
            Err(LabError::Input(e)) => assert!(e.to_string().contains(words), "{e}"),
            other => panic!("{other:?}"),
        }
    };
    refused(&|r| r["version"] = json!(2), "version 1");
    refused(&|r| r["runs"][1]["cpu"] = json!(1.5), "runs.1.cpu");
    refused(&|r| r["runs"][1]["link_s"] = json!(-1.5), "runs.1.link_s");
    refused(&|r| r["setup"]["link"]["trace"] = json!("there"), "setup.link");
    refused(&|r| r["setup"]["link"]["rate_bps"] = json!(null), "setup.link");
    refused(&|r| r["runs"][0]["players"][0]["metric"] = json!("beauty"), "beauty");
    refused(&|r| r["runs"][0]["players"][0]["chunks"][0]["rung"] = json!(7), "rung 7");
    refused(&|r| r["runs"][0]["players"][1]["title"] = json!("three"), "runs.1.players");
    refused(
        &|r| {
            r["runs"].as_array_mut().unwrap().pop();
        },
        "Minerva",
    );
    refused(&|r| r["setup"]["link"]["rate_bps"] = json!(-1), "link.rate_bps");
}
