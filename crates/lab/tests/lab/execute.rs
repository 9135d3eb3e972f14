//! From a plan to files, with runs that are made up.

use std::fs;
use std::path::Path;
use std::time::Duration;

use airlane_base::Time;
use airlane_judge::leave;
use airlane_judge::summary::{RunEntry, Summary};
use airlane_scenario::Scenario;
use airlane_sim::Common;
use airlane_sim::LabError;
use airlane_sim::execute;
use airlane_sim::plan::Plan;
use airlane_sim::{OutFolder, RunInfo};

const TEXT: &str = "name = \"made-up\"\nseeds = [1, 2, 3]\n[link]\nrate_bps = 1e6\n\
                    [[scheme]]\nname = \"a\"\n[[scheme]]\nname = \"b\"\n[[bulk]]\n";

fn with_common<T>(act: impl FnOnce(&Plan, &Common<'_>) -> T) -> T {
    let elapsed = || Time::from_millis(1_500).since_start();
    let common = Common {
        circumstances: RunInfo {
            command: ["airlane", "run", "x.toml"].map(str::to_owned).to_vec(),
            ..RunInfo::default()
        },
        elapsed: &elapsed,
        ..Common::default()
    };
    let scenario = Scenario::from_bytes(
        airlane_lab::registry().scenarios(),
        TEXT.as_bytes(),
        Path::new("x.toml"),
        &[],
    )
    .unwrap();
    act(&Plan::new(scenario, &common).unwrap(), &common)
}

#[test]
fn runs_come_back_in_the_order_of_the_plan() {
    with_common(|plan, common| {
        let done = execute(plan, common, |key, ticket| {
            ticket.advance(100);
            Ok(key.seed * 10 + key.scheme as u64)
        })
        .unwrap();
        let results: Vec<u64> = done.results.iter().map(|(_, r)| *r).collect();
        assert_eq!(results, [10, 11, 20, 21, 30, 31]);
        assert_eq!((done.planned, done.stopped), (6, false));
    });
}

#[test]
fn a_fault_names_the_run_and_how_to_repeat_it() {
    with_common(|plan, common| {
        let error = execute(plan, common, |key, _| match (key.scheme, key.seed) {
            (1, 2) => Err(LabError::fault("a wheel fell off at 3.000000000 s")),
            _ => Ok(()),
        })
        .unwrap_err();
        let LabError::Fault(fault) = error else { panic!("{error}") };
        let run = fault.run.unwrap();
        assert_eq!(run.label, "made-up, b, case 1, seed 2");
        assert_eq!(run.command, "airlane run x.toml --seed 2");
    });
}

#[test]
fn what_finished_before_a_stop_is_left_complete_and_readable() {
    let dir = std::env::temp_dir().join(format!("airlane-execute-{}", std::process::id()));
    with_common(|plan, common| {
        let done = execute(plan, common, |key, ticket| {
            if (key.scheme, key.seed) == (1, 2) {
                common.stop.stop();
            }
            ticket.stop.check().map(|()| Duration::from_secs(200))
        })
        .unwrap();
        assert!(done.stopped && done.results.len() == 3 && done.planned == 6);
        let mut summary = Summary::new("made-up", plan.scenario.seeds.clone());
        for (key, virtual_time) in &done.results {
            summary.virtual_s += virtual_time.as_secs_f64();
            summary.runs.push(RunEntry {
                experiment: "made-up".to_owned(),
                case: plan.cases[key.case].name.clone(),
                scheme: plan.scenario.schemes[key.scheme].name.clone(),
                seed: key.seed,
                packet_hash: Some(format!("{:016x}", key.seed)),
            });
        }
        let folder = OutFolder::prepare(&dir).unwrap();
        leave(&folder, common, &summary, "<!doctype html>", (done.planned, done.stopped)).unwrap();
        let read = |name: &str| fs::read_to_string(folder.path(name)).unwrap();
        assert_eq!(serde_json::from_str::<Summary>(&read("summary.json")).unwrap(), summary);
        let info: RunInfo = serde_json::from_str(&read("run.json")).unwrap();
        assert_eq!((info.runs_planned, info.runs_finished, info.stopped), (6, 3, true));
        assert_eq!(info.wall_s, 1.5);
        assert_eq!(read("report.html"), "<!doctype html>");
    });
    fs::remove_dir_all(dir).unwrap();
}
