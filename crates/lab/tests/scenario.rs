//! What a scenario says, and what is said about a bad one.

use std::path::Path;
use std::time::Duration;

use airlane_base::{InputError, Rate};
use airlane_lab::scenario::*;

const GOOD: &str = r#"
[link]
rate_bps = 50e6

[[scheme]]
name = "cubic"

[[bulk]]
"#;

fn read(text: &str) -> Result<Scenario, InputError> {
    with_set(text, &[])
}

fn with_set(text: &str, set: &[&str]) -> Result<Scenario, InputError> {
    let set: Vec<String> = set.iter().map(|s| (*s).to_owned()).collect();
    Scenario::from_bytes(text.as_bytes(), Path::new("a/s.toml"), &set)
}

fn message(text: &str) -> String {
    read(text).unwrap_err().to_string()
}

#[test]
fn the_least_scenario_has_the_documented_defaults() {
    let s = read(GOOD).unwrap();
    assert_eq!((s.name.as_str(), s.title.as_str()), ("s", "s"));
    assert_eq!((s.duration, s.seeds), (Duration::from_secs(200), vec![1]));
    assert_eq!(s.link.capacity, Capacity::Constant(Rate::from_mbps(50.0)));
    assert_eq!(s.link.rtt, Duration::from_millis(20));
    assert_eq!(s.link.uplink, Rate::from_mbps(10.0));
    assert_eq!(s.link.queue.discipline, Discipline::DropTail);
    assert_eq!(s.link.queue.limit, QueueLimit::Bdp(1.5));
    assert_eq!(s.host.send_jitter_packets, 3.0);
    assert_eq!((s.transport.payload_bytes, s.transport.cipher), (1350, Cipher::Null));
    assert_eq!((s.player.abr, s.player.horizon), (Abr::RobustMpc, 5));
    assert_eq!((s.player.beta, s.player.gamma), (25.0, 2.5));
    let plain = Control::Cubic { weight: 1.0, rule: WeightRule::Synchronised };
    assert_eq!((s.schemes[0].control, &s.schemes[0].minerva), (plain, &None));
    assert_eq!((s.bulk[0].name.as_str(), s.bulk[0].until), ("bulk1", BulkEnd::Run));
    assert_eq!(s.source.folder.as_deref(), Some(Path::new("a")));
    assert_eq!(s.source.text, GOOD);
}

