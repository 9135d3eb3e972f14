//! What a scenario says, and what is said about a bad one.

mod copies;
mod half_duplex;
mod network;
mod refused;

use std::path::Path;
use std::time::Duration;

use airlane_base::{InputError, Rate};
use airlane_lab::workloads::bulk::{TransferEnd, Transfers};
use airlane_lab::workloads::vod::{Abr, Arrivals, Reports, Start, Utility, Viewers, minerva_of};
use airlane_lab::workloads::web::{Entry, WebTraffic};
use airlane_net::Direction;
use airlane_scenario::*;

fn viewers(s: &Scenario) -> &Viewers {
    Viewers::of(s)
}

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
    Scenario::from_bytes(
        airlane_lab::registry().scenarios(),
        text.as_bytes(),
        Path::new("a/s.toml"),
        &set,
    )
}

fn message(text: &str) -> String {
    read(text).unwrap_err().to_string()
}

#[test]
fn the_least_scenario_has_the_documented_defaults() {
    let s = read(GOOD).unwrap();
    assert_eq!((s.name.as_str(), s.title.as_str()), ("s", "s"));
    assert_eq!((s.duration, s.seeds.as_slice()), (Duration::from_secs(200), [1].as_slice()));
    assert_eq!(s.network.bottleneck().unwrap().capacity, Capacity::Constant(Rate::from_mbps(50.0)));
    assert_eq!(s.network.rtt, Duration::from_millis(20));
    let up = s.network.accesses[0].way(Direction::Up);
    assert_eq!(up.capacity, Capacity::Constant(Rate::from_mbps(10.0)));
    assert_eq!(up.queue.limit, QueueLimit::Packets(1_000));
    assert_eq!(s.network.bottleneck().unwrap().queue.discipline, Discipline::DropTail);
    assert_eq!(s.network.bottleneck().unwrap().queue.limit, QueueLimit::Bdp(1.5));
    assert_eq!(s.host.send_jitter_packets, 3.0);
    assert_eq!((s.transport.payload_bytes, s.transport.cipher), (1350, Cipher::Null));
    assert_eq!((viewers(&s).player.abr, viewers(&s).player.horizon), (Abr::RobustMpc, 5));
    assert_eq!((viewers(&s).player.beta, viewers(&s).player.gamma), (25.0, 2.5));
    let plain = ControllerConfig::cubic(1.0);
    assert_eq!((s.schemes[0].control, minerva_of(&s.schemes[0])), (plain, None));
    assert_eq!(
        (Transfers::of(&s)[0].name.as_str(), Transfers::of(&s)[0].until),
        ("bulk1", TransferEnd::Run)
    );
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
    let Capacity::Steps(steps) = &s.network.bottleneck().unwrap().capacity else {
        panic!("{:?}", s.network.bottleneck().unwrap().capacity)
    };
    assert_eq!(
        steps[2],
        RateStep { at: Duration::from_millis(61_500), rate: Rate::from_mbps(4.0) }
    );
    assert_eq!(
        s.network.bottleneck().unwrap().queue,
        Queue {
            discipline: Discipline::Pie { target: Duration::from_millis(20), ecn: false },
            limit: QueueLimit::Packets(90),
            bdp_rtt: Some(Duration::from_millis(20)),
            bdp_rate: Some(Rate::from_mbps(5.0)),
            per_flow: false,
        }
    );
    assert_eq!(
        s.network.bottleneck().unwrap().loss,
        Some(Loss::GilbertElliott { good_to_bad: 0.01, bad_to_good: 0.3, good: 0.001, bad: 0.5 })
    );
    assert_eq!(viewers(&s).player.abr, Abr::Fixed(3));
    assert_eq!(viewers(&s).player.overhead, Duration::ZERO);
    assert_eq!(s.schemes[0].queue.as_ref().unwrap().queue.limit, QueueLimit::Bytes(30_000));
    assert_eq!(minerva_of(&s.schemes[0]).unwrap().mu, Some(1.5));
    assert_eq!(minerva_of(&s.schemes[0]).unwrap().utility, Some(Utility::Basic));
    assert_eq!(s.schemes[1].control, ControllerConfig::Explicit { rate: Rate::from_mbps(4.0) });
    assert_eq!(viewers(&s).viewers[0].abr, Some(Abr::Rate));
    assert_eq!(
        (viewers(&s).viewers[1].name.as_str(), &viewers(&s).viewers[1].video),
        ("v2", &None)
    );
    let cross = ControllerConfig::cubic(2.0);
    assert_eq!(
        (viewers(&s).viewers[0].control, viewers(&s).viewers[1].control),
        (None, Some(cross))
    );
    assert_eq!(Transfers::of(&s)[0].control, Some(ControllerConfig::Reno));
    assert_eq!(Transfers::of(&s)[0].until, TransferEnd::At(Duration::from_secs(9)));
    assert_eq!(Transfers::of(&s)[1].until, TransferEnd::Bytes(1_500_000));
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
    let names: Vec<&str> = viewers(&s).viewers.iter().map(|v| v.name.as_str()).collect();
    assert_eq!(names, ["v1", "v2", "a1", "a2", "b1", "b2", "late"]);
    let groups: Vec<&str> = viewers(&s).viewers.iter().map(|v| v.group.as_str()).collect();
    assert_eq!(groups, ["", "", "a", "a", "b", "b", "late"]);
    let same: Vec<Option<usize>> = viewers(&s).viewers.iter().map(|v| v.same_as).collect();
    assert_eq!(same, [None, None, None, None, Some(2), Some(3), None]);
    assert_eq!(viewers(&s).viewers[2].metric, Some(airlane_media::Metric::PsnrDb));
    assert_eq!(
        (viewers(&s).viewers[2].provider.as_str(), viewers(&s).viewers[0].provider.as_str()),
        ("other", "")
    );
    assert_eq!(
        (viewers(&s).viewers[2].reports, viewers(&s).viewers[0].reports),
        (Reports::Stalls, Reports::Truth)
    );
    assert_eq!(viewers(&s).viewers[0].start, Start::Arrives);
    assert_eq!(viewers(&s).viewers[6].start, Start::At(Duration::from_secs(9)));
    assert_eq!(viewers(&s).arrivals, Some(Arrivals { at_once: 3.0 }));
    assert_eq!((s.cases.draw, viewers(&s).player.max_chunks), (Draw::Independent, Some(75)));
    assert!(!viewers(&s).player.scaled_penalties);
    let minerva = minerva_of(&s.schemes[0]).unwrap();
    assert_eq!((minerva.past, minerva.future, minerva.horizon), (Some(0.0), Some(2.0), Some(20)));
    assert_eq!((minerva.conservative, minerva.smoothed), (Some(false), Some(false)));
    assert_eq!((WebTraffic::of(&s)[0].name.as_str(), WebTraffic::of(&s)[0].servers), ("web1", 20));
    assert_eq!(WebTraffic::of(&s)[0].control, ControllerConfig::cubic(1.0));

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
        WebTraffic::of(&read(&text).unwrap())[0].clone()
    };
    // The density integrated by the trapezium rule over the logarithm of the size.
    let integrated = |w: &Entry| {
        let (l, h, a) = (w.min_bytes as f64, w.max_bytes as f64, w.shape);
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
    let Capacity::Trace(source) = &s.network.bottleneck().unwrap().capacity else {
        panic!("{:?}", s.network.bottleneck().unwrap().capacity)
    };
    let medium = airlane_net::trace::Medium::Wifi;
    assert_eq!(source.from, TraceFrom::Generator { medium, outages: 0.0 });
    assert_eq!(source.mean, Some(Rate::from_mbps(25.0)));
    let two = message(&GOOD.replace("rate_bps = 50e6", "rate_bps = 1e6\ngenerator = \"lte\""));
    assert!(two.contains("link.generator: found 2 capacities"), "{two}");
    let none = message(&GOOD.replace("rate_bps = 50e6", "rate_bps = 1e6\ntrace_mean_bps = 1e6"));
    assert!(none.contains("link.trace_mean_bps: found without a trace"), "{none}");
}

