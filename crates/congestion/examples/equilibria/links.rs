//! The tables of flows on a link of a given rate: BBR and FAST, alone and beside others.

use std::time::Duration;

use airlane_base::{Seed, Time};
use airlane_congestion::fast::KAPPA;
use airlane_congestion::{Algorithm, ControllerConfig};

use crate::harness::{AckPolicy, Discipline, Flow, Outcome, PACKET_BYTES, Scene, run};
use crate::tables::{header, mean, spread};

/// BBR alone, and beside Cubic.
pub fn bbr(seeds: u64) {
    let columns = ["Mbit/s", "RTT", "utilisation", "mean queue / RTT", "mean queue in packets"];
    header("BBR alone, droptail of 2 BDP", &columns.map(str::to_owned));
    for mbps in [6.0, 50.0] {
        for rtt_ms in [20, 50, 100] {
            let (mut used, mut queue, mut packets) = (Vec::new(), Vec::new(), Vec::new());
            for seed in 1..=seeds {
                let (scene, rtt) = link(mbps, rtt_ms, 2.0, 60.0, seed);
                let out = run(&scene, vec![flow(Algorithm::Bbr, rtt, seed)]);
                used.push(out.link.utilisation);
                queue.push(out.link.mean_queue_packets * scene.service.div_duration_f64(rtt));
                packets.push(out.link.mean_queue_packets);
            }
            println!(
                "| {mbps} | {rtt_ms} ms | {:.3} | {:.3} | {:.1} |",
                mean(&used),
                mean(&queue),
                mean(&packets)
            );
        }
    }
    beside_cubic(Algorithm::Bbr, &[0.5, 1.0, 1.5, 2.0, 4.0, 8.0, 16.0], seeds);
}

/// ABC behind its own queue: alone, and several together.
pub fn abc(seeds: u64) {
    let columns = ["Mbit/s", "RTT", "flows", "utilisation", "mean wait", "99 %", "Jain's index"];
    header("ABC behind an ABC queue", &columns.map(str::to_owned));
    for mbps in [1.0, 6.0, 24.0] {
        for rtt_ms in [20, 60, 100] {
            for flows in [1, 4] {
                let outs = (1..=seeds).map(|seed| {
                    let (mut scene, rtt) = link(mbps, rtt_ms, 1.0, 60.0, seed);
                    scene.discipline = Discipline::Abc(250);
                    scene.warmup = Duration::from_secs(10);
                    let flows = (0..flows).map(|i| {
                        let mut flow = flow(Algorithm::Abc, rtt, seed);
                        flow.acks = AckPolicy::EACH;
                        flow.start = Time::from_millis(500 * i);
                        flow
                    });
                    run(&scene, flows.collect())
                });
                let outs: Vec<Outcome> = outs.collect();
                let of =
                    |f: &dyn Fn(&Outcome) -> f64| mean(&outs.iter().map(f).collect::<Vec<_>>());
                println!(
                    "| {mbps} | {rtt_ms} ms | {flows} | {:.3} | {:.1} ms | {:.1} ms | {:.3} |",
                    of(&|o| o.link.utilisation),
                    of(&|o| o.link.mean_sojourn.as_secs_f64() * 1e3),
                    of(&|o| o.link.sojourn_quantile(0.99).as_secs_f64() * 1e3),
                    of(&jain),
                );
            }
        }
    }
}

/// Jain's index of what flows got.
pub(crate) fn jain(out: &Outcome) -> f64 {
    let sum = |power| out.flows.iter().map(|f| (f.packets as f64).powi(power)).sum();
    let (first, second): (f64, f64) = (sum(1), sum(2));
    first * first / (out.flows.len() as f64 * second)
}

/// What one flow gets of a link that it shares with one Cubic, by queue.
fn beside_cubic(algorithm: Algorithm, queues_bdp: &[f64], seeds: u64) {
    let name = algorithm.name().to_uppercase();
    let columns = ["queue".to_owned(), format!("{name}'s share")];
    header(&format!("one {name} beside one Cubic, 10 Mbit/s, 40 ms"), &columns);
    for &bdp in queues_bdp {
        let share = |seed| {
            let (scene, rtt) = link(10.0, 40, bdp, 180.0, seed);
            let flows = vec![flow(algorithm, rtt, seed), flow(Algorithm::Cubic, rtt, seed)];
            let out = run(&scene, flows);
            let packets = |i: usize| out.flows[i].packets as f64;
            packets(0) / (packets(0) + packets(1))
        };
        let shares: Vec<_> = (1..=seeds).map(share).collect();
        println!("| {bdp} BDP | {} |", spread(&shares));
    }
}

