//! Claims from their text to files: tiny scenes on made-up videos, with real worlds between.

mod adoption;

use std::fs;
use std::path::{Path, PathBuf};

use airlane_base::Seed;
use airlane_judge::claims::ClaimSet;
use airlane_judge::record::RecordRequest;
use airlane_judge::reproduce::{check_record, reproduce as reproduce_sets};
use airlane_judge::request::{Outcome, RecordCheckRequest, ReproduceRequest};
use airlane_judge::summary::{ClaimEntry, Summary, Verdict};
use airlane_report::Report;
use airlane_report::model::{Better, Cell};
use airlane_sim::Common;
use airlane_sim::LabError;
use airlane_sim::RunInfo;
use airlane_sim::pool::StopFlag;

use crate::sweep::StopAfter;

/// Two claims on the same mixes; the second's scheme and baseline change places, so that every
/// world of it is one of the first's.
const CLAIMS: &str = r#"
schema = 3
system = "x"
seed = 7
[scenario]
duration_s = 24
min_chunks = 8
link = { rate_bps = 2e6, rtt_s = 0.02, queue = { kind = "pie", target_s = 0.015, limit_bdp = 1.5 } }
viewer = [{}, { start_s = 4 }]
[schemes.cubic]
weight = 2
[schemes.minerva]
weight = 2
minerva = {}
[variants]
mpc = { scenario = { player = { abr = "mpc" } } }
slow = { scenario = { link = { rate_bps = 1e6 } } }
fast = {}

[[claim]]
id = "x.gain"
source = "here"
statement = "The worst viewer gains."
paper = { value = 24.0 }
unit = "% of mixes"
statistic = "Share of mixes."
rule_text = "at least 0.6 of the optimum's share"
rule = { kind = "share_of_reference", metric = "gain_at_least_7_65", reference = "optimum_gain_at_least_7_65", factor = 0.6, saturated_below = 1.01 }
compare = ["minerva", "cubic"]
mixes = "m"
beside = ["minimum_qoe_gain", "sum(gap_closed / gap)", "mpc"]
chart = { kind = "tradeoff", x = { of = "startup_s", title = "wait", log = true }, y = { of = "minimum_qoe", title = "worst" }, beside = [{ of = "quality" }] }
full = { pairs = 2, seeds = 2 }
quick = { pairs = 1, seeds = 1 }

[[claim]]
id = "x.turned"
source = "here"
statement = "The other way round."
paper = { text = "no figure" }
unit = "points"
statistic = "Mean over mixes."
rule_text = "above zero"
rule = { kind = "above", of = "minimum_qoe_gain", bound = 0.0 }
compare = ["cubic", "minerva"]
mixes = "m"
full = { pairs = 2, seeds = 2 }
quick = { pairs = 1, seeds = 1 }

[[claim]]
id = "x.cells"
source = "here"
statement = "On two links."
paper = { text = "no figure" }
unit = "points"
statistic = "Mean over mixes and links."
rule_text = "above zero"
rule = { kind = "above", of = "minimum_qoe", bound = 0.0 }
compare = ["minerva"]
mixes = "m"
cells = ["slow", "fast"]
beside = ["minimum_qoe@slow", "minimum_qoe@fast"]
full = { pairs = 2, seeds = 2 }
quick = { pairs = 1, seeds = 1 }
real = { reported = true, why = "made up" }
"#;

/// A folder of this test's own, with made-up content in it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("airlane-{name}-{}", std::process::id()));
        fs::create_dir_all(path.join("made-up")).unwrap();
        for video in airlane_media::synthetic::corpus(3, 10, Seed(3)) {
            let file = path.join("made-up").join(format!("{}.json", video.name));
            fs::write(file, airlane_media::table::to_json(&video)).unwrap();
        }
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

/// Measures the claims of `text` into the folder's `out`, as `change` says.
fn reproduce(
    folder: &Folder,
    text: &str,
    change: impl FnOnce(&mut ReproduceRequest<'_>),
) -> (Result<Outcome, LabError>, PathBuf) {
    let set = ClaimSet::from_text(airlane_lab::registry(), text, Path::new("x.toml")).unwrap();
    let mut request = request(folder);
    change(&mut request);
    let out = request.common.out.clone();
    (reproduce_sets(&[set], &request), out)
}

fn request(folder: &Folder) -> ReproduceRequest<'_> {
    let common = Common {
        out: folder.0.join("out"),
        jobs: 2,
        content: Some(folder.0.join("made-up")),
        ..Common::default()
    };
    ReproduceRequest {
        common,
        system: "x".to_owned(),
        quick: false,
        only: vec![],
        fresh: false,
        adopt: None,
        record: None,
    }
}

