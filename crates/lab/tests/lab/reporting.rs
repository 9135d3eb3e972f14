//! From small worlds to figures and a report; sentences on figures whose verdict is known.

use std::path::{Path, PathBuf};
use std::time::Duration;

use airlane_base::Seed;
use airlane_judge::reporting::{ReportedRun, RunReport, tell};
use airlane_judge::summary::Row;
use airlane_lab::workloads::bulk::on_transfers;
use airlane_lab::workloads::vod::{self, Side, on_viewers};
use airlane_media::{Corpus, synthetic};
use airlane_report::model::Cell;
use airlane_scenario::Scenario;
use airlane_sim::Common;
use airlane_sim::LabError;
use airlane_sim::Samples;
use airlane_sim::execute;
use airlane_sim::plan::{Plan, Sources, TraceUse};
use airlane_sim::pool::StopFlag;
use airlane_sim::workload::Caches;
use airlane_sim::world::{self, Options, RunOutput};

const TWO_VIEWERS: &str = "name = \"two\"\ntitle = \"Two viewers\"\nstory = \"Look.\"\n\
    duration_s = 30\nseeds = [1]\nmin_chunks = 1\n[link]\nrate_bps = 4e6\nrtt_s = 0.02\n\
    queue = { kind = \"droptail\", limit_bdp = 1.5 }\n\
    [[scheme]]\nname = \"cubic\"\ntitle = \"Cubic\"\n\
    [[scheme]]\nname = \"minerva\"\ntitle = \"Minerva\"\nminerva = {}\n[[viewer]]\n[[viewer]]\n";

const TRANSFERS: &str = "name = \"bulk\"\nduration_s = 10\nseeds = [1, 2]\n[link]\n\
    rate_bps = 8e6\nrtt_s = 0.02\nqueue = { kind = \"droptail\", limit_bdp = 1.5 }\n\
    [[scheme]]\nname = \"cubic\"\ntitle = \"Cubic\"\n[[bulk]]\nname = \"a\"\n[[bulk]]\nname = \"b\"\n";

/// A plan on videos made of numbers.
fn plan(text: &str, seed: Option<u64>) -> Plan {
    let mut scenario = Scenario::from_bytes(
        airlane_lab::registry().scenarios(),
        text.as_bytes(),
        Path::new("x.toml"),
        &[],
    )
    .unwrap();
    if let Some(seed) = seed {
        scenario.seeds = vec![seed];
    }
    let mut sources = Sources::new(TraceUse::Each);
    let corpus = Corpus::from_videos("synthetic", synthetic::corpus(4, 20, Seed(5))).unwrap();
    vod::draw_from(corpus, &mut sources);
    Plan::with(scenario, &Common::default(), &mut sources).unwrap()
}

fn with_common<T>(stop: &StopFlag, act: impl FnOnce(&Common<'_>) -> T) -> T {
    let elapsed = || Duration::ZERO;
    act(&Common {
        jobs: 2,
        content: Some(PathBuf::from("some folder")),
        elapsed: &elapsed,
        stop: stop.clone(),
        ..Common::default()
    })
}

/// The story of a plan's runs; `change` may spoil what came out of each.
fn story_of(plan: &Plan, options: &Options, change: impl Fn(&mut RunOutput) + Sync) -> RunReport {
    let stop = StopFlag::default();
    with_common(&stop, |common| {
        let caches = Caches::of_plan(plan).unwrap();
        let done = execute(plan, common, |key, ticket| {
            let mut output = world::run(plan, &caches, key, options, ticket)?;
            change(&mut output);
            Ok::<_, LabError>(ReportedRun::of(plan, &output))
        })
        .unwrap();
        let told = done.results.into_iter().map(|(_, told)| told).collect();
        tell(plan, &caches, common, told, (done.planned, done.stopped))
    })
}

fn values<'a>(rows: &'a [Row], scheme: &str, metric: &str) -> Vec<&'a Row> {
    rows.iter().filter(|r| r.scheme == scheme && r.metric == metric).collect()
}