#[test]
fn every_key_is_read() {
    let s = read(
        r#"
        name = "all"
        title = "All"
        story = "Look."
        duration_s = 100
        seeds = [3, 4]
        min_chunks = 30
        [link]
        steps = [[0, 10e6], [60, 0], [61.5, 4e6]]
        rtt_s = 0.1
        queue = { kind = "pie", limit_packets = 90, target_s = 0.02, bdp_rtt_s = 0.02, bdp_rate_bps = 5e6 }
        uplink_rate_bps = 5e6
        jitter_s = 0.002
        [link.loss]
        kind = "gilbert-elliott"
        p_good_to_bad = 0.01
        p_bad_to_good = 0.3
        p_loss_good = 0.001
        p_loss_bad = 0.5
        [host]
        send_jitter_packets = 0
        [transport]
        payload_bytes = 1200
        ack = "decimated"
        cipher = "tls"
        [player]
        abr = "fixed"
        fixed_rung = 3
        horizon = 4
        buffer_cap_s = 30
        overhead_s = 0
        beta = 100
        gamma = 1
        metric = "psnr_db"
        smoothness = "chunk"
        [[scheme]]
        name = "m"
        title = "Minerva"
        note = "Weights."
        weight = 2
        weight_rule = "textbook"
        queue = { limit_bytes = 30000 }
        minerva = { alpha = 1.65, mu = 1.5, utility = "basic", normalisation = "mean-curve" }
        [[scheme]]
        name = "x"
        controller = "explicit"
        rate_bps = 4e6
        [[viewer]]
        name = "ann"
        video = "news_0"
        start_s = 5
        rtt_s = 0.05
        abr = "rate"
        [[viewer]]
        controller = "cubic"
        weight = 2
        [cases]
        count = 7
        seed = 12
        [[bulk]]
        name = "b"
        controller = "reno"
        start_s = 1
        stop_s = 9
        rtt_s = 0.04
        count = 3
        [[bulk]]
        bytes = 15e5
        "#,
    )
    .unwrap();
    let Capacity::Steps(steps) = &s.link.capacity else { panic!("{:?}", s.link.capacity) };
    assert_eq!(
        steps[2],
        RateStep { at: Duration::from_millis(61_500), rate: Rate::from_mbps(4.0) }
    );
    assert_eq!(
        s.link.queue,
        Queue {
            discipline: Discipline::Pie { target: Duration::from_millis(20) },
            limit: QueueLimit::Packets(90),
            bdp_rtt: Some(Duration::from_millis(20)),
            bdp_rate: Some(Rate::from_mbps(5.0)),
        }
    );
    assert_eq!(
        s.link.loss,
        Some(Loss::GilbertElliott { good_to_bad: 0.01, bad_to_good: 0.3, good: 0.001, bad: 0.5 })
    );
    assert_eq!(s.player.abr, Abr::Fixed(3));
    assert_eq!(s.player.overhead, Duration::ZERO);
    assert_eq!(s.schemes[0].queue.as_ref().unwrap().limit, QueueLimit::Bytes(30_000));
    assert_eq!(s.schemes[0].minerva.as_ref().unwrap().mu, Some(1.5));
    assert_eq!(s.schemes[0].minerva.as_ref().unwrap().utility, Some(Utility::Basic));
    assert_eq!(s.schemes[1].control, Control::Explicit(Rate::from_mbps(4.0)));
    assert_eq!(s.viewers[0].abr, Some(Abr::Rate));
    assert_eq!((s.viewers[1].name.as_str(), &s.viewers[1].video), ("v2", &None));
    let cross = Control::Cubic { weight: 2.0, rule: WeightRule::Synchronised };
    assert_eq!((s.viewers[0].control, s.viewers[1].control), (None, Some(cross)));
    assert_eq!(s.bulk[0].control, Some(Control::Reno));
    assert_eq!(s.bulk[0].until, BulkEnd::At(Duration::from_secs(9)));
    assert_eq!(s.bulk[1].until, BulkEnd::Bytes(1_500_000));
    assert_eq!((s.cases.count, s.cases.seed), (7, 12));
}

#[test]
fn an_entry_stands_for_one_viewer_or_for_several() {
    let text = r#"
        [link]
        rate_bps = 20e6
        [[scheme]]
        name = "m"
        weight = 2
        minerva = { past = 0, future = 2, horizon = 20, conservative = false, smoothed = false }
        [player]
        scaled_penalties = false
        max_chunks = 75
        [[viewer]]
        count = 2
        [[viewer]]
        name = "a"
        count = 2
        metric = "psnr_db"
        provider = "other"
        reports = "stalls"
        [[viewer]]
        name = "b"
        count = 2
        same_as = "a"
        controller = "cubic"
        [[viewer]]
        name = "late"
        start_s = 9
        [arrivals]
        at_once = 3
        [cases]
        draw = "independent"
        [[web]]
        load_bps = 5e6
        servers = 20
    "#;
    let s = read(text).unwrap();
    let names: Vec<&str> = s.viewers.iter().map(|v| v.name.as_str()).collect();
    assert_eq!(names, ["v1", "v2", "a1", "a2", "b1", "b2", "late"]);
    let groups: Vec<&str> = s.viewers.iter().map(|v| v.group.as_str()).collect();
    assert_eq!(groups, ["", "", "a", "a", "b", "b", "late"]);
    let same: Vec<Option<usize>> = s.viewers.iter().map(|v| v.same_as).collect();
    assert_eq!(same, [None, None, None, None, Some(2), Some(3), None]);
    assert_eq!(s.viewers[2].metric, Some(airlane_media::Metric::PsnrDb));
    assert_eq!((s.viewers[2].provider.as_str(), s.viewers[0].provider.as_str()), ("other", ""));
    assert_eq!((s.viewers[2].reports, s.viewers[0].reports), (Reports::Stalls, Reports::Truth));
    assert_eq!(s.viewers[0].start, Start::Arrives);
    assert_eq!(s.viewers[6].start, Start::At(Duration::from_secs(9)));
    assert_eq!(s.arrivals, Some(Arrivals { at_once: 3.0 }));
    assert_eq!((s.cases.draw, s.player.max_chunks), (Draw::Independent, Some(75)));
    assert!(!s.player.scaled_penalties);
    let minerva = s.schemes[0].minerva.as_ref().unwrap();
    assert_eq!((minerva.past, minerva.future, minerva.horizon), (Some(0.0), Some(2.0), Some(20)));
    assert_eq!((minerva.conservative, minerva.smoothed), (Some(false), Some(false)));
    assert_eq!((s.web[0].name.as_str(), s.web[0].servers), ("web1", 20));
    assert_eq!(s.web[0].control, Control::Cubic { weight: 1.0, rule: WeightRule::Synchronised });

    let few = message(&text.replace("same_as = \"a\"", "same_as = \"v\""));
    assert!(few.contains("same_as: found 0 viewers \"v\" before; expected at least 2"), "{few}");
    let both = message(&text.replace("same_as = \"a\"", "same_as = \"a\"\nvideo = \"x\""));
    assert!(both.contains("same_as: found beside video"), "{both}");
    let flag = message(&text.replace("smoothed = false", "smoothed = 0"));
    assert!(flag.contains("smoothed: found 0; expected true or false"), "{flag}");
    let load = message(&text.replace("load_bps = 5e6", ""));
    assert!(load.contains("web.0.load_bps: missing"), "{load}");
    let turned = message(&text.replace("servers = 20", "least_bytes = 100000000"));
    assert!(turned.contains("most_bytes: found 20000000"), "{turned}");
}