fn info(out: &Path) -> RunInfo {
    serde_json::from_str(&fs::read_to_string(out.join("run.json")).unwrap()).unwrap()
}

fn summary(out: &Path) -> Summary {
    serde_json::from_str(&fs::read_to_string(out.join("summary.json")).unwrap()).unwrap()
}

/// What a unit says is what stands in `summary.json` and on the page: a rate that is judged beside a share
/// is told as a rate.
#[test]
fn units_go_through_the_summary_and_the_page() {
    let folder = Folder::new("units");
    let claim = "[[claim]]\nid = \"x.units\"\nsource = \"here\"\nstatement = \"A rate and a share.\"\n\
                 paper = { value = 1.5 }\nunit = \"Mbit/s of each\"\nstatistic = \"Means.\"\n\
                 rule_text = \"some\"\nrule = { kind = \"all\", of = [\
                 { kind = \"above\", of = \"mean_rate_bps\", bound = 0.1e6 }, \
                 { kind = \"above\", of = \"link_utilisation\", bound = 0.2 }] }\n\
                 compare = [\"cubic\"]\nmixes = \"u\"\n\
                 full = { pairs = 2, seeds = 1 }\nquick = { pairs = 1, seeds = 1 }\n";
    let text = format!("{CLAIMS}\n{claim}");
    let (outcome, out) = reproduce(&folder, &text, |r| r.only = vec!["x.units".to_owned()]);
    outcome.unwrap();
    let s = summary(&out);
    let entry = &s.claims[0];
    let row = |metric: &str| {
        let is = |r: &&airlane_judge::summary::Row| r.case == "all" && r.metric == metric;
        s.rows.iter().find(is).unwrap()
    };
    let rate = row("mean_rate_bps");
    assert_eq!(rate.unit, "bit/s");
    assert!((entry.measured.unwrap() - 1e-6 * rate.value).abs() < 1e-9, "{entry:?}");
    assert_eq!(entry.unit, "Mbit/s of each");
    let of = |i: usize| (entry.checks[i].unit.as_str(), entry.checks[i].bound);
    assert_eq!((of(0), of(1)), (("Mbit/s", 0.1), ("", 0.2)));
    let report = fs::read(out.join("report.json.gz")).unwrap();
    let report = Report::from_json(&report).unwrap();
    let shown = &report.claims[0];
    assert_eq!((shown.unit.as_str(), shown.measured), ("Mbit/s of each", entry.measured));
    assert_eq!(shown.also[0].unit, "Mbit/s");
    let page = fs::read_to_string(out.join("report.html")).unwrap();
    let told = format!("{:.2}\u{a0}Mbit/s of each", entry.measured.unwrap());
    assert!(page.contains(&told), "{told}");

    // A unit that is none of what is measured is refused before anything runs.
    let bad = text.replace("Mbit/s of each", "share of the link");
    let (outcome, _) = reproduce(&folder, &bad, |r| r.only = vec!["x.units".to_owned()]);
    let error = outcome.unwrap_err().to_string();
    assert!(error.contains("x.units.unit: \"share of the link\""), "{error}");
    assert!(
        error.contains("expected a unit of what is measured, which is in \"bit/s\""),
        "{error}"
    );
}