fn value(rows: &[Row], scheme: &str, metric: &str) -> f64 {
    match values(rows, scheme, metric).as_slice() {
        [one] => one.value,
        other => panic!("{} rows of {metric}", other.len()),
    }
}

#[test]
fn the_rows_of_two_viewers_agree_with_each_other_and_with_the_link() {
    let story = story_of(&plan(TWO_VIEWERS, None), &Options::default(), |_| {});
    let rows = &story.summary.rows;
    let cubic: Vec<String> = rows
        .iter()
        .filter(|r| r.scheme == "cubic" && r.case != "1/v2")
        .map(|r| format!("{} {} [{}]", r.case, r.metric, r.unit))
        .collect();
    assert_eq!(
        cubic,
        [
            "1/v1 qoe [points]",
            "1/v1 vmaf [points]",
            "1/v1 mean_rate_bps [bit/s]",
            "1/v1 bitrate_bps [bit/s]",
            "1/v1 stall_s [s]",
            "1/v1 stalls []",
            "1/v1 startup_s [s]",
            "1/v1 mean_buffer_s [s]",
            "1/v1 switches []",
            "1/v1 chunks []",
            "1 min_qoe [points]",
            "1 mean_qoe [points]",
            "1 qoe_range [points]",
            "1 stall_total_s [s]",
            "1 link_utilisation []",
            "1 mean_queue_packets [packets]",
            "1 mean_queue_ms [ms]",
            "1 queue_p50_ms [ms]",
            "1 queue_p99_ms [ms]",
            "1 queue_p999_ms [ms]",
            "1 queue_max_ms [ms]",
            "1 drops_overflow [packets]",
            "1 drops_aqm [packets]",
            "1 drops_loss [packets]",
            "1 drops_unreachable [packets]",
            "1 drops_too_large [packets]",
            "1 drops_newer [packets]",
            "1 drops_bitrate [packets]",
            "1 drops_headless [packets]",
            "1 jain_rates []",
            "1 failed_sessions []",
        ]
    );
    for scheme in ["cubic", "minerva"] {
        let qoe: Vec<f64> = values(rows, scheme, "qoe").iter().map(|r| r.value).collect();
        let min = qoe[0].min(qoe[1]);
        assert_eq!(value(rows, scheme, "min_qoe"), min);
        assert!((value(rows, scheme, "mean_qoe") - (qoe[0] + qoe[1]) / 2.0).abs() < 1e-9);
        assert!((value(rows, scheme, "qoe_range") - (qoe[0].max(qoe[1]) - min)).abs() < 1e-9);
        // Quality bounds QoE from above; 30 s hold seven or eight chunks of 4 s.
        for (quality, qoe) in values(rows, scheme, "vmaf").iter().zip(&qoe) {
            assert!(quality.value >= *qoe && quality.value <= 100.0);
        }
        for chunks in values(rows, scheme, "chunks") {
            assert!((6.0..=8.0).contains(&chunks.value), "{}", chunks.value);
        }
        // What both got went through the link, and little else did.
        let got: f64 = values(rows, scheme, "mean_rate_bps").iter().map(|r| r.value).sum();
        let used = value(rows, scheme, "link_utilisation");
        assert!(used > 0.5 && used <= 1.0, "{used}");
        assert!(got <= 4e6 * used * 1.001 && got > 4e6 * used * 0.9, "{got} of {used}");
        for buffer in values(rows, scheme, "mean_buffer_s") {
            assert!((0.5..=26.0).contains(&buffer.value), "{}", buffer.value);
        }
        assert_eq!(value(rows, scheme, "failed_sessions"), 0.0);
    }
    assert_eq!(story.summary.runs.len(), 2);
    assert_eq!(story.summary.virtual_s, 60.0);
    assert!(
        story.verdict.starts_with("The worse of two viewers gets a QoE of "),
        "{}",
        story.verdict
    );
    assert!(story.table.lines().count() == 3 && story.table.contains("Minerva"), "{}", story.table);
}