#[test]
fn transfers_of_web_traffic_have_the_mean_of_their_distribution() {
    let web = |more: &str| {
        let text = format!("{GOOD}[[web]]\nload_bps = 1e6\n{more}");
        read(&text).unwrap().web.remove(0)
    };
    // The density integrated by the trapezium rule over the logarithm of the size.
    let integrated = |w: &Web| {
        let (l, h, a) = (w.least_bytes as f64, w.most_bytes as f64, w.shape);
        let n = 200_000;
        let step = (h / l).ln() / f64::from(n);
        let mass = |x: f64| a * (l / x).powf(a) / (1.0 - (l / h).powf(a));
        (0..=n)
            .map(|i| l * (step * f64::from(i)).exp())
            .map(|x| x * mass(x) * step * if x == l || x >= h * 0.999_99 { 0.5 } else { 1.0 })
            .sum::<f64>()
    };
    for more in ["", "shape = 1", "shape = 2.5\nleast_bytes = 100\nmost_bytes = 1000"] {
        let w = web(more);
        assert!((w.mean_bytes() / integrated(&w) - 1.0).abs() < 1e-3, "{more}: {}", w.mean_bytes());
    }
}

#[test]
fn a_made_up_trace_has_a_medium_and_perhaps_a_mean() {
    let link = "generator = \"wifi\"\ntrace_mean_bps = 25e6";
    let s = read(&GOOD.replace("rate_bps = 50e6", link)).unwrap();
    let Capacity::Trace(source) = &s.link.capacity else { panic!("{:?}", s.link.capacity) };
    assert_eq!(source.from, TraceFrom::Generator(airlane_net::trace::Medium::Wifi));
    assert_eq!(source.mean, Some(Rate::from_mbps(25.0)));
    let two = message(&GOOD.replace("rate_bps = 50e6", "rate_bps = 1e6\ngenerator = \"lte\""));
    assert!(two.contains("link.generator: found 2 capacities"), "{two}");
    let none = message(&GOOD.replace("rate_bps = 50e6", "rate_bps = 1e6\ntrace_mean_bps = 1e6"));
    assert!(none.contains("link.trace_mean_bps: found without a trace"), "{none}");
}

#[test]
fn a_trace_comes_with_its_column_scale_and_offset() {
    let link = r#"trace = "up.csv"
trace_column = "2"
trace_scale = 1.5
trace_offset_s = 30"#;
    let s = read(&GOOD.replace("rate_bps = 50e6", link)).unwrap();
    assert_eq!(
        s.link.capacity,
        Capacity::Trace(TraceSource {
            from: TraceFrom::File("up.csv".into()),
            column: Some("2".to_owned()),
            scale: 1.5,
            mean: None,
            offset: Some(Duration::from_secs(30)),
        })
    );
}

