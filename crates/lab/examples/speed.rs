//! How fast a scenario runs: virtual time over wall time, packets per second.
//!
//! `cargo run --release -p airlane-lab --example speed -- scenarios/four-viewers.toml [CONTENT]`

use std::path::PathBuf;
use std::time::Instant;

use airlane_lab::workloads::{bulk, vod};
use airlane_scenario::Scenario;
use airlane_sim::Common;
use airlane_sim::plan::Plan;
use airlane_sim::pool::{self, Job, StopFlag};
use airlane_sim::workload::Caches;
use airlane_sim::world::{self, Options};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[expect(clippy::disallowed_methods, reason = "a stopwatch")]
fn main() {
    let mut args = std::env::args().skip(1);
    let file = PathBuf::from(args.next().expect("a scenario"));
    let content = args.next().filter(|a| a != "-").map(PathBuf::from);
    let set: Vec<String> = args.collect();
    let scenario = Scenario::from_file(airlane_lab::registry().scenarios(), &file, &set)
        .unwrap_or_else(|e| panic!("{e}"));
    let stop = StopFlag::default();
    let start = Instant::now();
    let common = Common { seed: Some(1), content, stop: stop.clone(), ..Common::default() };
    let plan = Plan::new(scenario, &common).unwrap_or_else(|e| panic!("{e}"));
    let caches = Caches::of_plan(&plan).unwrap_or_else(|e| panic!("{e}"));
    println!("prepared in {:.2} s", start.elapsed().as_secs_f64());
    let mut jobs = Vec::new();
    for key in plan.runs() {
        let (plan, caches) = (&plan, &caches);
        jobs.push(Job {
            label: plan.label(key),
            seed: key.seed,
            command: String::new(),
            units: 1,
            work: Box::new(move |ticket| {
                let t = Instant::now();
                let out = world::run(plan, caches, key, &Options::default(), ticket)?;
                Ok((plan.label(key), t.elapsed().as_secs_f64(), out))
            }),
        });
    }
    let done = pool::run(jobs, 1, "runs", &stop, &());
    if let Some(e) = done.error {
        panic!("{e}");
    }
    for (label, wall, out) in done.results.into_iter().flatten() {
        let v = plan.scenario.duration.as_secs_f64();
        println!(
            "{label}: {wall:.2} s wall, {:.0}x real time, {} packets, {:.0} packets/s, hash {:016x}, link {:.3}, queue {:.1} packets",
            v / wall,
            out.packets,
            out.packets as f64 / wall,
            out.packet_hash.unwrap_or_default(),
            out.bottleneck().map_or(0.0, |way| way.report.utilisation),
            out.bottleneck().map_or(0.0, |way| way.report.mean_queue_packets),
        );
        for viewer in vod::Output::of(&out) {
            let m = &viewer.model;
            println!(
                "  {} {}: qoe {:?}, vmaf {:?}, stalled {:.2} s, startup {:?}, chunks {}, updates {}, last weight {:?} {}",
                viewer.name,
                m.setting().video().name,
                m.session_qoe(plan.scenario.duration),
                m.totals().mean_quality(),
                m.totals().rebuffer_s(),
                m.startup(),
                m.chunks().len(),
                viewer.updates.len(),
                viewer.updates.last().map(|u| u.weight),
                viewer.failure.as_deref().unwrap_or("")
            );
        }
        for b in bulk::Output::of(&out) {
            println!(
                "  {}: {:.3} Mbit/s {}",
                b.name,
                b.bytes as f64 * 8.0 / (b.end - b.start).as_secs_f64() / 1e6,
                b.failure.as_deref().unwrap_or("")
            );
        }
    }
}
