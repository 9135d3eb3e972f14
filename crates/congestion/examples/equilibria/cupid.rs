//! The tables of Cupid: on the air that its receivers measure, beside others there, and on a wire that
//! carries less than the air.

use std::time::Duration;

use airlane_base::{Rate, Seed, Time};
use airlane_congestion::{Algorithm, ControllerConfig, Fallback};
use airlane_cupid::RuleKind;

use crate::harness::{Air, Discipline, Flow, Outcome, PACKET_BYTES, Scene, run};
use crate::links::jain;
use crate::tables::{header, mean, spread};

/// What eta is by default.
const ETA: f64 = 0.8;

fn service(mbps: f64) -> Duration {
    Duration::from_secs_f64((PACKET_BYTES + 28) as f64 * 8.0 / (mbps * 1e6))
}

fn scene(mbps: f64, rtt: Duration, bdp: f64, seconds: u64, seed: u64) -> Scene {
    let service = service(mbps);
    Scene {
        discipline: Discipline::DropTail((rtt.div_duration_f64(service) * bdp).ceil() as usize),
        service,
        jitter: 1.0,
        duration: Duration::from_secs(seconds),
        warmup: Duration::from_secs(5),
        seed: Seed(seed),
    }
}

/// `count` Cupid flows whose receivers measure an air of so many Mbit/s of IP packets, and others.
fn flows(
    (count, fallback, air): (usize, Fallback, Air),
    others: usize,
    rtt: Duration,
    seed: u64,
) -> Vec<Flow> {
    let flow = |i: usize| {
        let config = match i < count {
            true => ControllerConfig::Cupid { fallback, weight: 1.0 },
            false => ControllerConfig::new(Algorithm::Cubic),
        };
        let mut flow = Flow::new(config.build(Time::ZERO, PACKET_BYTES, Seed(seed)), rtt);
        flow.reports = (i < count).then(|| air.reports(i, Seed(seed)));
        flow.start = Time::from_millis(300 * i as u64);
        flow
    };
    (0..count + others).map(flow).collect()
}

fn air(mbps: f64, kind: RuleKind, loss: f64) -> Air {
    Air { loss, ..Air::new(Rate::of(PACKET_BYTES, service(mbps)), kind) }
}

/// All three tables.
pub fn cupid(seeds: u64) {
    alone(seeds);
    beside(seeds);
    elsewhere(seeds);
}

fn alone(seeds: u64) {
    let columns = [
        "Mbit/s",
        "RTT",
        "flows",
        "rule",
        "reports lost",
        "utilisation",
        "mean wait",
        "99 %",
        "Jain's index",
    ];
    header("Cupid on the air, utilisation wanted 0.8", &columns.map(str::to_owned));
    let cells = [20.0, 100.0].into_iter().flat_map(|mbps| {
        [20, 60].into_iter().flat_map(move |rtt_ms| [1, 4].map(|count| (mbps, rtt_ms, count)))
    });
    for (mbps, rtt_ms, count) in cells {
        let rtt = Duration::from_millis(rtt_ms);
        for (kind, loss) in
            [(RuleKind::Paper, 0.0), (RuleKind::Default, 0.0), (RuleKind::Default, 0.3)]
        {
            let outs: Vec<Outcome> = (1..=seeds)
                .map(|seed| {
                    let cupid = (count, Fallback::Cubic, air(mbps, kind, loss));
                    run(&scene(mbps, rtt, 4.0, 30, seed), flows(cupid, 0, rtt, seed))
                })
                .collect();
            let of = |f: &dyn Fn(&Outcome) -> f64| mean(&outs.iter().map(f).collect::<Vec<_>>());
            println!(
                "| {mbps} | {rtt_ms} ms | {count} | {} | {loss} | {:.3} | {:.2} ms | {:.1} ms | {:.3} |",
                kind.name(),
                of(&|o| o.link.utilisation),
                of(&|o| o.link.mean_sojourn.as_secs_f64() * 1e3),
                of(&|o| o.link.sojourn_quantile(0.99).as_secs_f64() * 1e3),
                of(&jain),
            );
        }
    }
}

fn beside(seeds: u64) {
    let columns =
        ["queue", "Cupid flows", "Cubic flows", "a Cupid flow's part of the air", "wanted, eta/N"];
    header("Cupid beside Cubic on the air, 50 Mbit/s, 20 ms", &columns.map(str::to_owned));
    let rtt = Duration::from_millis(20);
    for bdp in [1.0, 4.0] {
        for (count, others) in [(1, 1), (1, 3), (3, 1)] {
            let parts: Vec<f64> = (1..=seeds)
                .map(|seed| {
                    let cupid = (count, Fallback::Cubic, air(50.0, RuleKind::Default, 0.0));
                    let scene = scene(50.0, rtt, bdp, 60, seed);
                    let out = run(&scene, flows(cupid, others, rtt, seed));
                    let own: u64 = out.flows[..count].iter().map(|f| f.packets).sum();
                    let span = (scene.duration - scene.warmup).div_duration_f64(scene.service);
                    own as f64 / count as f64 / span
                })
                .collect();
            let wanted = ETA / (count + others) as f64;
            println!("| {bdp} BDP | {count} | {others} | {} | {wanted:.2} |", spread(&parts));
        }
    }
}

fn elsewhere(seeds: u64) {
    let columns = [
        "fallback",
        "queue",
        "in use alone",
        "the fallback by itself",
        "share beside Cubic",
        "the fallback's",
    ];
    let title = "Cupid on a wire of 20 Mbit/s, 20 ms, whose air carries 200";
    header(title, &columns.map(str::to_owned));
    let rtt = Duration::from_millis(20);
    for (fallback, algorithm) in
        [(Fallback::Cubic, Algorithm::Cubic), (Fallback::Bbr, Algorithm::Bbr)]
    {
        for bdp in [1.0, 2.0, 4.0] {
            let of = |others: usize, is_cupid: bool| {
                let outs = (1..=seeds).map(|seed| {
                    let cupid = (1, fallback, air(200.0, RuleKind::Default, 0.0));
                    let mut all = flows(cupid, others, rtt, seed);
                    if !is_cupid {
                        let config = ControllerConfig::new(algorithm);
                        all[0] = Flow::new(config.build(Time::ZERO, PACKET_BYTES, Seed(seed)), rtt);
                    }
                    run(&scene(20.0, rtt, bdp, 60, seed), all)
                });
                outs.collect::<Vec<_>>()
            };
            let used = |outs: &[Outcome]| {
                mean(&outs.iter().map(|o| o.link.utilisation).collect::<Vec<_>>())
            };
            let share = |outs: &[Outcome]| {
                let share = |out: &Outcome| {
                    let all: u64 = out.flows.iter().map(|f| f.packets).sum();
                    out.flows[0].packets as f64 / all as f64
                };
                spread(&outs.iter().map(share).collect::<Vec<_>>())
            };
            println!(
                "| {algorithm} | {bdp} BDP | {:.3} | {:.3} | {} | {} |",
                used(&of(0, true)),
                used(&of(0, false)),
                share(&of(1, true)),
                share(&of(1, false)),
            );
        }
    }
}