#[test]
fn a_record_keeps_verdicts_with_what_they_are_of_and_those_before() {
    let folder = Folder::new("record");
    let file = folder.0.join("verdicts.json");
    let set =
        || [ClaimSet::from_text(airlane_lab::registry(), CLAIMS, Path::new("x.toml")).unwrap()];
    let run = |only: &str, reason: Option<&str>| {
        let mut request = request(&folder);
        request.only = vec![only.to_owned()];
        request.record =
            Some(RecordRequest { file: file.clone(), reason: reason.map(str::to_owned) });
        reproduce_sets(&set(), &request)
    };
    run("x.gain", None).unwrap();
    let read = || serde_json::from_slice::<serde_json::Value>(&fs::read(&file).unwrap()).unwrap();
    let first = read();
    let claim = &first["claims"][0];
    assert_eq!((&claim["id"], &claim["commit"]), (&"x.gain".into(), &airlane_sim::COMMIT.into()));
    assert!(claim["stream"].as_str().unwrap().contains('/'), "{claim}");
    assert!(claim["data"][0].as_str().unwrap().contains("made-up"), "{claim}");
    assert_eq!(claim["packet_hashes"].as_object().unwrap().len(), 2, "a run of each scheme");
    // A second claim comes beside it.
    run("x.turned", None).unwrap();
    assert_eq!(read()["claims"].as_array().unwrap().len(), 2);
    // What is recorded is not replaced without a reason, and is told before anything runs.
    let error = run("x.gain", None).unwrap_err().to_string();
    assert!(error.contains("x.gain is recorded already; expected --reason TEXT"), "{error}");
    run("x.gain", Some("the player's start was mended")).unwrap();
    let again = read();
    let earlier = &again["claims"][0]["earlier"];
    assert_eq!(earlier.as_array().unwrap().len(), 1);
    assert_eq!(earlier[0]["measured_again_because"], "the player's start was mended");
    assert_eq!(earlier[0]["measured"], claim["measured"]);

    // It stands while draws and packets are what they were.
    let check = |text: &str| {
        let set = ClaimSet::from_text(airlane_lab::registry(), text, Path::new("x.toml")).unwrap();
        let common = Common { out: folder.0.join("check"), ..request(&folder).common };
        let (system, only, file) = ("x".to_owned(), Vec::new(), file.clone());
        check_record(&[set], &RecordCheckRequest { common, system, only, file }).unwrap()
    };
    let stands = check(CLAIMS);
    assert_eq!((stands.failed, stands.table.as_str()), (0, "x.gain    stands\nx.turned  stands\n"));
    let other = check(&CLAIMS.replace("rtt_s = 0.02", "rtt_s = 0.03"));
    assert!(other.failed == 2 && other.table.contains("stale: draws of m/"), "{}", other.table);
    let text = fs::read_to_string(&file).unwrap();
    let hash = again["claims"][1]["packet_hashes"]["cubic"].as_str().unwrap();
    let at = text.rfind(hash).unwrap();
    fs::write(&file, format!("{}0123456789abcdef{}", &text[..at], &text[at + 16..])).unwrap();
    let packets = check(CLAIMS);
    let expected = "x.gain    stands\nx.turned  stale: other packets under cubic\n";
    assert_eq!((packets.failed, packets.table.as_str()), (1, expected));

    let mut quick = request(&folder);
    quick.quick = true;
    quick.record = Some(RecordRequest { file, reason: None });
    let error = reproduce_sets(&set(), &quick).unwrap_err().to_string();
    assert!(error.starts_with("--record: a record of a quick run"), "{error}");
}

