//! What is read before anything runs, and what is said about bad traces and tables.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use airlane_base::InputError;
use airlane_lab::workloads::bulk;
use airlane_lab::workloads::vod::{ContentDraws, ViewingDraw};
use airlane_net::Direction;
use airlane_scenario::{Capacity, Cipher, Scenario};
use airlane_sim::Common;
use airlane_sim::RunInfo;
use airlane_sim::plan::{Case, Plan, Sources, TraceUse, Window};

use crate::runs::run_one;

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("airlane-plan-{name}-{}", std::process::id()));
        fs::create_dir_all(dir.join("content")).unwrap();
        Self(dir)
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let file = self.0.join(name);
        fs::write(&file, text).unwrap();
        file
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A table of one video with two rungs of three chunks, in the form of the Comyco set.
fn table(name: &str) -> String {
    let rung = |kbps: u32, size: u32, vmaf: u32| {
        format!(
            "{{\"name\": \"r{kbps}\", \"width\": 640, \"height\": 360, \"nominal_kbps\": {kbps}, \
             \"chunk_bytes\": [{size}, {size}, {size}], \"vmaf\": [{vmaf}, {vmaf}, {vmaf}], \
             \"vmaf_phone\": [{vmaf}, {vmaf}, {vmaf}], \"vmaf_4k\": [{vmaf}, {vmaf}, {vmaf}]}}"
        )
    };
    format!(
        "{{\"video\": \"{name}\", \"chunk_seconds\": 4.0, \"representations\": [{}, {}]}}",
        rung(300, 150_000, 40),
        rung(1200, 600_000, 80)
    )
}

const WATCH: &str = "min_chunks = 2\n[link]\nrate_bps = 1e6\n[[scheme]]\nname = \"a\"\n\
                     [[scheme]]\nname = \"b\"\n[[viewer]]\n[[viewer]]\nvideo = \"two\"\n";