#[test]
fn radios_have_outages_within_a_second_if_asked_for() {
    let with = |link: &str| GOOD.replace("rate_bps = 50e6", link);
    let s = read(&with("generator = \"wigig-nlos\"\ngenerator_outages = 0.25")).unwrap();
    let Capacity::Trace(source) = &s.network.bottleneck().unwrap().capacity else {
        panic!("{:?}", s.network.bottleneck().unwrap().capacity)
    };
    let medium = airlane_net::trace::Medium::WigigNlos;
    assert_eq!(source.from, TraceFrom::Generator { medium, outages: 0.25 });
    for (link, expected) in [
        ("generator = \"lte\"\ngenerator_outages = 0.25", "lte's recordings have their outages"),
        ("rate_bps = 1e6\ngenerator_outages = 0.25", "expected `generator` beside it"),
        ("generator = \"wigig-los\"\ngenerator_outages = 2", "expected a number from 0 to 1"),
    ] {
        let e = message(&with(link));
        assert!(e.contains("link.generator_outages: "), "{e}");
        assert!(e.contains(expected), "{e}");
    }
}

#[test]
fn a_trace_comes_with_its_column_scale_and_offset() {
    let link = r#"trace = "up.csv"
trace_column = "2"
trace_scale = 1.5
trace_offset_s = 30"#;
    let s = read(&GOOD.replace("rate_bps = 50e6", link)).unwrap();
    assert_eq!(
        s.network.bottleneck().unwrap().capacity,
        Capacity::Trace(TraceSource {
            from: TraceFrom::File("up.csv".into()),
            column: Some("2".to_owned()),
            scale: 1.5,
            mean: None,
            offset: Some(Duration::from_secs(30)),
            fading: 0.0,
        })
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
    assert_eq!(s.network.bottleneck().unwrap().capacity, Capacity::Constant(Rate::from_mbps(4.0)));
    assert_eq!(s.schemes[0].control.weight(), 2.0);
    assert_eq!(minerva_of(&s.schemes[0]).unwrap().alpha, Some(1.65));
    assert_eq!((viewers(&s).player.abr, s.seeds.as_slice()), (Abr::Rate, [5, 6].as_slice()));
    assert_eq!((s.title.as_str(), Transfers::of(&s)[0].name.as_str()), ("A title = B", "12"));
    assert_eq!(s.source.set.len(), 7);
}

#[test]
fn periodic_loss_begins_with_its_period_unless_told() {
    let loss = |value: &str| {
        with_set(GOOD, &[&format!("link.loss={value}")]).unwrap().network.bottleneck().unwrap().loss
    };
    let plain = loss("{ kind = \"periodic\", every = 1000 }");
    assert_eq!(plain, Some(Loss::Periodic { every: 1_000, first: 999 }));
    let told = loss("{ kind = \"periodic\", every = 1000, first = 80 }");
    assert_eq!(told, Some(Loss::Periodic { every: 1_000, first: 80 }));
}

#[test]
fn set_of_one_capacity_replaces_the_other() {
    let s = with_set(GOOD, &["link.steps=[[0, 1e6]]"]).unwrap();
    assert!(matches!(s.network.bottleneck().unwrap().capacity, Capacity::Steps(_)));
    let s = with_set(GOOD, &["link.steps=[[0, 1e6]]", "link.rate_bps=2e6"]).unwrap();
    assert_eq!(s.network.bottleneck().unwrap().capacity, Capacity::Constant(Rate::from_mbps(2.0)));
}

#[test]
fn the_built_in_scenarios_are_sound() {
    for (name, text) in airlane_lab::registry().scenarios().embedded() {
        let s = read(text).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(s.name, name);
        assert!(!s.story.is_empty());
        let again =
            Scenario::from_file(airlane_lab::registry().scenarios(), Path::new(name), &[]).unwrap();
        assert_eq!(format!("{:?}", again.schemes), format!("{:?}", s.schemes));
    }
}

#[test]
fn the_documentation_lists_every_key_with_its_default() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/scenarios.md");
    let page = std::fs::read_to_string(file).unwrap_or_default();
    let table = airlane_lab::registry().scenarios().keys_as_markdown();
    if let Some(line) = table.lines().find(|line| !page.contains(line)) {
        panic!("docs/reference/scenarios.md lacks\n{line}\nof\n{table}");
    }
    let rows = |text: &str| text.lines().filter(|line| line.starts_with("| `")).count();
    assert_eq!(rows(&page), rows(&table), "docs/reference/scenarios.md lists keys that are gone");
}