#[test]
fn claims_are_measured_judged_and_left_the_same_every_time() {
    let folder = Folder::new("reproduce");
    let (outcome, out) = reproduce(&folder, CLAIMS, |_| {});
    let outcome = outcome.unwrap();
    let first = fs::read(out.join("summary.json")).unwrap();
    let s = summary(&out);

    // 2 mixes x 2 schemes x 2 seeds, shared by all claims, the variant as large as a quick run: its
    // one mix and seed under both schemes, and the slow cell under one.
    let of = |name: &str| s.runs.iter().filter(|r| r.experiment == name).count();
    assert_eq!((of("x.gain"), of("x.turned"), of("x.gain/mpc")), (8, 8, 2));
    assert_eq!((of("x.cells/slow"), of("x.cells/fast")), (4, 4));
    assert_eq!(s.virtual_s, 24.0 * 14.0);
    let first_start = info(&out);
    let runs = (first_start.runs_planned, first_start.runs_finished);
    assert_eq!(runs, (14, 14), "worlds, not their tellings");
    let hash = |experiment: &str, scheme: &str| {
        let mut runs = s.runs.iter().filter(|r| r.experiment == experiment && r.scheme == scheme);
        runs.next().unwrap().packet_hash.clone()
    };
    assert_eq!(hash("x.gain", "cubic"), hash("x.turned", "cubic"));
    assert_ne!(hash("x.gain", "cubic"), hash("x.gain", "minerva"));

    let value = |experiment: &str, metric: &str| {
        let row = |r: &&airlane_judge::summary::Row| {
            r.experiment == experiment && r.case == "all" && r.metric == metric
        };
        s.rows.iter().find(row).map(|r| r.value)
    };
    let gain = value("x.gain", "minimum_qoe_gain").unwrap();
    assert!((value("x.turned", "minimum_qoe_gain").unwrap() + gain).abs() < 1e-9);
    assert!(value("x.gain/mpc", "minimum_qoe_gain").is_some());
    let cell = |name: &str| value("x.cells", &format!("minimum_qoe@{name}")).unwrap();
    let both = value("x.cells", "minimum_qoe").unwrap();
    assert!((0.5 * (cell("slow") + cell("fast")) - both).abs() < 1e-9);

    // An optimum that does not reach the share asked for leaves nothing to judge.
    let [a, b, c] = s.claims.as_slice() else { panic!("{:?}", s.claims) };
    assert_eq!((a.id.as_str(), a.verdict, a.n), ("x.gain", Verdict::Reported, 2));
    assert!(a.reason.starts_with("saturated"), "{}", a.reason);
    assert_eq!((b.id.as_str(), b.n, b.content.as_str()), ("x.turned", 2, "made-up"));
    assert!((b.measured.unwrap() + gain).abs() < 1e-9);
    assert_eq!((c.verdict, c.n, c.reason.as_str()), (Verdict::Reported, 2, "made up"));
    assert!(outcome.table.contains("x.turned") && !outcome.stopped);
    assert_eq!(outcome.failed, s.tally().fails);
    // Two draws decide nothing, and so chance gets nothing wrong.
    assert_eq!((s.schema, s.judgement), (3, None));
    assert!(a.stream.starts_with("m/") && a.stream == c.stream, "{} {}", a.stream, c.stream);
    let page = fs::read_to_string(out.join("report.html")).unwrap();
    assert!(page.contains("x.turned") && page.contains("The other way round."));

    // Every claim links to a page with its first mix over time, under its own names of schemes.
    for id in ["x.gain", "x.turned", "x.cells"] {
        assert!(page.contains(&format!("href=\"claims/{id}.html\"")), "{id}");
        let own = fs::read_to_string(out.join(format!("claims/{id}.html"))).unwrap();
        assert!(own.contains("href=\"../report.html\"") && own.contains("Over time"), "{id}");
    }
    let report = fs::read(out.join("report.json.gz")).unwrap();
    let report = airlane_report::Report::from_json(&report).unwrap();
    // A row per cell, with the figures that the claim looks at, of that cell alone.
    let table = &report.sections[2].tables[0];
    let titles: Vec<&str> = table.columns.iter().map(|c| c.title.as_str()).collect();
    assert_eq!((table.title.as_str(), table.rows.len()), ("Cell by cell", 2));
    assert_eq!(titles, ["Scene", "Draws", "minimum qoe"]);
    assert!(format!("{:?}", table.rows[0]).contains(&format!("{:?}", cell("slow"))));
    the_chart_is_of_the_figures_of_all_schemes(a, &report, &page);
    let drawn = |i: usize| -> Vec<&str> {
        report.sections[i].runs.iter().map(|r| r.scheme.as_str()).collect()
    };
    assert_eq!((drawn(0), drawn(1)), (vec!["cubic", "minerva"], vec!["minerva", "cubic"]));
    let [ours, turned] = [&report.sections[0].runs[1], &report.sections[1].runs[0]];
    // The rates have no gaps, which would differ from themselves.
    assert!(ours.panels[0] == turned.panels[0], "one world under two names");

    fs::write(out.join("claims/old.html"), "of an earlier command").unwrap();
    let (again, _) = reproduce(&folder, CLAIMS, |r| r.fresh = true);
    assert_eq!(info(&out).runs_reused, 0);
    assert!(again.is_ok() && !out.join("claims/old.html").exists());
    assert!(fs::read(out.join("summary.json")).unwrap() == first, "the same bytes again");
}