#[test]
fn unknown_keys_come_with_a_suggestion() {
    let at = |from: &str, to: &str| message(&GOOD.replace(from, to));
    assert_eq!(
        at("rate_bps = 50e6", "rate_bps = 50e6\nrtt_ms = 20"),
        "a/s.toml:4: link.rtt_ms: unknown key; did you mean `rtt_s`?"
    );
    assert_eq!(
        at("[[bulk]]", "[[bulk]]\nname = \"a\"\n[[bulk]]\nstrat_s = 1"),
        "a/s.toml:11: bulk.1.strat_s: unknown key; did you mean `start_s`?"
    );
    assert_eq!(
        at("[link]", "buffer_cap_s = 20\n[link]"),
        "a/s.toml:2: buffer_cap_s: unknown key; did you mean `player.buffer_cap_s`?"
    );
    let host = at("[[bulk]]", "[host]\nfoo = 1\n[[bulk]]");
    assert_eq!(host, "a/s.toml:9: host.foo: unknown key; expected one of send_jitter_packets");
    let misspelt = at("name = \"cubic\"", "name = \"cubic\"\ncontroller = \"cubik\"");
    assert!(misspelt.ends_with("did you mean \"cubic\"?"), "{misspelt}");
}

#[test]
fn values_out_of_bounds_say_what_was_expected() {
    for value in ["-3", "0", "nan", "inf", "-inf", "1e300", "\"fast\"", "[1]", "true", "1979-05-27"]
    {
        let text = GOOD.replace("50e6", value);
        let message = message(&text);
        assert!(message.starts_with("a/s.toml:3: link.rate_bps: found "), "{message}");
        let expected = "; expected a number from 1000 to 1e12 bit/s, such as 10e6";
        assert!(message.ends_with(expected), "{message}");
    }
    assert!(message(&GOOD.replace("50e6", "-3")).contains("found -3;"));
    assert!(message(&GOOD.replace("50e6", "nan")).contains("found NaN;"));
}

#[test]
fn every_rule_between_keys_has_a_message() {
    let cases = [
        ("rate_bps = 50e6", "", "a/s.toml:2: link.rate_bps: missing; expected exactly one of"),
        ("50e6", "50e6\ntrace = \"a\"", "a/s.toml:4: link.trace: found 2 capacities"),
        ("50e6", "50e6\ntrace_scale = 2", "a/s.toml:4: link.trace_scale: found without a trace"),
        ("rate_bps = 50e6", "steps = [[1, 1e6]]", "3: link.steps: found no capacity at time 0"),
        ("rate_bps = 50e6", "steps = []", "3: link.steps: found no capacity at time 0"),
        ("rate_bps = 50e6", "steps = [[0, 0]]", "found no capacity at any time"),
        ("rate_bps = 50e6", "steps = [[0, 1e6], [5, 1e6], [4, 1e6]]", "found 4 after 5"),
        ("rate_bps = 50e6", "steps = [[0, 1e6], [5]]", "found a row of 1; expected a list of [t_s"),
        ("rate_bps = 50e6", "steps = [[0, -1]]", "link.steps: found -1; expected a number from 0"),
        ("50e6", "50e6\nqueue = { kind = \"red\" }", "4: link.queue.kind: found the text \"red\""),
        ("50e6", "50e6\nqueue = { target_s = 0.1 }", "found beside kind \"droptail\""),
        ("50e6", "50e6\nqueue = { limit_bdp = 1, limit_bytes = 9000 }", "found several limits"),
        ("50e6", "50e6\nqueue = { limit_packets = 0 }", "expected a whole number from 1 to"),
        ("50e6", "50e6\nqueue = 5", "link.queue: found 5; expected a table"),
        ("50e6", "50e6\nloss = { kind = \"bernoulli\" }", "link.loss.p: missing"),
        ("50e6", "50e6\nloss = { p = 2 }", "link.loss.p: found 2; expected a number from 0 to 1"),
        ("50e6", "50e6\nloss = { p = 0, p_bad_to_good = 1 }", "beside another kind of loss"),
        ("50e6", "50e6\nloss = { kind = \"periodic\" }", "link.loss.every: missing"),
        ("50e6", "50e6\nloss = { kind = \"periodic\", every = 0 }", "link.loss.every: found 0"),
        ("name = \"cubic\"", "", "scheme.0.name: missing"),
        ("name = \"cubic\"", "name = \"../up\"", "expected a name of at most 64 letters"),
        ("[[scheme]]\nname = \"cubic\"", "", "scheme: found no scheme"),
        ("[[bulk]]", "[[scheme]]\nname = \"cubic\"\n[[bulk]]", "scheme: found \"cubic\" twice"),
        ("[[bulk]]", "", "viewer: found nobody who uses the link"),
        ("[[bulk]]", "[[bulk]]\nname=\"v1\"\n[[viewer]]", "viewer: found \"v1\" twice"),
        ("[[bulk]]", "[[bulk]]\nstart_s = 200", "found 200; expected less than duration_s = 200"),
        ("[[bulk]]", "[[bulk]]\nstart_s = 2\nstop_s = 1", "found 1; expected a time after start_s"),
        ("[[bulk]]", "[[bulk]]\nstop_s = 2\nbytes = 1", "bytes: found beside stop_s"),
        ("[[bulk]]", "[[bulk]]\ncount = 1.5", "bulk.0.count: found 1.5; expected a whole number"),
        ("[[bulk]]", "[[bulk]]\nweight = 2", "only Cubic and FAST have a weight"),
        ("\"cubic\"", "\"x\"\ncontroller = \"explicit\"", "scheme.0.rate_bps: missing"),
        ("\"cubic\"", "\"x\"\nrate_bps = 4e6", "only that controller has a rate"),
        ("\"cubic\"", "\"x\"\ncontroller = \"bbr\"\nminerva = {}", "without weights"),
        (
            "\"cubic\"",
            "\"x\"
minerva = { mu = 0.5 }",
            "minerva.mu: found 0.5; expected a number from 1",
        ),
        ("[[bulk]]", "[player]\nabr = \"fixed\"\n[[bulk]]", "player.fixed_rung: missing"),
        ("[[bulk]]", "[player]\nfixed_rung = 1\n[[bulk]]", "found without abr = \"fixed\""),
        ("[[bulk]]", "[cases]\ncount = 2\n[[viewer]]\nvideo = \"a\"", "2 cases of the same videos"),
        ("[link]", "seeds = []\n[link]", "seeds: found no seed"),
        ("[link]", "seeds = [1, 1]\n[link]", "seeds: found 1 twice"),
        ("[link]", "seeds = [-1]\n[link]", "seeds: found -1; expected a whole number"),
        ("[link]\nrate_bps = 50e6", "link = 3", "a/s.toml:2: link: found 3; expected a table"),
    ];
    for (from, to, expected) in cases {
        let message = message(&GOOD.replacen(from, to, 1));
        assert!(message.contains(expected), "{to}: {message}");
        assert!(message.starts_with("a/s.toml:"), "{message}");
    }
}

