//! The air of a WiFi as a run and its report show it.

use std::path::Path;
use std::time::Duration;

use airlane_base::Time;
use airlane_judge::reporting::{ReportedRun, RunReport, tell};
use airlane_net::Direction;
use airlane_net::air::AttemptOutcome;
use airlane_report::model::Cell;
use airlane_scenario::Scenario;
use airlane_sim::Common;
use airlane_sim::plan::Plan;
use airlane_sim::pool::StopFlag;
use airlane_sim::workload::Caches;
use airlane_sim::world::RunOutput;

use crate::runs::run_one;

fn plan(set: &[&str]) -> Plan {
    let set: Vec<String> = set.iter().map(|s| (*s).to_owned()).collect();
    let scenario =
        Scenario::from_file(airlane_lab::registry().scenarios(), Path::new("wifi"), &set).unwrap();
    Plan::new(scenario, &Common::default()).unwrap()
}

fn first(plan: &Plan) -> RunOutput {
    run_one(plan, plan.runs().next().unwrap())
}

fn story(plan: &Plan) -> RunReport {
    let told: Vec<ReportedRun> =
        plan.runs().map(|key| ReportedRun::of(plan, &run_one(plan, key))).collect();
    let elapsed = || Duration::ZERO;
    let common = Common { elapsed: &elapsed, stop: StopFlag::default(), ..Common::default() };
    let planned = told.len();
    tell(plan, &Caches::of_plan(plan).unwrap(), &common, told, (planned, false))
}

#[test]
fn the_bins_of_the_air_add_up_to_what_the_medium_counts() {
    let output = first(&plan(&["duration_s=4"]));
    let [air] = output.airs.as_slice() else { panic!("one WiFi") };
    assert_eq!((air.access.as_str(), air.ways.len()), ("home", 8), "four stations, both ways");
    assert_eq!(air.bin, Duration::from_millis(100));
    let bin_s = air.bin.as_secs_f32();
    for number in 0..40 {
        let held: f32 = air.ways.iter().map(|way| way.bins[number].total()).sum();
        assert!(held <= bin_s * 1.001, "one at a time: {held} s of bin {number}");
        // Bulk transfers leave little of it unused once they have begun.
        assert!(number < 5 || held > 0.5 * bin_s, "{held} s of bin {number}");
    }
    let mut all = (0.0, 0.0);
    for way in &air.ways {
        assert_eq!(way.bins.len(), 40);
        let held: f64 = way.bins.iter().map(|bin| f64::from(bin.total())).sum();
        let of = &output.ways[way.way];
        assert_eq!(of.direction, way.direction);
        let charged = of.air.as_ref().unwrap().charged.as_secs_f64();
        assert!(held <= charged, "{}: {held} s held, {charged} s charged", of.access);
        all = (all.0 + held, all.1 + charged);
    }
    // All who take part in a collision pay for it.
    assert!(all.1 < 4.0 * 1.2, "hardly more is charged than there was: {all:?}");
    let shares: f64 = output.ways.iter().filter_map(|way| way.air_share()).sum();
    assert!((shares - all.1 / 4.0).abs() < 1e-6, "{shares}");
}

#[test]
fn the_stretch_has_every_attempt_and_of_two_at_once_one_comes_at_most() {
    let output = first(&plan(&["duration_s=4"]));
    let air = &output.airs[0];
    let (from, until) = air.stretch;
    assert_eq!((from, until), (Time::from_millis(2_000), Time::from_millis(2_030)));
    assert!(air.attempts.len() > 10, "{} attempts", air.attempts.len());
    for (i, (way, attempt)) in air.attempts.iter().enumerate() {
        assert!(attempt.from < attempt.until && attempt.until > from && attempt.from < until);
        if let AttemptOutcome::Delivered(came) = attempt.outcome {
            assert!((1..=attempt.frames).contains(&came));
        }
        assert!(attempt.repeated <= attempt.frames);
        for (other, later) in &air.attempts[i + 1..] {
            if attempt.from >= later.until || later.from >= attempt.until {
                continue;
            }
            let is_down = |way: usize| air.ways[way].direction == Direction::Down;
            assert!(way != other, "packets of a way go one attempt at a time");
            assert!(!(is_down(*way) && is_down(*other)), "the access point sends one at a time");
            let both =
                [attempt, later].iter().all(|a| matches!(a.outcome, AttemptOutcome::Delivered(_)));
            assert!(!both, "{attempt:?} and {later:?} both came");
        }
    }
}

#[test]
fn a_run_that_ends_early_has_no_stretch_and_many_bins_are_bounded() {
    let output = first(&plan(&["duration_s=0.02"]));
    let air = &output.airs[0];
    assert!(air.attempts.is_empty() || air.stretch.0 < air.stretch.1);
    assert_eq!(air.ways[0].bins.len(), 1);
    let long = first(&plan(&["duration_s=150", "bulk.0.bytes=2000000", "bulk.1.bytes=200000"]));
    assert!(long.airs[0].bin > Duration::from_millis(100));
    assert!(long.airs[0].ways.iter().all(|way| way.bins.len() <= 1_000));
}