/// The chart of a claim in `summary.json`, on the claim's page and on the front page.
fn the_chart_is_of_the_figures_of_all_schemes(claim: &ClaimEntry, report: &Report, page: &str) {
    let [ours, theirs] = claim.chart.as_slice() else { panic!("{:?}", claim.chart) };
    assert_eq!((ours.scheme.as_str(), theirs.scheme.as_str()), ("minerva", "cubic"));
    let of: Vec<&str> = ours.figures.iter().map(|f| f.of.as_str()).collect();
    assert_eq!(of, ["startup_s", "minimum_qoe", "quality"]);
    let chart = &report.sections[0].tradeoffs[0];
    assert_eq!((chart.title.as_str(), chart.x.unit.as_str()), ("worst against wait", "s"));
    assert_eq!((chart.x.better, chart.y.better), (Some(Better::Lower), Some(Better::Higher)));
    assert!(chart.log_x && !chart.log_y && chart.more[0].title == "quality");
    let value = |cell: &Cell| match cell {
        Cell::Number { value, .. } => Some(*value),
        _ => None,
    };
    for (point, row) in chart.points.iter().zip(&claim.chart) {
        let cells = [&point.x, &point.y, &point.more[0]].map(value);
        assert_eq!(point.scheme, row.scheme);
        assert_eq!(cells.to_vec(), row.figures.iter().map(|f| f.value).collect::<Vec<_>>());
        assert!(cells.iter().all(Option::is_some), "{cells:?}");
    }
    assert!(report.sections[1].tradeoffs.is_empty());
    assert!(page.contains("class=\"plane\"") && page.contains("The runs behind it"));
}

/// What a start leaves that is to be the same however many starts it took.
fn left(out: &Path) -> Vec<Vec<u8>> {
    let files = ["summary.json", "report.json.gz", "claims/x.gain.html", "claims/x.cells.html"];
    files.iter().map(|file| fs::read(out.join(file)).unwrap()).collect()
}

#[test]
fn a_start_goes_on_where_an_earlier_one_was_stopped_and_leaves_the_same_bytes() {
    let folder = Folder::new("reproduce-resumed");
    let into =
        |out: &'static str| move |r: &mut ReproduceRequest<'_>| r.common.out.set_file_name(out);
    let (outcome, whole) = reproduce(&folder, CLAIMS, into("whole"));
    assert!(!outcome.unwrap().line.contains("from before"));
    for after in [1, 6, 13] {
        let (set, stop) = (
            ClaimSet::from_text(airlane_lab::registry(), CLAIMS, Path::new("x.toml")).unwrap(),
            StopFlag::default(),
        );
        let progress = StopAfter::new(after, stop.clone());
        let mut request = request(&folder);
        request.common.out.set_file_name(format!("stopped{after}"));
        (request.common.jobs, request.common.stop) = (1, stop);
        request.common.progress = &progress;
        let outcome = reproduce_sets(std::slice::from_ref(&set), &request).unwrap();
        let out = request.common.out.clone();
        assert!(outcome.line.starts_with(&format!("Stopped after {after} of 14 runs: ")));
        assert!(outcome.line.contains("The same command goes on from here."), "{}", outcome.line);

        (request.common.stop, request.common.progress) = (StopFlag::default(), &());
        let outcome = reproduce_sets(&[set], &request).unwrap();
        let told = format!("{after} of 14 runs were there from before.");
        assert!(!outcome.stopped && outcome.line.contains(&told), "{}", outcome.line);
        assert_eq!(info(&out).runs_reused, after);
        assert!(left(&out) == left(&whole), "stopped after {after}");
    }
}

#[test]
fn claims_take_over_what_others_measured_in_the_same_folder() {
    let folder = Folder::new("reproduce-taken-over");
    let reused = |change: &dyn Fn(&mut ReproduceRequest<'_>)| {
        let (outcome, out) = reproduce(&folder, CLAIMS, |r| change(r));
        outcome.unwrap();
        (info(&out).runs_reused, info(&out).runs_planned)
    };
    assert_eq!(reused(&|r| r.only = vec!["x.turned".to_owned()]), (0, 8));
    assert_eq!(reused(&|_| {}), (8, 14));
    let (_, whole) = reproduce(&folder, CLAIMS, |r| r.common.out.set_file_name("whole"));
    assert!(left(&folder.0.join("out")) == left(&whole));
    // Packets that are to be captured have to flow.
    let pcap = Some(folder.0.join("packets"));
    assert_eq!(reused(&|r| r.common.captures.pcap.clone_from(&pcap)), (0, 14));
    assert_eq!(reused(&|r| r.only = vec!["x.cells".to_owned()]), (8, 8));
    assert_eq!(reused(&|r| r.fresh = true), (0, 14));

    let journal = folder.0.join("out/reproduce.journal.jsonl");
    let text = fs::read_to_string(&journal).unwrap();
    fs::write(&journal, text.replacen("\"wait_s\":", "\"weight_s\":", 1)).unwrap();
    let (outcome, out) = reproduce(&folder, CLAIMS, |_| {});
    let line = outcome.unwrap().line;
    assert!(line.contains("13 of 14 runs were there from before. 1 damaged line of"), "{line}");
    assert!(left(&out) == left(&whole));
}