pub(crate) fn link(mbps: f64, rtt_ms: u64, bdp: f64, seconds: f64, seed: u64) -> (Scene, Duration) {
    let rtt = Duration::from_millis(rtt_ms);
    let service = Duration::from_secs_f64((PACKET_BYTES + 28) as f64 * 8.0 / (mbps * 1e6));
    let packets = rtt.as_secs_f64() / service.as_secs_f64() * bdp;
    let scene = Scene {
        discipline: Discipline::DropTail(packets.round().max(1.0) as usize),
        service,
        jitter: 1.0,
        duration: Duration::from_secs_f64(seconds),
        warmup: Duration::from_secs(5),
        seed: Seed(seed),
    };
    (scene, rtt)
}

pub(crate) fn flow(algorithm: Algorithm, rtt: Duration, seed: u64) -> Flow {
    let config = ControllerConfig::new(algorithm);
    Flow::new(config.build(Time::ZERO, PACKET_BYTES, Seed(seed)), rtt)
}

/// LEDBAT: what it keeps in the queue alone and by fours, and what is left of it beside Cubic.
pub fn ledbat(seeds: u64) {
    let columns = ["flows", "waiting", "in use", "Jain's index"];
    header("LEDBAT, 10 Mbit/s, 40 ms, queue of 8 BDP", &columns.map(str::to_owned));
    for n in [1, 4] {
        let outs = (1..=seeds).map(|seed| {
            let (mut scene, rtt) = link(10.0, 40, 8.0, 120.0, seed);
            scene.warmup = Duration::from_secs(60);
            run(&scene, (0..n).map(|_| flow(Algorithm::Ledbat, rtt, seed)).collect())
        });
        let outs: Vec<Outcome> = outs.collect();
        let of = |f: &dyn Fn(&Outcome) -> f64| mean(&outs.iter().map(f).collect::<Vec<_>>());
        let (scene, _) = link(10.0, 40, 8.0, 120.0, 1);
        println!(
            "| {n} | {:.0} ms | {:.3} | {:.3} |",
            of(&|o| o.link.mean_queue_packets * scene.service.as_secs_f64() * 1e3),
            of(&|o| o.link.utilisation),
            of(&jain),
        );
    }
    beside_cubic(Algorithm::Ledbat, &[0.5, 1.0, 2.0, 4.0, 8.0], seeds);
}

/// Weighted FAST: shares by weight, its queue, and what is left of it beside Cubic.
pub fn fast(seeds: u64) {
    let columns = ["weights", "queue", "share over the weight's", "waiting, of kappa w", "in use"];
    header("FAST, 10 Mbit/s, 40 ms, started a second apart", &columns.map(str::to_owned));
    for weights in [vec![2.0], vec![1.0; 4], vec![0.5, 1.0, 2.0, 4.0], vec![4.0, 2.0, 1.0, 0.5]] {
        for (name, pie) in [("droptail 2 BDP", false), ("PIE", true)] {
            let outs = (1..=seeds).map(|seed| {
                let (mut scene, rtt) = link(10.0, 40, 2.0, 120.0, seed);
                scene.warmup = Duration::from_secs(20);
                if pie {
                    scene.discipline = Discipline::Pie(1_000);
                }
                let flows = weights.iter().enumerate().map(|(i, &weight)| {
                    let config = ControllerConfig::Fast { weight };
                    let mut flow =
                        Flow::new(config.build(Time::ZERO, PACKET_BYTES, Seed(seed)), rtt);
                    flow.start = Time::from_millis(1_000 * i as u64);
                    flow
                });
                run(&scene, flows.collect())
            });
            let outs: Vec<Outcome> = outs.collect();
            let sum: f64 = weights.iter().sum();
            let shares = weights.iter().enumerate().map(|(i, w)| {
                let share = |out: &Outcome| {
                    let all: u64 = out.flows.iter().map(|f| f.packets).sum();
                    out.flows[i].packets as f64 / all as f64 * sum / w
                };
                format!("{:.2}", mean(&outs.iter().map(share).collect::<Vec<_>>()))
            });
            let shares: Vec<String> = shares.collect();
            let of = |f: fn(&Outcome) -> f64| mean(&outs.iter().map(f).collect::<Vec<_>>());
            println!(
                "| {weights:?} | {name} | {} | {:.1} of {:.1} | {:.3} |",
                shares.join(", "),
                of(|o| o.link.mean_queue_packets),
                KAPPA * sum,
                of(|o| o.link.utilisation),
            );
        }
    }
    beside_cubic(Algorithm::Fast, &[0.5, 1.0, 2.0, 4.0], seeds);
}