#[test]
fn the_report_shows_every_viewer_over_time_and_says_how_to_repeat_it() {
    let story = story_of(&plan(TWO_VIEWERS, None), &Options::default(), |_| {});
    let section = &story.report.sections[0];
    assert_eq!(section.schemes.len(), 2);
    assert_eq!(section.dots[0].rows[1].dots.len(), 2);
    assert_eq!(section.curves[0].charts[1].marks.len(), 2);
    assert_eq!(section.tables[1].rows.len(), 4, "two viewers under two schemes");
    let panels: Vec<&str> = section.runs[1].panels.iter().map(|p| p.id.as_str()).collect();
    let expected = ["rate", "bitrate", "buffer", "quality", "qoe", "weight", "link", "queue"];
    assert_eq!(panels, expected);
    for panel in &section.runs[1].panels[..6] {
        assert_eq!(panel.series.len(), 2, "{}", panel.id);
        for line in &panel.series {
            assert!(line.times_s.len() > 5 && line.times_s.is_sorted(), "{}", panel.id);
            assert!(line.times_s.iter().all(|t| (0.0..=30.0).contains(t)), "{}", panel.id);
        }
    }
    let start = &section.runs[0].spans[0];
    assert!(start.kind == "start-up" && start.start_s == 0.0 && start.end_s > 0.0);
    let [origin] = story.report.provenance.as_slice() else { panic!("one seed") };
    assert_eq!(origin.command, "airlane run x.toml --content 'some folder' --seed 1");
    assert_eq!(origin.packet_hashes.len(), 2);
    assert!(origin.scenario_text.contains("Two viewers"));
    assert!(airlane_report::render(&story.report).len() < 3_000_000);
}

#[test]
fn a_seed_fixes_every_byte_and_every_packet() {
    let of = |seed, clock_shift| {
        let options = Options { clock_shift, ..Options::default() };
        let story = story_of(&plan(TWO_VIEWERS, Some(seed)), &options, |_| {});
        let hashes: Vec<String> =
            story.summary.runs.iter().filter_map(|r| r.packet_hash.clone()).collect();
        (story.summary.to_json().unwrap(), hashes, story.report.to_json())
    };
    let one = of(1, Duration::ZERO);
    for clock_shift in [Duration::ZERO, Duration::from_nanos(987_654_321_987)] {
        let again = of(1, clock_shift);
        assert_eq!(one.1, again.1, "the packets, clock shifted by {clock_shift:?}");
        assert_eq!(one.0, again.0, "the summary, clock shifted by {clock_shift:?}");
        assert!(one.2 == again.2, "the report, clock shifted by {clock_shift:?}");
    }
    let other = of(2, Duration::ZERO);
    assert_ne!(one.1, other.1);
    assert_ne!(one.0, other.0);
}

#[test]
fn a_failed_session_is_told_and_counts_like_any_other() {
    let plan = plan(TWO_VIEWERS, None);
    let story = story_of(&plan, &Options::default(), |output| {
        if output.key.scheme == 1 {
            let viewers = &mut output.parts.of_mut::<vod::Output>().unwrap().0;
            viewers[0].failure = Some("the connection was lost".to_owned());
        }
    });
    assert_eq!(story.failed, 1);
    assert!(story.verdict.starts_with("1 of 4 sessions failed."), "{}", story.verdict);
    let note = "Viewer 1 failed under Minerva (case 1, seed 1): the connection was lost";
    assert!(story.report.notes.iter().any(|n| n == note), "{:?}", story.report.notes);
    let all = story_of(&plan, &Options::default(), |_| {});
    for metric in ["min_qoe", "mean_qoe", "qoe_range"] {
        let of = |s: &RunReport| value(&s.summary.rows, "minerva", metric);
        assert_eq!(of(&story), of(&all), "{metric}");
    }
    assert_eq!(value(&story.summary.rows, "minerva", "failed_sessions"), 1.0);
    let by_viewer = |s: &RunReport| s.report.sections[0].tables[1].clone();
    assert_eq!(by_viewer(&story), by_viewer(&all));
}

