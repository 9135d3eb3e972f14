//! The table of two coupled flows beside plain ones on a bottleneck that all share.

use std::time::Duration;

use airlane_base::{Seed, Time};
use airlane_congestion::{Algorithm, ControllerConfig, Group};

use crate::harness::{Discipline, Flow, PACKET_BYTES, Scene, run};
use crate::tables::{header, spread};

/// Two flows with round trips `own`, coupled or not, beside `beside` flows of Reno.
struct Case {
    own: [u64; 2],
    beside: usize,
    rtt: u64,
}

const CASES: [Case; 6] = [
    Case { own: [40, 40], beside: 1, rtt: 40 },
    Case { own: [40, 40], beside: 2, rtt: 40 },
    Case { own: [40, 40], beside: 4, rtt: 40 },
    Case { own: [20, 60], beside: 1, rtt: 20 },
    Case { own: [20, 60], beside: 1, rtt: 60 },
    Case { own: [100, 100], beside: 1, rtt: 100 },
];

/// What two flows of one stream take together, as shares of the bottleneck.
pub fn coupled(seeds: u64) {
    let queues = [
        ("droptail 1 BDP", None, 1.0),
        ("droptail 2 BDP", None, 2.0),
        ("PIE", Some(Discipline::Pie(1_000)), 0.0),
    ];
    let mut columns = vec!["round trips, ms".to_owned(), "Reno beside".to_owned()];
    columns.push("one flow's share".to_owned());
    for (name, ..) in queues {
        columns.extend([format!("coupled, {name}"), format!("two Renos, {name}")]);
    }
    header("two flows of one stream, 12 Mbit/s", &columns);
    for case in &CASES {
        let mut cells = vec![
            format!("{:?}", case.own),
            format!("{} of {} ms", case.beside, case.rtt),
            format!("{:.2}", 1.0 / (case.beside as f64 + 1.0)),
        ];
        for (_, queue, bdp) in queues {
            // A packet takes a millisecond.
            let packets = (case.rtt as f64 * bdp).round() as usize;
            let queue = queue.unwrap_or(Discipline::DropTail(packets));
            for algorithm in [Algorithm::Coupled, Algorithm::Reno] {
                let shares: Vec<f64> =
                    (1..=seeds).map(|seed| share(case, algorithm, queue, seed)).collect();
                cells.push(spread(&shares));
            }
        }
        println!("| {} |", cells.join(" | "));
    }
}

fn share(case: &Case, algorithm: Algorithm, queue: Discipline, seed: u64) -> f64 {
    let scene = Scene {
        discipline: queue,
        service: Duration::from_millis(1),
        jitter: 3.0,
        duration: Duration::from_secs(200),
        warmup: Duration::from_secs(20),
        seed: Seed(seed),
    };
    let group = Group::new();
    let flows = (0..2 + case.beside).map(|i| {
        let (algorithm, rtt) =
            if i < 2 { (algorithm, case.own[i]) } else { (Algorithm::Reno, case.rtt) };
        let seed = Seed(seed).index(i as u64);
        let mut built = ControllerConfig::new(algorithm).build(Time::ZERO, PACKET_BYTES, seed);
        built.couple(&group);
        let mut flow = Flow::new(built, Duration::from_millis(rtt));
        flow.start = Time::from_millis(130 * i as u64);
        flow
    });
    let out = run(&scene, flows.collect());
    let packets =
        |flows: std::ops::Range<usize>| -> u64 { out.flows[flows].iter().map(|f| f.packets).sum() };
    packets(0..2) as f64 / packets(0..2 + case.beside) as f64
}