#[test]
fn claims_left_out_by_a_stop_are_not_measured() {
    let folder = Folder::new("reproduce-stopped");
    let stop = StopFlag::default();
    stop.stop();
    let (outcome, out) = reproduce(&folder, CLAIMS, |r| {
        r.quick = true;
        r.common.stop = stop;
    });
    let outcome = outcome.unwrap();
    assert_eq!((outcome.stopped, outcome.failed, outcome.exit_code()), (true, 0, 130));
    assert!(
        outcome.line.starts_with("Stopped after 0 of 3 runs: 0 of 3 claims held, 3 not measured.")
    );
    let s = summary(&out);
    for claim in &s.claims {
        assert_eq!((claim.verdict, claim.measured), (Verdict::NotMeasured, None));
        assert_eq!(claim.reason, "stopped: 0 of 2 runs finished", "{}", claim.id);
        assert_eq!(claim.stream, "exploration/m", "a quick run draws elsewhere");
    }
    let info = info(&out);
    assert_eq!((info.stopped, info.runs_planned), (true, 3));
}

#[test]
fn a_record_has_the_claims_that_finished_before_a_stop() {
    let folder = Folder::new("reproduce-record-stopped");
    let file = folder.0.join("record.json");
    let stop = StopFlag::default();
    let progress = StopAfter::new(8, stop.clone());
    let set = ClaimSet::from_text(airlane_lab::registry(), CLAIMS, Path::new("x.toml")).unwrap();
    let mut request = request(&folder);
    (request.common.jobs, request.common.stop) = (1, stop);
    request.common.progress = &progress;
    request.record = Some(RecordRequest { file: file.clone(), reason: None });
    assert!(reproduce_sets(&[set], &request).unwrap().stopped);
    let ids: Vec<String> =
        airlane_judge::record::claims(&file).unwrap().into_iter().map(|claim| claim.id).collect();
    let summary = summary(&request.common.out);
    let judged = summary.claims.iter().filter(|claim| !claim.reason.starts_with("stopped"));
    let judged: Vec<&str> = judged.map(|claim| claim.id.as_str()).collect();
    // Of the first one variants beside it are missing.
    assert_eq!((ids, judged), (vec!["x.turned".to_owned()], vec!["x.gain", "x.turned"]));
}

#[test]
fn what_no_row_can_be_is_refused_before_anything_runs() {
    let folder = Folder::new("reproduce-unknown");
    let text = CLAIMS.replace("\"sum(gap_closed / gap)\"", "\"gap_closd\"");
    let (outcome, out) = reproduce(&folder, &text, |r| r.quick = true);
    let error = outcome.unwrap_err();
    assert_eq!(error.exit_code(), 2);
    assert!(error.to_string().contains("x.gain.beside") && error.to_string().contains("gap_closd"));
    assert!(!out.exists());

    let text = CLAIMS.replace("of = \"quality\"", "of = \"qualty\"");
    let (outcome, out) = reproduce(&folder, &text, |r| r.quick = true);
    let error = outcome.unwrap_err().to_string();
    assert!(error.contains("x.gain.chart.beside.0.of: \"qualty\"; expected a metric"), "{error}");
    assert!(!out.exists());
}

#[test]
fn claims_can_be_measured_alone() {
    let folder = Folder::new("reproduce-only");
    let only = |ids: &[&str]| {
        let only = ids.iter().map(|id| (*id).to_owned()).collect();
        reproduce(&folder, CLAIMS, |r| (r.quick, r.only) = (true, only))
    };
    let (outcome, out) = only(&["x.turned", "x.cells"]);
    outcome.unwrap();
    let ids: Vec<String> = summary(&out).claims.into_iter().map(|c| c.id).collect();
    assert_eq!(ids, ["x.turned", "x.cells"]);
    let (outcome, _) = only(&["x.tuned"]);
    let error = outcome.unwrap_err();
    assert_eq!(error.exit_code(), 2);
    assert!(error.to_string().contains("--only") && error.to_string().contains("x.turned"));
}
