//! Worlds on a half-duplex access: both directions of one budget, in figures, rows and words.

use std::path::Path;

use airlane_lab::workloads::bulk;
use airlane_net::Direction::{Down, Up};
use airlane_scenario::Scenario;
use airlane_sim::Common;
use airlane_sim::plan::Plan;
use airlane_sim::world::RunOutput;

use crate::runs::run_one;

fn runs(set: &[&str]) -> (Plan, Vec<RunOutput>) {
    let set: Vec<String> = set.iter().map(|s| (*s).to_owned()).collect();
    let name = Path::new("half-duplex");
    let registry = airlane_lab::registry();
    let scenario = Scenario::from_file(registry.scenarios(), name, &set).unwrap();
    let plan = Plan::new(scenario, &Common::default()).unwrap();
    let outputs = plan.runs().map(|key| run_one(&plan, key)).collect();
    (plan, outputs)
}

/// Mbit/s that each transfer got from 5 s on.
fn rates(output: &RunOutput) -> Vec<f64> {
    let of = |transfer: &bulk::TransferOutput| {
        let at = |s: f64| transfer.samples.iter().find(|x| x.at.as_secs_f64() >= s);
        let (from, to) = (at(5.0).unwrap(), transfer.samples.last().unwrap());
        (to.acked_bytes - from.acked_bytes) as f64 * 8e-6 / (to.at - from.at).as_secs_f64()
    };
    bulk::Output::of(output).iter().map(of).collect()
}

#[test]
fn a_transfer_each_way_gets_half_of_the_one_budget() {
    let (plan, outputs) = runs(&["duration_s=20"]);
    // BBR's queue runs empty at times, and then the other direction has the turn.
    for (output, within) in outputs.iter().zip([0.02, 0.05]) {
        let [down, up] = output.ways.as_slice() else { panic!("{:?}", output.ways) };
        assert_eq!((down.direction, up.direction), (Down, Up));
        let rates = rates(output);
        println!("{:?}: {rates:?} Mbit/s", output.key);
        let [a, b] = rates.as_slice() else { panic!("{rates:?}") };
        assert!((a / (a + b) - 0.5).abs() < within, "{rates:?}");
        let (used_down, used_up) = (down.report.utilisation, up.report.utilisation);
        assert!(used_down + used_up <= 1.0 && used_down + used_up > 0.9, "{used_down} {used_up}");
        // No only link: the figures are of each direction.
        let result = output.result(&plan);
        assert_eq!(result.value("link_utilisation"), None);
        let ways: Vec<(&str, f64)> = result
            .ways
            .iter()
            .map(|w| (w.name.as_str(), w.figures.value("link_utilisation").unwrap()))
            .collect();
        assert_eq!(ways, [("air.down", used_down), ("air.up", used_up)]);
        // The samples of both are of the one capacity.
        assert_eq!(down.rows.len(), up.rows.len());
        for (a, b) in down.rows.iter().zip(&up.rows) {
            assert_eq!((a.at, a.capacity_bytes), (b.at, b.capacity_bytes));
            assert!((a.carried_bytes + b.carried_bytes) as f64 <= a.capacity_bytes + 1.0);
        }
    }
}

#[test]
fn a_lone_download_has_all_but_its_acknowledgements() {
    let set = ["duration_s=10", "bulk=[{ name = \"down\" }]"];
    let (_, outputs) = runs(&set);
    let [down, up] = outputs[0].ways.as_slice() else { panic!("{:?}", outputs[0].ways) };
    let (used_down, used_up) = (down.report.utilisation, up.report.utilisation);
    assert!(used_down > 0.9 && used_up < 0.05, "{used_down} {used_up}");
    assert!(used_down + used_up <= 1.0);
}

#[test]
fn with_one_per_host_hosts_do_not_share() {
    let (_, shared) = runs(&["duration_s=10"]);
    let (_, own) = runs(&["duration_s=10", "access.0.per_host=true"]);
    let names: Vec<&str> = own[0].ways.iter().map(|w| w.access.as_str()).collect();
    assert_eq!(names, ["air", "air", "air.2", "air.2"]);
    let sum = |outputs: &[RunOutput]| rates(&outputs[0]).iter().sum::<f64>();
    assert!(sum(&own) > 1.7 * sum(&shared), "{} and {}", sum(&own), sum(&shared));
}

#[test]
fn runs_repeat() {
    let hashes = || -> Vec<_> {
        runs(&["duration_s=3"]).1.iter().map(|output| output.packet_hash).collect()
    };
    assert_eq!(hashes(), hashes());
}
