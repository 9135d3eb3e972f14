//! The tables of BBR version 3, with version 1 beside it in each row.

use std::time::Duration;

use airlane_base::Time;
use airlane_congestion::Algorithm;

use crate::harness::{Outcome, run};
use crate::links::{flow, jain, link};
use crate::tables::{header, mean, spread};

const VERSIONS: [Algorithm; 2] = [Algorithm::Bbr3, Algorithm::Bbr];

/// Link and droptail queue of a scene, and when it measures.
#[derive(Clone, Copy)]
struct Setting {
    mbps: f64,
    rtt_ms: u64,
    queue_bdp: f64,
    seconds: f64,
    warmup: Duration,
    /// Time between the starts of flows.
    stagger: Duration,
}

impl Setting {
    fn new(mbps: f64, rtt_ms: u64, queue_bdp: f64) -> Self {
        let warmup = Duration::from_secs(5);
        Self { mbps, rtt_ms, queue_bdp, seconds: 60.0, warmup, stagger: Duration::ZERO }
    }

    fn outcomes(&self, algorithms: &[Algorithm], seeds: u64) -> Vec<Outcome> {
        let run_once = |seed| {
            let (mut scene, rtt) = link(self.mbps, self.rtt_ms, self.queue_bdp, self.seconds, seed);
            scene.warmup = self.warmup;
            let flows = algorithms.iter().enumerate().map(|(i, algorithm)| {
                let mut flow = flow(*algorithm, rtt, seed * 100 + i as u64);
                flow.start = Time::ZERO + self.stagger * i as u32;
                flow
            });
            run(&scene, flows.collect())
        };
        (1..=seeds).map(run_once).collect()
    }
}

fn of(outs: &[Outcome], figure: impl Fn(&Outcome) -> f64) -> f64 {
    mean(&outs.iter().map(figure).collect::<Vec<_>>())
}

/// Share of its packets that a flow lost.
fn lost(out: &Outcome, flow: usize) -> f64 {
    let flow = &out.flows[flow];
    flow.lost as f64 / (flow.lost + flow.packets).max(1) as f64
}

fn share(out: &Outcome) -> f64 {
    let packets = |i: usize| out.flows[i].packets as f64;
    packets(0) / (packets(0) + packets(1))
}

/// Time in the queue and on the link in round trips, at a quantile over the packets of all flows.
fn wait_rtts(out: &Outcome, rtt_ms: u64, quantile: f64) -> f64 {
    let wait = mean(&out.flows.iter().map(|f| f.wait_ms(quantile)).collect::<Vec<_>>());
    wait / rtt_ms as f64
}

/// A figure of both versions, in the order of [`VERSIONS`].
fn pair(outs: &[Vec<Outcome>; 2], figure: impl Fn(&Outcome) -> f64, decimals: usize) -> String {
    let [new, old] = outs;
    format!("{:.decimals$} | {:.decimals$}", of(new, &figure), of(old, &figure))
}

fn columns(first: &[&str], figures: &[&str]) -> Vec<String> {
    let first = first.iter().map(|name| (*name).to_owned());
    let pairs = figures.iter().flat_map(|name| [format!("{name}, v3"), "v1".to_owned()]);
    first.chain(pairs).collect()
}

/// Alone, in shallow queues, several together, and beside Cubic.
pub fn bbr3(seeds: u64) {
    alone(seeds);
    shallow(seeds);
    together(seeds);
    beside_cubic(seeds);
}

