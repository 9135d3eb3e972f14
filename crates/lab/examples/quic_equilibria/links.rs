//! Tables of BBR, of PIE's delay and of response functions.

use crate::scene::{Flow, Queue, Runs, Scene, spread};
use crate::{Bench, header};

/// BBR alone, and beside Cubic.
pub fn bbr(bench: &Bench) {
    alone(bench);
    beside_cubic(bench);
}

fn alone(bench: &Bench) {
    let columns = ["Mbit/s", "RTT", "utilisation", "mean queue / RTT", "mean queue in packets"];
    header("BBR alone, droptail of 2 BDP, 5 to 60 s", &columns.map(str::to_owned));
    let links = [6.0, 50.0].map(|mbps| [20.0, 50.0, 100.0].map(|rtt| (mbps, rtt)));
    let scene = |&(mbps, rtt): &(f64, f64)| Scene {
        settle: 5.0,
        ..Scene::new(vec![Flow::of("bbr")], mbps * 1e6, rtt, Queue::Bdp(2.0))
    };
    let scenes: Vec<Scene> = links.as_flattened().iter().map(scene).collect();
    for (runs, (mbps, rtt)) in bench.run(&scenes).iter().zip(links.as_flattened()) {
        println!(
            "| {mbps} | {rtt} ms | {:.3} | {:.3} | {:.1} |",
            runs.mean(|o| o.link.utilisation),
            runs.mean(|o| o.link.mean_sojourn.as_secs_f64() * 1e3 / rtt),
            runs.mean(|o| o.link.mean_queue_packets),
        );
    }
}

fn beside_cubic(bench: &Bench) {
    let columns = ["queue", "BBR's share"];
    let title = "one BBR beside one Cubic, 10 Mbit/s, 40 ms, 120 s, the first 20 left out";
    header(title, &columns.map(str::to_owned));
    let queues = [0.5, 1.0, 1.5, 2.0, 4.0, 8.0];
    let scene = |bdp| Scene {
        seconds: 120.0,
        settle: 20.0,
        ..Scene::new(vec![Flow::of("bbr"), Flow::of("cubic")], 10e6, 40.0, Queue::Bdp(bdp))
    };
    let runs = bench.run(&queues.map(scene));
    for (bdp, runs) in queues.iter().zip(runs) {
        println!("| {bdp} BDP | {} |", spread(&runs.each(|o| o.share(1))));
    }
}

/// The delay that PIE keeps.
pub fn pie(bench: &Bench) {
    let columns = ["flows", "Reno: mean delay, 95 %, utilisation", "Cubic"];
    header("PIE, 100 Mbit/s, 50 ms, 10 to 40 s", &columns.map(str::to_owned));
    let (counts, kinds) = ([5, 20, 50], ["reno", "cubic"]);
    let scene = |count: usize, kind| Scene {
        seconds: 40.0,
        ..Scene::new(vec![Flow::of(kind); count], 100e6, 50.0, Queue::Pie)
    };
    let scenes: Vec<Scene> =
        counts.iter().flat_map(|&count| kinds.map(|kind| scene(count, kind))).collect();
    let runs = bench.run(&scenes);
    for (count, runs) in counts.iter().zip(runs.chunks(kinds.len())) {
        let cell = |r: &Runs| {
            format!(
                "{:.1} ms, {:.1} ms, {:.3}",
                r.mean(|o| o.link.mean_sojourn.as_secs_f64() * 1e3),
                r.mean(|o| o.link.sojourn_quantile(0.95).as_secs_f64() * 1e3),
                r.mean(|o| o.link.utilisation)
            )
        };
        let cells: Vec<String> = runs.iter().map(cell).collect();
        println!("| {count} | {} |", cells.join(" | "));
    }
}

/// Expected mean window in packets at a loss rate and a round trip in seconds.
type Response = fn(f64, f64) -> f64;

/// Mean window of Reno with deterministic loss (RFC 9438, section 5.2, after RFC 3649).
fn reno(p: f64, _: f64) -> f64 {
    (1.5 / p).sqrt()
}

/// RFC 9438, equation 5 with C = 0.4 and beta = 0.7, and Reno's in the Reno-friendly region.
fn cubic(p: f64, rtt_s: f64) -> f64 {
    let curve = (0.4 * 3.7 / 1.2f64).powf(0.25) * rtt_s.powf(0.75) / p.powf(0.75);
    curve.max(reno(p, rtt_s))
}

/// Every 1/p-th packet is lost: mean packets in flight over sixteen losses.
pub fn response(bench: &Bench) {
    let losses = [1e-3, 1e-4, 1e-5];
    let mut columns = vec!["flow".to_owned()];
    columns.extend(losses.map(|p| format!("p = {p:e}")));
    header("every 1/p-th packet lost: expected packets in flight x measured", &columns);
    let kinds: [(&str, Response); 2] = [("reno", reno), ("cubic", cubic)];
    let rows = kinds.map(|kind| [100.0, 200.0].map(|rtt| (kind, rtt)));
    let scene = |(kind, expected): (&'static str, Response), rtt: f64, p: f64| {
        let window = expected(p, rtt / 1e3);
        let cycle_s = window.recip() / p * rtt / 1e3;
        // A loss is seen a round trip after its packet left, when slow start has doubled the
        // window: to about the expected one.
        let loss = Some(((1.0 / p).round() as u64, window as u64));
        // With periodic losses the curve's fixed point is neutrally stable: a window off by d
        // comes back by about d^3 per loss. More cycles where they are cheap.
        let cycles = if p > 5e-5 { 60.0 } else { 24.0 };
        Scene {
            seconds: cycles * cycle_s,
            settle: (cycles - 16.0) * cycle_s,
            loss,
            jitter: 0.0,
            ..Scene::new(vec![Flow::of(kind)], 10e9, rtt, Queue::Endless)
        }
    };
    let rows = rows.as_flattened();
    let scenes: Vec<Scene> =
        rows.iter().flat_map(|&(kind, rtt)| losses.map(|p| scene(kind, rtt, p))).collect();
    // Nothing is random in it.
    let one = Bench { seeds: 1, jobs: bench.jobs, units: None, weights: None, rtts: None };
    let runs = one.run(&scenes);
    for (((kind, expected), rtt), runs) in rows.iter().zip(runs.chunks(losses.len())) {
        let cell = |(p, r): (&f64, &Runs)| {
            let want = expected(*p, rtt / 1e3);
            format!("{want:.1} x {:.3}", r.mean(|o| o.flows[0].window()) / want)
        };
        let cells: Vec<String> = losses.iter().zip(runs).map(cell).collect();
        println!("| {kind}, {rtt} ms | {} |", cells.join(" | "));
    }
}