#[test]
fn what_is_no_toml_is_named_with_its_line() {
    let message = message("[link]\nrate_bps = = 3\n");
    assert!(message.starts_with("a/s.toml:2: "), "{message}");
    assert!(message.ends_with("; expected a TOML document"), "{message}");
    let e = Scenario::from_bytes(b"a = 1\n\xff", Path::new("b.toml"), &[]).unwrap_err();
    assert_eq!(
        e.to_string(),
        "b.toml:2: bytes that are no text; expected a TOML document in UTF-8"
    );
    let deep = format!("a = {}1{}", "[".repeat(60), "]".repeat(60));
    assert!(read(&deep).is_err());
}

#[test]
fn the_first_error_of_the_file_is_reported() {
    let first = message("duration_s = -1\n[link]\nrate_bps = -1\n");
    assert!(first.starts_with("a/s.toml:1: duration_s"), "{first}");
    // A misspelt key is unknown here and missing there: the cause is reported.
    let cause = message("seeds = []\n[link]\nrate_bsp = 1e6\n");
    assert_eq!(cause, "a/s.toml:3: link.rate_bsp: unknown key; did you mean `rate_bps`?");
}

#[test]
fn a_missing_file_names_the_built_in_ones() {
    let e = Scenario::from_file(Path::new("no/such.toml"), &[]).unwrap_err().to_string();
    assert!(e.starts_with("no/such.toml: no such file; expected a scenario, or one of"), "{e}");
    assert!(e.contains("four-viewers"), "{e}");
    assert!(
        Scenario::from_file(Path::new("."), &[]).unwrap_err().to_string().contains("cannot read")
    );
}