#[test]
fn the_report_of_a_wifi_shows_its_air_and_names_stations_after_their_connections() {
    let plan = plan(&["duration_s=4"]);
    let story = story(&plan);
    let section = &story.report.sections[0];
    let run = &section.runs[0];
    let panels: Vec<&str> = run.panels.iter().map(|p| p.id.as_str()).collect();
    assert_eq!(panels, ["rate", "air", "queue", "rtt"]);
    let stations = ["near.1", "near.2", "far.1", "far.2"];
    for panel in &run.panels {
        let names: Vec<&str> = panel.series.iter().map(|s| s.name.as_str()).collect();
        assert_eq!(names, stations, "{}", panel.id);
        let any = panel.series.iter().flat_map(|s| &s.values).any(|v| *v > 0.0);
        assert!(any, "{}", panel.id);
    }
    assert_eq!(run.actors.len(), 4, "no line of its own for what carries it");
    let [air] = run.occupancies.as_slice() else { panic!("one WiFi") };
    let holders: Vec<&str> = air.holders.iter().map(|h| h.actor.as_str()).collect();
    assert_eq!(holders, stations);
    for holder in &air.holders {
        assert_eq!(holder.shares.len(), air.kinds.len());
        assert!(holder.shares.iter().flatten().all(|share| (0.0..=1.0).contains(share)));
    }
    let stretch = air.stretch.as_ref().unwrap();
    assert!(stretch.holds.iter().any(|hold| hold.note.contains("frame")));
    assert!(
        story.table.contains("near air") && story.table.contains("even air"),
        "{}",
        story.table
    );
    assert!(!story.table.contains("home") && !story.table.contains("use"), "{}", story.table);
    let by_access = section.tables.iter().find(|t| t.title == "By access").unwrap();
    let titles: Vec<&str> = by_access.columns.iter().map(|c| c.title.as_str()).collect();
    assert_eq!(titles, ["Access", "Scheme", "Share of the air", "Queueing delay", "Dropped"]);
    let down: f64 = by_access
        .rows
        .iter()
        .filter_map(|row| match row.cells[2] {
            Cell::Number { value, .. } if row.cells[1] == Cell::from("Cubic") => Some(value),
            _ => None,
        })
        .sum();
    // All who take part in a collision are charged for it.
    assert!(down > 60.0 && down < 110.0, "of the air of one channel: {down} %");
    assert!(airlane_report::render(&story.report).len() < 3_000_000);
    let even = story.summary.rows.iter().find(|r| r.metric == "jain_air").unwrap().value;
    assert!((0.25..=1.0).contains(&even), "{even}");
}

#[test]
fn a_wifi_beside_a_link_keeps_the_link_s_use() {
    let text = "name = \"mixed\"\nduration_s = 3\nseeds = [1]\n[[access]]\nname = \"dsl\"\n\
        down = { rate_bps = 8e6 }\n[[access]]\nname = \"home\"\nkind = \"wifi\"\n\
        [[scheme]]\nname = \"cubic\"\n[[bulk]]\nname = \"a\"\nat = \"dsl\"\n\
        [[bulk]]\nname = \"b\"\nat = \"home\"\n";
    let scenario = Scenario::from_bytes(
        airlane_lab::registry().scenarios(),
        text.as_bytes(),
        Path::new("x.toml"),
        &[],
    )
    .unwrap();
    let plan = Plan::new(scenario, &Common::default()).unwrap();
    let output = first(&plan);
    let direction = |way: &airlane_sim::world::DirectionOutput| way.direction == Direction::Down;
    let on_air: Vec<bool> =
        output.ways.iter().filter(|w| direction(w)).map(|w| w.air.is_some()).collect();
    assert_eq!(on_air, [false, true]);
    let story = story(&plan);
    let panels: Vec<&str> =
        story.report.sections[0].runs[0].panels.iter().map(|p| p.id.as_str()).collect();
    assert_eq!(panels, ["rate", "link", "air", "queue", "rtt"]);
    let by_access =
        story.report.sections[0].tables.iter().find(|t| t.title == "By access").unwrap();
    let cells = |row: usize| &by_access.rows[row].cells;
    assert!(matches!(cells(0)[2], Cell::Number { .. }) && cells(0)[3] == Cell::Empty);
    assert!(matches!(cells(2)[3], Cell::Number { .. }) && cells(2)[2] == Cell::Empty);
    assert!(
        story.table.contains("dsl down use") && story.table.contains("home air"),
        "{}",
        story.table
    );
}

#[test]
fn a_sender_that_nothing_answers_has_waited_all_the_time() {
    let text = "name = \"far\"\nduration_s = 3\nseeds = [1]\n[[access]]\nname = \"home\"\nkind = \"wifi\"\n\
        wifi = { station = { snr_db = -10 } }\n[[scheme]]\nname = \"cupid\"\ncontroller = \"cupid\"\n\
        [[bulk]]\nname = \"a\"\nat = \"home\"\nstart_s = 1\n";
    let scenario = Scenario::from_bytes(
        airlane_lab::registry().scenarios(),
        text.as_bytes(),
        Path::new("x.toml"),
        &[],
    )
    .unwrap();
    let plan = Plan::new(scenario, &Common::default()).unwrap();
    let story = story(&plan);
    let warning = "Stations on \"home\" can never be reached";
    assert!(story.verdict.starts_with(warning), "{}", story.verdict);
    assert!(
        story.report.notes.iter().any(|note| note.starts_with(warning)),
        "{:?}",
        story.report.notes
    );
    let rows = story.summary.rows;
    let of = |metric: &str| rows.iter().find(|row| row.metric == metric).unwrap().value;
    assert_eq!((of("goodput_bps"), of("rtt_p95_s")), (0.0, 2.0));
}