fn alone(seeds: u64) {
    let figures = ["utilisation", "median wait / RTT", "mean queue / RTT", "lost, %"];
    header("alone, droptail of 4 BDP", &columns(&["Mbit/s", "RTT"], &figures));
    for (mbps, rtt_ms) in LINKS {
        let outs = VERSIONS.map(|v| Setting::new(mbps, rtt_ms, 4.0).outcomes(&[v], seeds));
        let (scene, rtt) = link(mbps, rtt_ms, 4.0, 60.0, 1);
        let packet_rtts = scene.service.div_duration_f64(rtt);
        println!(
            "| {mbps} | {rtt_ms} ms | {} | {} | {} | {} |",
            pair(&outs, |o| o.link.utilisation, 3),
            pair(&outs, |o| wait_rtts(o, rtt_ms, 0.5), 2),
            pair(&outs, |o| o.link.mean_queue_packets * packet_rtts, 3),
            pair(&outs, |o| 100.0 * lost(o, 0), 2),
        );
    }
}

const LINKS: [(f64, u64); 8] = [
    (4.0, 10),
    (4.0, 40),
    (4.0, 100),
    (20.0, 10),
    (20.0, 40),
    (50.0, 100),
    (120.0, 10),
    (120.0, 100),
];

fn shallow(seeds: u64) {
    let figures = ["utilisation", "lost, %"];
    header("alone, shallow droptail", &columns(&["queue", "Mbit/s", "RTT"], &figures));
    for queue_bdp in [0.25, 0.5, 1.0] {
        for (mbps, rtt_ms) in [(20.0, 40), (50.0, 20), (50.0, 100)] {
            let setting = Setting::new(mbps, rtt_ms, queue_bdp);
            let outs = VERSIONS.map(|v| setting.outcomes(&[v], seeds));
            println!(
                "| {queue_bdp} BDP | {mbps} | {rtt_ms} ms | {} | {} |",
                pair(&outs, |o| o.link.utilisation, 3),
                pair(&outs, |o| 100.0 * lost(o, 0), 2),
            );
        }
    }
}

fn together(seeds: u64) {
    let figures = ["Jain's index", "utilisation", "median wait / RTT", "10 % / RTT", "lost, %"];
    let first = ["flows", "queue"];
    header("together, 20 Mbit/s, 40 ms, 5 s apart", &columns(&first, &figures));
    for flows in [2, 4] {
        for queue_bdp in [0.5, 1.0, 4.0] {
            let setting = Setting {
                seconds: 120.0,
                warmup: Duration::from_secs(40),
                stagger: Duration::from_secs(5),
                ..Setting::new(20.0, 40, queue_bdp)
            };
            let outs = VERSIONS.map(|v| setting.outcomes(&vec![v; flows], seeds));
            println!(
                "| {flows} | {queue_bdp} BDP | {} | {} | {} | {} | {} |",
                pair(&outs, jain, 3),
                pair(&outs, |o| o.link.utilisation, 3),
                pair(&outs, |o| wait_rtts(o, 40, 0.5), 2),
                pair(&outs, |o| wait_rtts(o, 40, 0.1), 2),
                pair(&outs, |o| 100.0 * lost(o, 0), 2),
            );
        }
    }
}

fn beside_cubic(seeds: u64) {
    let names =
        ["queue", "Mbit/s", "RTT", "share, v3", "v1", "utilisation, v3", "v1", "lost, %, v3", "v1"];
    header("one beside one Cubic", &names.map(str::to_owned));
    for (mbps, rtt_ms) in [(10.0, 40), (50.0, 40)] {
        for queue_bdp in [0.5, 1.0, 2.0, 4.0, 8.0, 16.0] {
            let setting = Setting {
                seconds: 180.0,
                warmup: Duration::from_secs(20),
                ..Setting::new(mbps, rtt_ms, queue_bdp)
            };
            let outs = VERSIONS.map(|v| setting.outcomes(&[v, Algorithm::Cubic], seeds));
            let shares = [0, 1].map(|i| spread(&outs[i].iter().map(share).collect::<Vec<_>>()));
            println!(
                "| {queue_bdp} BDP | {mbps} | {rtt_ms} ms | {} | {} | {} | {} |",
                shares[0],
                shares[1],
                pair(&outs, |o| o.link.utilisation, 3),
                pair(&outs, |o| 100.0 * lost(o, 0), 2),
            );
        }
    }
}