fn plan(
    text: &str,
    dir: &Scratch,
    change: impl FnOnce(&mut Common<'_>),
) -> Result<Plan, InputError> {
    let scenario = Scenario::from_bytes(
        airlane_lab::registry().scenarios(),
        text.as_bytes(),
        &dir.0.join("s.toml"),
        &[],
    )?;
    let mut common = Common { content: Some(dir.0.join("content")), ..Common::default() };
    change(&mut common);
    Plan::new(scenario, &common)
}

fn message(text: &str, dir: &Scratch, change: impl FnOnce(&mut Common<'_>)) -> String {
    plan(text, dir, change).unwrap_err().to_string()
}

fn watched(plan: &Plan, case: usize) -> &ViewingDraw {
    ContentDraws::in_case(plan, case).unwrap()
}

#[test]
fn cases_schemes_and_seeds_make_the_runs() {
    let dir = Scratch::new("runs");
    for name in ["one", "two", "three", "four"] {
        dir.file(&format!("content/{name}.json"), &table(name));
    }
    let text = format!("seeds = [5, 6]\n{WATCH}[cases]\ncount = 3\n");
    let plan = plan(&text, &dir, |_| {}).unwrap();
    let runs: Vec<_> = plan.runs().map(|r| (r.case, r.scheme, r.seed)).collect();
    assert_eq!(runs.len(), 12);
    assert_eq!(runs[..3], [(0, 0, 5), (0, 1, 5), (0, 0, 6)]);
    assert_eq!(plan.label(plan.runs().nth(3).unwrap()), "s, b, case 1, seed 6");
    for case in 0..plan.cases.len() {
        let videos = &watched(&plan, case).videos;
        assert_eq!((videos.len(), videos[1].name.as_str()), (2, "two"));
    }
    let again = self::plan(&text, &dir, |_| {}).unwrap();
    let names = |p: &Plan| -> Vec<String> {
        (0..p.cases.len()).map(|case| watched(p, case).videos[0].name.clone()).collect()
    };
    assert_eq!(names(&plan), names(&again), "the same seed draws the same videos");
}

#[test]
fn the_command_line_overrides_seed_cipher_and_capacity() {
    let dir = Scratch::new("override");
    dir.file("content/a.json", &table("one"));
    dir.file("content/b.json", &table("two"));
    fs::create_dir(dir.0.join("traces")).unwrap();
    dir.file("traces/b.txt", "0 3.5\n1 4.5\n");
    dir.file("traces/a.mahi", "1\n2\n5\n");
    let plan = plan(WATCH, &dir, |common| {
        common.seed = Some(77);
        common.cipher = Some(Cipher::Tls);
        common.traces = vec![dir.0.join("traces").into()];
    })
    .unwrap();
    assert_eq!(plan.scenario.seeds, [77]);
    assert_eq!(plan.scenario.transport.cipher, Cipher::Tls);
    assert!(matches!(plan.scenario.network.bottleneck().unwrap().capacity, Capacity::Trace(_)));
    let names: Vec<&str> = plan.cases.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["1@a.mahi", "1@b.txt"]);
}

#[test]
fn nobody_who_watches_needs_no_content() {
    let dir = Scratch::new("bulk");
    let text = "[link]\nrate_bps = 1e6\n[[scheme]]\nname = \"a\"\n[[bulk]]\n";
    let plan = plan(text, &dir, |common| common.content = None).unwrap();
    assert!(
        ContentDraws::of(&plan).is_none()
            && plan.cases.len() == 1
            && watched(&plan, 0).videos.is_empty()
    );
}

#[test]
fn a_trace_of_the_scenario_is_sought_beside_it() {
    let dir = Scratch::new("beside");
    let text = "[link]\ntrace = \"t.txt\"\n[[scheme]]\nname = \"a\"\n[[bulk]]\n";
    let missing = message(text, &dir, |common| common.content = None);
    let file = dir.0.join("t.txt");
    assert!(
        missing.starts_with(&format!("{}: cannot read the trace: ", file.display())),
        "{missing}"
    );
    dir.file("t.txt", "0 3.5\n1 4.5\n");
    assert!(plan(text, &dir, |common| common.content = None).unwrap().cases[0].traces.len() == 1);
}

#[test]
fn bad_traces_are_named_with_their_line() {
    let dir = Scratch::new("traces");
    let about = |content: &str| {
        let file = dir.file("bad", content);
        let text = "[link]\nrate_bps = 1e6\n[[scheme]]\nname = \"a\"\n[[bulk]]\n";
        let message = message(text, &dir, |common| {
            common.content = None;
            common.traces = vec![file.clone().into()];
        });
        message
            .strip_prefix(&file.display().to_string())
            .unwrap_or_else(|| panic!("{message}"))
            .to_owned()
    };
    assert!(about("").starts_with(": "), "{}", about(""));
    assert!(about("5\n3\n").starts_with(":2: "), "descending: {}", about("5\n3\n"));
    assert!(about("0 1.5\n1 -2\n").starts_with(":2: "), "negative: {}", about("0 1.5\n1 -2\n"));
    assert!(about("0 1.5\n1 nan\n").starts_with(":2: "), "NaN: {}", about("0 1.5\n1 nan\n"));
    assert!(about("1 2\n1 2\n0 2\n").starts_with(':'), "descending: {}", about("1 2\n1 2\n0 2\n"));
}

#[test]
fn an_empty_folder_of_traces_or_tables_is_refused() {
    let dir = Scratch::new("empty");
    fs::create_dir(dir.0.join("none")).unwrap();
    let none = dir.0.join("none");
    let text = "[link]\nrate_bps = 1e6\n[[scheme]]\nname = \"a\"\n[[bulk]]\n";
    let traces = message(text, &dir, |common| {
        common.content = None;
        common.traces = vec![none.clone().into()];
    });
    assert!(traces.contains("none: no file in this folder; expected traces"), "{traces}");
    let tables = message(WATCH, &dir, |_| {});
    assert!(tables.contains("content: no table in this folder; expected *.json"), "{tables}");
    let missing = message(WATCH, &dir, |common| common.content = Some(dir.0.join("nowhere")));
    assert!(missing.contains("nowhere: cannot read the content folder"), "{missing}");
}

#[test]
fn bad_tables_are_named_with_what_is_wrong() {
    let dir = Scratch::new("tables");
    let about = |from: &str, to: &str| {
        let good = table("one");
        assert!(good.contains(from));
        dir.file("content/one.json", &good.replacen(from, to, 1));
        let message = message(WATCH, &dir, |_| {});
        assert!(message.contains("one.json"), "{message}");
        message
    };
    about("[150000, 150000, 150000]", "[150000, 0, 150000]");
    about("[150000, 150000, 150000]", "[150000, -4, 150000]");
    about("[150000, 150000, 150000]", "[150000, 150000]");
    about("[40, 40, 40]", "[NaN, NaN, 40]");
    about("[40, 40, 40]", "[40, 900, 40]");
    about("\"representations\": [", "\"representations\": [], \"x\": [");
    about("\"vmaf\": [40, 40, 40],", "");
}

#[test]
fn content_that_does_not_suit_the_scenario_is_refused() {
    let dir = Scratch::new("suit");
    dir.file("content/a.json", &table("one"));
    dir.file("content/b.json", &table("two"));
    let about = |text: String| message(&text, &dir, |_| {});
    let unknown = about(WATCH.replace("\"two\"", "\"tow\""));
    assert!(unknown.contains("s.toml: viewer.1.video: no video \"tow\" in "), "{unknown}");
    assert!(unknown.ends_with("expected one of one, two"), "{unknown}");
    let few = about(WATCH.replace("min_chunks = 2", "min_chunks = 50"));
    assert!(few.contains("has 0 videos of at least 50 chunks"), "{few}");
    let metric = about(format!("{WATCH}[player]\nmetric = \"psnr_db\"\n"));
    assert!(metric.contains("player.metric: \"") && metric.contains("has no psnr_db"), "{metric}");
    let rung = about(format!("{WATCH}abr = \"fixed\"\nfixed_rung = 2\n"));
    assert!(
        rung.contains("viewer.1.fixed_rung: found rung 2 of \"two\"; expected a rung below 2"),
        "{rung}"
    );
}

#[test]
fn the_command_that_repeats_a_run_has_its_seed_and_no_other() {
    let words =
        ["airlane", "run", "my file.toml", "--seed", "3", "--set", "story=it's", "--seed=4"];
    let common = Common {
        circumstances: RunInfo { command: words.map(str::to_owned).to_vec(), ..RunInfo::default() },
        ..Common::default()
    };
    assert_eq!(
        common.repeat_command(9),
        r"airlane run 'my file.toml' --set 'story=it'\''s' --seed 9"
    );
}

#[test]
fn viewers_who_arrive_do_so_as_a_poisson_process() {
    let dir = Scratch::new("arrive");
    dir.file("content/a.json", &table("one"));
    dir.file("content/b.json", &table("two"));
    let text = "duration_s = 1e5\nmin_chunks = 2\n[link]\nrate_bps = 1e6\n[[scheme]]\nname = \"a\"\n\
                [[viewer]]\ncount = 2000\n[arrivals]\nat_once = 4\n[cases]\ncount = 2\n\
                draw = \"independent\"\n[player]\nmax_chunks = 2\n";
    let plan = plan(text, &dir, |_| {}).unwrap();
    let starts: Vec<f64> = watched(&plan, 0).starts.iter().map(|s| s.as_secs_f64()).collect();
    // Films of 8 s, four at once: one in two seconds, with the deviation of an exponential law.
    let gaps: Vec<f64> = starts.windows(2).map(|w| w[1] - w[0]).collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let sd = (gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / gaps.len() as f64).sqrt();
    assert!((mean - 2.0).abs() < 0.15 && (sd - 2.0).abs() < 0.2, "{mean} {sd}");
    assert_ne!(watched(&plan, 0).starts, watched(&plan, 1).starts);
    let ones = watched(&plan, 0).videos.iter().filter(|v| v.name == "one").count();
    assert!((900..1100).contains(&ones), "each drawn from all: {ones}");
    assert!(watched(&plan, 0).videos.iter().all(|v| v.chunks() == 2), "cut");
    let hash = |plan: &Plan| ContentDraws::of(plan).unwrap().content_hash;
    assert_eq!(hash(&plan), hash(&self::plan(WATCH, &dir, |_| {}).unwrap()));
}

#[test]
fn viewers_may_watch_what_others_watch_or_all_the_same() {
    let dir = Scratch::new("same");
    for name in ["one", "two", "three", "four"] {
        dir.file(&format!("content/{name}.json"), &table(name));
    }
    let head = "min_chunks = 2\n[link]\nrate_bps = 1e6\n[[scheme]]\nname = \"a\"\n";
    let names = |text: &str| -> Vec<String> {
        let plan = plan(&format!("{head}{text}"), &dir, |_| {}).unwrap();
        watched(&plan, 0).videos.iter().map(|v| v.name.clone()).collect()
    };
    let pairs = names(
        "[[viewer]]\nname = \"a\"\ncount = 3\n[[viewer]]\nname = \"b\"\ncount = 3\nsame_as = \"a\"\n",
    );
    assert_eq!(pairs[..3], pairs[3..]);
    assert!(pairs[0] != pairs[1] && pairs[1] != pairs[2] && pairs[0] != pairs[2]);
    let same = names("[[viewer]]\ncount = 7\n[cases]\ndraw = \"identical\"\n");
    assert!(same.iter().all(|name| *name == same[0]));
}

#[test]
fn a_trace_of_the_command_line_names_its_access_where_there_are_several() {
    let scenario =
        Scenario::from_file(airlane_lab::registry().scenarios(), Path::new("two-radios"), &[])
            .unwrap();
    let error = |trace: &str| {
        let common = Common { traces: vec![trace.parse().unwrap()], ..Common::default() };
        Plan::new(scenario.clone(), &common).unwrap_err().to_string()
    };
    let expected =
        "--trace: 2 accesses, and none is named; expected ACCESS=FILE with one of wifi, lte";
    assert_eq!(error("a.trace"), expected);
    assert_eq!(error("5g=a.trace"), "--trace: no access 5g; expected one of wifi, lte");
}

#[test]
fn traces_of_two_accesses_that_stand_at_the_same_place_are_a_case() {
    let dir = Scratch::new("pairs");
    dir.file("1.txt", "0 3 1\n1 5 1\n");
    dir.file("2.txt", "0 9 2\n1 9 2\n");
    let scenario =
        Scenario::from_file(airlane_lab::registry().scenarios(), Path::new("two-radios"), &[])
            .unwrap();
    let of = |column: &str| format!("{}#{column}", dir.0.display());
    let traces = [format!("wifi={}", of("2")), format!("lte={}", of("3"))];
    let common = |traces: &[String]| Common {
        traces: traces.iter().map(|trace| trace.parse().unwrap()).collect(),
        ..Common::default()
    };
    let plan = Plan::new(scenario.clone(), &common(&traces)).unwrap();
    let names: Vec<&str> = plan.cases.iter().map(|case| case.name.as_str()).collect();
    assert_eq!(names, ["1@1.txt", "1@2.txt"]);
    let mbps = |case: usize, access: usize| {
        plan.cases[case].traces[&(access, Direction::Down)].stats().mean.mbps()
    };
    assert_eq!([mbps(0, 0), mbps(0, 1), mbps(1, 0), mbps(1, 1)], [4.0, 1.0, 9.0, 2.0]);
    let twice = [traces[0].clone(), traces[0].clone()];
    let error = Plan::new(scenario.clone(), &common(&twice)).unwrap_err().to_string();
    assert!(error.contains("are for one access"), "{error}");
    let other = Scratch::new("other");
    (0..3).for_each(|i| drop(other.file(&format!("{i}.txt"), "0 1\n1 1\n")));
    let traces = [traces[0].clone(), format!("lte={}", other.0.display())];
    let error = Plan::new(scenario, &common(&traces)).unwrap_err().to_string();
    assert!(error.contains("folders of 2 and of 3 traces"), "{error}");
}

/// A generator's `trace_scale` applies to a recording that replaces its traces; that of a file does not.
#[test]
fn a_recording_that_replaces_generated_traces_has_their_scale() {
    let dir = Scratch::new("scaled");
    let own = dir.file("own.txt", "0 3\n1 3\n");
    let given = dir.file("given.txt", "0 4\n1 4\n");
    let megabytes = |source: &str| {
        let text = format!(
            "duration_s = 10\nseeds = [1]\n[link]\n{source}\ntrace_scale = 1.5\nrtt_s = 0.02\n\
             [[scheme]]\nname = \"a\"\n[[bulk]]\n"
        );
        let traces = vec![given.clone().into()];
        let plan = plan(&text, &dir, |common| common.traces = traces).unwrap();
        let output = run_one(&plan, plan.runs().next().unwrap());
        bulk::Output::of(&output).iter().map(|transfer| transfer.bytes).sum::<u64>() as f64 / 1e6
    };
    let of_generator = megabytes("generator = \"lte\"");
    let of_file = megabytes(&format!("trace = \"{}\"", own.display()));
    // 10 s of 6 and of 4 Mbit/s.
    assert!((of_generator - 7.5).abs() < 0.5, "{of_generator} MB");
    assert!((of_file - 5.0).abs() < 0.4, "{of_file} MB");
}

/// Claims take a window of a recording for each case: none overlaps another.
#[test]
fn cases_of_claims_are_windows_of_recordings_that_do_not_overlap() {
    let dir = Scratch::new("windows");
    let trace = |seconds: u32| (0..=seconds).map(|s| format!("{s} 5 1\n")).collect::<String>();
    dir.file("long.txt", &trace(100));
    dir.file("short.txt", &trace(50));
    let text = "duration_s = 20\n[link]\ngenerator = \"lte\"\n[[scheme]]\nname = \"a\"\n[[bulk]]\n\
                [cases]\ncount = 9\n";
    let scenario = Scenario::from_bytes(
        airlane_lab::registry().scenarios(),
        text.as_bytes(),
        Path::new("x"),
        &[],
    )
    .unwrap();
    // Files of one access may be given one by one.
    let traces = ["long.txt", "short.txt"].map(|file| dir.0.join(file).into()).to_vec();
    let common = Common { traces, ..Common::default() };
    let plan = Plan::with(scenario, &common, &mut Sources::new(TraceUse::Windows)).unwrap();
    let of = |case: &Case| {
        let Window { recording, number } = case.window.clone().unwrap();
        let offset = case.offsets[&(0, Direction::Down)];
        assert_eq!(offset, Duration::from_secs(20 * number));
        assert!(case.name.ends_with(&format!("@{recording}.{}", number + 1)), "{}", case.name);
        (recording, number)
    };
    let all: Vec<(String, u64)> = plan.cases.iter().map(of).collect();
    let distinct: BTreeSet<_> = all.iter().collect();
    assert_eq!(distinct.len(), 5 + 2, "of 100 s and of 50 s");
    assert_eq!(all[7..], all[..2], "two cases share a window with another");
}

/// Accesses draw from other seeds in the two forms: what is random in them makes other runs.
#[test]
fn a_link_and_an_access_of_that_name_are_no_same_run() {
    let of = |network: &str| {
        let text = format!("duration_s = 1\n{network}[[scheme]]\nname = \"a\"\n[[bulk]]\n");
        let scenario = Scenario::from_bytes(
            airlane_lab::registry().scenarios(),
            text.as_bytes(),
            Path::new("a.toml"),
            &[],
        )
        .unwrap();
        let plan = Plan::new(scenario, &Common::default()).unwrap();
        let key = plan.runs().next().unwrap();
        airlane_sim::plan::identity(&plan, key)
    };
    let short = "[link]\nrate_bps = 5e6\nrtt_s = 0.04\n";
    let long = "[core]\nrtt_s = 0.04\n[[access]]\nname = \"link\"\ndown = { rate_bps = 5e6 }\n";
    assert_ne!(of(short), of(long));
    // Nothing else differs.
    assert_eq!(of(short).replace("[true]", "[false]"), of(long));
}
