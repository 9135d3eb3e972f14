//! The tables of Prague behind DualPI2: alone, and beside Cubic.

use std::time::Duration;

use airlane_congestion::Algorithm;

use crate::harness::{AckPolicy, Discipline, Outcome, run};
use crate::links::{flow, jain, link};
use crate::tables::{header, mean};

/// Flows of these controllers, all with the same round trip, behind DualPI2.
fn outcomes(algorithms: &[Algorithm], mbps: f64, rtt_ms: u64, seeds: u64) -> Vec<Outcome> {
    let run_once = |seed| {
        let (mut scene, rtt) = link(mbps, rtt_ms, 1.0, 90.0, seed);
        scene.discipline = Discipline::DualPi2(1_000);
        scene.warmup = Duration::from_secs(30);
        let flows = algorithms.iter().map(|algorithm| {
            let mut flow = flow(*algorithm, rtt, seed);
            (flow.acks, flow.burst) = (AckPolicy::EACH, 1.0);
            flow
        });
        run(&scene, flows.collect())
    };
    (1..=seeds).map(run_once).collect()
}

fn of(outs: &[Outcome], figure: impl Fn(&Outcome) -> f64) -> f64 {
    mean(&outs.iter().map(figure).collect::<Vec<_>>())
}

/// Prague alone, and beside Cubic.
pub fn prague(seeds: u64) {
    let columns = ["Mbit/s", "RTT", "flows", "utilisation", "median wait", "99 %", "Jain's index"];
    header("Prague behind DualPI2", &columns.map(str::to_owned));
    for (mbps, rtt_ms) in [(4.0, 20), (4.0, 60), (12.0, 60), (40.0, 10), (40.0, 60), (120.0, 20)] {
        for flows in [1, 4] {
            let outs = outcomes(&vec![Algorithm::Prague; flows], mbps, rtt_ms, seeds);
            println!(
                "| {mbps} | {rtt_ms} ms | {flows} | {:.3} | {:.1} ms | {:.1} ms | {:.3} |",
                of(&outs, |o| o.link.utilisation),
                of(&outs, |o| o.flows[0].wait_ms(0.5)),
                of(&outs, |o| o.flows[0].wait_ms(0.99)),
                of(&outs, jain),
            );
        }
    }
    let columns =
        ["Mbit/s", "RTT", "Prague's share", "its 99 % wait", "Cubic's median wait", "utilisation"];
    header("one Prague beside one Cubic, DualPI2", &columns.map(str::to_owned));
    for (mbps, rtt_ms) in [(4.0, 20), (12.0, 10), (12.0, 20), (40.0, 10), (40.0, 20), (40.0, 60)] {
        let outs = outcomes(&[Algorithm::Prague, Algorithm::Cubic], mbps, rtt_ms, seeds);
        let packets = |o: &Outcome, i: usize| o.flows[i].packets as f64;
        println!(
            "| {mbps} | {rtt_ms} ms | {:.2} | {:.1} ms | {:.1} ms | {:.3} |",
            of(&outs, |o| packets(o, 0) / (packets(o, 0) + packets(o, 1))),
            of(&outs, |o| o.flows[0].wait_ms(0.99)),
            of(&outs, |o| o.flows[1].wait_ms(0.5)),
            of(&outs, |o| o.link.utilisation),
        );
    }
}
