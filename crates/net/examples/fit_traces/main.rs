//! What recorded traces are like, the generator fitted to them, and what it generates, beside
//! each other (docs/reference/traces.md).
//!
//! `cargo run --release -p airlane-net --example fit_traces -- MEDIUM SETS FILE...`
//!
//! Of the model in the source SETS sets are generated: a set has one trace for each recording, of
//! its length, of the seeds 1, 2, 3 and so on. With `fit:` before the medium the model is fitted
//! first and printed as the source has it; this takes minutes. Recordings of radios (`wifi-ac` and
//! those of WiGig) are CSV reports of iperf.

mod fine;
mod fit;
mod radio;
mod search;
mod table;

use std::time::{Duration, Instant};

use airlane_base::Seed;
use airlane_net::trace::{BIN, Model};
use airlane_net::{Medium, Shape, Trace};

fn main() {
    let mut args = std::env::args().skip(1);
    let usage = "usage: fit_traces [fit:]MEDIUM SETS FILE...";
    let word = args.next().expect(usage);
    let (fitting, word) = word.strip_prefix("fit:").map_or((false, &*word), |w| (true, w));
    let medium: Medium = word.parse().unwrap_or_else(|e| panic!("{e}"));
    let sets: usize = args.next().expect(usage).parse().expect("a number of sets");
    let files: Vec<String> = args.collect();
    assert!(sets > 0 && !files.is_empty(), "{usage}");
    let Model::Capacity(shipped) = medium.model() else {
        return radio::run(medium, fitting, sets, &files);
    };

    let recorded: Vec<Trace> =
        files.iter().map(|f| Trace::load(f).unwrap_or_else(|e| panic!("{e}"))).collect();
    if fitting {
        let model = fit::fit(medium, &recorded);
        println!("{}", fit::source(&model));
        println!("the source has this model: {}\n", *shipped == model);
    }
    compare(medium, sets, &recorded);
}

#[expect(clippy::disallowed_methods, reason = "a stopwatch")]
fn compare(medium: Medium, sets: usize, recorded: &[Trace]) {
    table::header();
    for trace in recorded {
        let file = trace.name().rsplit('/').next().unwrap_or_default();
        table::row(file, &Shape::of(std::slice::from_ref(trace)));
    }
    let real = Shape::of(recorded);
    table::row("**recorded, pool**", &real);
    // Five sets are kept as they are; of the rest the bins are enough.
    let (mut few, mut bins, mut took) = (Vec::new(), Vec::new(), Duration::ZERO);
    for i in 0..sets * recorded.len() {
        let length = recorded[i % recorded.len()].length();
        let start = Instant::now();
        let trace = Trace::synthetic(medium, Seed(i as u64 + 1), length);
        took += start.elapsed();
        let trace = trace.unwrap_or_else(|e| panic!("{e}"));
        bins.push(trace.means(BIN));
        if i < 5 * recorded.len() {
            few.push(trace);
        }
    }
    let pool = Shape::of_bins(&bins);
    table::row("**generated, pool**", &pool);
    let each: Vec<Shape> = bins.chunks(recorded.len()).map(Shape::of_bins).collect();
    table::row("generated sets, 5 %", &table::percentile(&each, 0.05));
    table::row("generated sets, 95 %", &table::percentile(&each, 0.95));
    let each: Vec<Shape> = bins.iter().map(|b| Shape::of_bins(std::slice::from_ref(b))).collect();
    for p in [0.05, 0.5, 0.95] {
        let name = format!("single generated traces, {:.0} %", p * 100.0);
        table::row(&name, &table::percentile(&each, p));
    }
    println!();
    table::verdicts(&real, &pool);
    println!();
    fine::compare(recorded, &few);
    fine::long_rows(recorded);
    let per_600_s = took.mul_f64(600.0 / (pool.length + BIN).as_secs_f64());
    println!("\ngenerated {} traces; {:.2} ms for 600 s", pool.traces, millis(per_600_s));
}

fn millis(t: Duration) -> f64 {
    t.as_secs_f64() * 1e3
}