#[test]
fn transfers_alone_have_their_own_table_and_verdict() {
    let story = story_of(&plan(TRANSFERS, None), &Options::default(), |_| {});
    let rows = &story.summary.rows;
    assert_eq!(values(rows, "cubic", "goodput_bps").len(), 4, "two transfers, two seeds");
    assert!(values(rows, "cubic", "min_qoe").is_empty());
    assert!(story.verdict.starts_with("The slower of two transfers gets "), "{}", story.verdict);
    assert!(story.verdict.contains(" % of the link in use"), "{}", story.verdict);
    let section = &story.report.sections[0];
    assert_eq!(section.tables[1].rows.len(), 2);
    let Cell::Number { ci95: Some(_), .. } = section.tables[1].rows[0].cells[2] else {
        panic!("two seeds have an interval")
    };
    assert_eq!(section.runs.len(), 1, "the first seed only");
    let panels: Vec<&str> = section.runs[0].panels.iter().map(|p| p.id.as_str()).collect();
    assert_eq!(panels, ["rate", "link", "queue"]);
}

#[test]
fn what_finished_before_a_stop_is_told_as_such() {
    let plan = plan(TRANSFERS, None);
    let story = with_common(&StopFlag::default(), |common| {
        let caches = Caches::of_plan(&plan).unwrap();
        tell(&plan, &caches, common, Vec::new(), (2, true))
    });
    assert_eq!(story.verdict, "Stopped after 0 of 2 runs.");
    assert!(story.table.is_empty() && story.summary.rows.is_empty());
    assert!(story.report.notes[0].starts_with("This was stopped: 0 of 2 runs finished"));
    assert!(airlane_report::render(&story.report).contains("</html>"));
}

fn side(title: &str, worst: &[f64], stalled: f64) -> Side {
    Side {
        title: title.to_owned(),
        worst: Samples(vec![worst.to_vec()]),
        stalled: Samples(vec![vec![stalled; worst.len()]]),
    }
}

#[test]
fn the_verdict_says_what_the_figures_say() {
    let cubic = |stalled| side("Cubic", &[73.4, 73.2, 73.6], stalled);
    let bbr = side("BBR", &[70.0, 69.0, 71.0], 0.0);
    let on = |sides: &[Side]| on_viewers(4, "points", sides);

    let better = on(&[cubic(0.0), bbr, side("Minerva", &[79.7, 79.9, 79.6], 0.0)]);
    let start = "The worst of four viewers gets a QoE of 79.7 under Minerva, 73.4 under Cubic and \
                 70.0 under BBR: +6.3 points over Cubic (95 % interval ";
    assert!(better.starts_with(start), "{better}");
    assert!(better.ends_with(", 3 seeds), without stalls in either."), "{better}");

    let worse = on(&[cubic(0.0), side("Minerva", &[63.4, 63.3, 63.5], 4.0)]);
    assert!(worse.contains(": 10.0 points less than Cubic (95 % interval "), "{worse}");
    assert!(worse.ends_with(", and with more stalling (4.0 s instead of 0.0 s)."), "{worse}");

    let equal = on(&[cubic(2.0), side("Minerva", &[73.4, 73.2, 73.6], 2.0)]);
    assert!(equal.contains(": no clear difference to Cubic: +0.0 points"), "{equal}");
    assert!(equal.ends_with(", with as much stalling (2.0 s)."), "{equal}");

    let undecided = on(&[cubic(3.0), side("Minerva", &[80.4, 68.2, 73.9], 1.0)]);
    assert!(
        undecided.contains(": no clear difference to Cubic: +0.8 points (95 % "),
        "{undecided}"
    );

    let dear = on(&[cubic(0.0), side("Minerva", &[79.7, 79.9, 79.6], 2.5)]);
    assert!(dear.ends_with(", but with more stalling (2.5 s instead of 0.0 s)."), "{dear}");

    let mut noisy = side("Minerva", &[79.7, 79.9, 79.6], 0.0);
    noisy.stalled = Samples(vec![vec![4.0, 0.0, 3.0]]);
    let unclear = on(&[cubic(2.0), noisy]);
    let end = ", with 2.3 s of stalls instead of 2.0 s, which may be chance.";
    assert!(unclear.ends_with(end), "{unclear}");

    let one_run = on(&[side("Cubic", &[70.0], 0.0), side("Minerva", &[75.0], 0.0)]);
    let end = ": +5.0 points over Cubic (one run each: chance is not ruled out), without stalls \
               in either.";
    assert!(one_run.ends_with(end), "{one_run}");

    assert_eq!(
        on_viewers(1, "dB", &[side("Cubic", &[41.0], 1.5)]),
        "The viewer gets a QoE of 41.0 under Cubic; together the pictures stand still for 1.5 s."
    );
    let none = "No run has the figures that a comparison needs.";
    assert_eq!(on(&[side("Cubic", &[], 0.0), side("Minerva", &[], 0.0)]), none);
    assert_eq!(on_transfers(1, &[]), none);
}