#[test]
fn set_changes_values_of_tables_and_lists() {
    let s = with_set(
        GOOD,
        &[
            "link.rate_bps=4e6",
            "scheme.0.weight = 2",
            "scheme.0.minerva.alpha=1.65",
            "player.abr=rate",
            "seeds=[5, 6]",
            "title=A title = B",
            "bulk.0.name=12",
        ],
    )
    .unwrap();
    assert_eq!(s.link.capacity, Capacity::Constant(Rate::from_mbps(4.0)));
    assert_eq!(s.schemes[0].control.weight(), 2.0);
    assert_eq!(s.schemes[0].minerva.as_ref().unwrap().alpha, Some(1.65));
    assert_eq!((s.player.abr, s.seeds), (Abr::Rate, vec![5, 6]));
    assert_eq!((s.title.as_str(), s.bulk[0].name.as_str()), ("A title = B", "12"));
    assert_eq!(s.source.set.len(), 7);
}

#[test]
fn periodic_loss_begins_with_its_period_unless_told() {
    let loss = |value: &str| with_set(GOOD, &[&format!("link.loss={value}")]).unwrap().link.loss;
    let plain = loss("{ kind = \"periodic\", every = 1000 }");
    assert_eq!(plain, Some(Loss::Periodic { every: 1_000, first: 999 }));
    let told = loss("{ kind = \"periodic\", every = 1000, first = 80 }");
    assert_eq!(told, Some(Loss::Periodic { every: 1_000, first: 80 }));
}

#[test]
fn set_of_one_capacity_replaces_the_other() {
    let s = with_set(GOOD, &["link.steps=[[0, 1e6]]"]).unwrap();
    assert!(matches!(s.link.capacity, Capacity::Steps(_)));
    let s = with_set(GOOD, &["link.steps=[[0, 1e6]]", "link.rate_bps=2e6"]).unwrap();
    assert_eq!(s.link.capacity, Capacity::Constant(Rate::from_mbps(2.0)));
}

#[test]
fn errors_in_set_name_it_and_not_the_file() {
    let error = |set| with_set(GOOD, &[set]).unwrap_err().to_string();
    assert_eq!(
        error("link.rate_bps=-1"),
        "--set link.rate_bps: found -1; expected a number from 1000 to 1e12 bit/s, such as 10e6"
    );
    assert_eq!(error("link.rtt=0.1"), "--set link.rtt: unknown key; did you mean `rtt_s`?");
    assert!(error("link").starts_with("--set link: no equals sign; expected key=value"));
    assert!(error("bulk.3.count=1").starts_with("--set bulk.3.count: there is no entry 3 among 1"));
    assert!(error("bulk.count=1").starts_with("--set bulk.count: \"count\" in a list"));
    assert!(error("link.rate_bps.x=1").starts_with("--set link.rate_bps.x: rate_bps is 50e6;"));
    assert!(error("a..b=1").starts_with("--set a..b: not a key"));
}

#[test]
fn the_built_in_scenarios_are_sound() {
    for (name, text) in EMBEDDED {
        let s = read(text).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(s.name, *name);
        assert!(!s.story.is_empty());
        assert_eq!(Scenario::from_file(Path::new(name), &[]).unwrap().schemes, s.schemes);
    }
}

#[test]
fn the_documentation_lists_every_key_with_its_default() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/scenarios.md");
    let page = std::fs::read_to_string(file).unwrap_or_default();
    let table = keys_as_markdown();
    if let Some(line) = table.lines().find(|line| !page.contains(line)) {
        panic!("docs/scenarios.md lacks\n{line}\nof\n{table}");
    }
    let rows = |text: &str| text.lines().filter(|line| line.starts_with("| `")).count();
    assert_eq!(rows(&page), rows(&table), "docs/scenarios.md lists keys that are gone");
}

proptest::proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(text in "(?s).{0,200}", set in ".{0,40}") {
        let _ = Scenario::from_bytes(text.as_bytes(), Path::new("x"), &[]);
        let _ = with_set(GOOD, &[&set]);
    }

    #[test]
    fn no_value_makes_the_reader_panic(
        key in proptest::sample::select(keys().iter().map(|k| k.key.clone()).collect::<Vec<_>>()),
        value in proptest::sample::select(vec![
            "0", "-1", "1", "2", "1e400", "nan", "\"\"", "\"a\"", "[]", "[[]]", "[0, 1]", "{}", "true",
            "1e18", "9223372036854775807", "99999999999999999999", "0x10", "[[0, 1e6]]", "2026-01-01",
        ]),
    ) {
        let key = key.replace("scheme.", "scheme.0.").replace("bulk.", "bulk.0.");
        let _ = with_set(GOOD, &[&format!("{key}={value}")]);
    }
}