#[test]
fn the_interval_of_few_units_is_students() {
    let of = |values: &[f64]| Samples(vec![Vec::new(), values.to_vec()]).ci95("x");
    // 4.303 standard errors of three values with deviation 1.
    let three = of(&[1.0, 2.0, 3.0]).unwrap();
    assert!((three.lo + 0.484).abs() < 1e-3 && (three.hi - 4.484).abs() < 1e-3, "{three:?}");
    assert_eq!(of(&[1.0]), None);
    let many: Vec<f64> = (0..40).map(f64::from).collect();
    let wide = of(&many).unwrap();
    assert!(wide.lo > 14.0 && wide.hi < 25.0 && wide.contains(19.5), "{wide:?}");
}

#[test]
fn several_cases_are_the_units_of_the_interval() {
    let over = |values: [[f64; 2]; 3]| Samples(values.iter().map(|v| v.to_vec()).collect());
    let of = |title: &str, values| Side {
        title: title.to_owned(),
        worst: over(values),
        stalled: over([[0.0; 2]; 3]),
    };
    let sides = [
        of("Cubic", [[70.0, 71.0], [60.0, 61.0], [50.0, 51.0]]),
        of("Minerva", [[75.0, 76.0], [64.0, 66.0], [56.0, 56.0]]),
    ];
    let verdict = on_viewers(4, "points", &sides);
    assert!(
        verdict.starts_with("Over 3 cases, the worst of four viewers gets a QoE of 65.5 "),
        "{verdict}"
    );
    assert!(verdict.contains(": +5.0 points over Cubic (95 % interval +"), "{verdict}");
    assert!(verdict.contains(", 3 cases)"), "{verdict}");
    assert_eq!(sides[0].worst.units(), 3);
}

/// Unit by metric of the rows of a short run of two viewers on embedded content.
fn units(metrics: [&str; 2]) -> Vec<(String, String)> {
    let [one, other] = metrics;
    let two = format!("[[viewer]]\nmetric = \"{one}\"\n[[viewer]]\nmetric = \"{other}\"\n");
    let text = TWO_VIEWERS.replace("[[viewer]]\n[[viewer]]\n", &two);
    let scenario = Scenario::from_bytes(
        airlane_lab::registry().scenarios(),
        text.as_bytes(),
        Path::new("x.toml"),
        &[],
    )
    .unwrap();
    let plan = Plan::new(scenario, &Common::default()).unwrap();
    let rows = story_of(&plan, &Options::default(), |_| {}).summary.rows;
    let shown = rows.into_iter().filter(|r| r.scheme == "cubic");
    shown.map(|r| (r.metric, r.unit)).collect()
}

#[test]
fn units_are_those_of_the_metric_and_several_units_have_no_minimum() {
    let unit = |rows: &[(String, String)], metric: &str| -> Vec<String> {
        let of = rows.iter().filter(|(name, _)| name == metric);
        of.map(|(_, unit)| unit.clone()).collect()
    };
    let decibels = units(["psnr_db", "psnr_db"]);
    for metric in ["min_qoe", "mean_qoe", "qoe_range"] {
        assert_eq!(unit(&decibels, metric), ["dB"], "{metric}");
    }
    let mixed = units(["vmaf", "psnr_db"]);
    assert_eq!(unit(&mixed, "qoe"), ["points", "dB"]);
    for metric in ["min_qoe", "mean_qoe", "qoe_range"] {
        assert!(unit(&mixed, metric).is_empty(), "{metric}");
    }
}
