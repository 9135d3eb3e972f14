//! Measures on real QUIC who gets what beside whom, and prints the tables "On QUIC" of
//! `docs/design/controllers.md`.
//!
//! `cargo run --release -p airlane-lab --example quic_equilibria -- [--seeds N] [--jobs N]
//! [--units LIST] [--weights LIST] [--rtts LIST] [TABLE...]`
//!
//! All but `long` without a name, with five seeds and one job if not said otherwise. `--units 4,10`
//! takes the place of a table's packets of bandwidth-delay product per unit of weight, `--weights
//! 3,0.5` of the rows of `ratios` and `long`, `--rtts 100` of the round trips in milliseconds of the
//! tables of weights. How far it is goes to the standard error.

mod links;
mod scene;
mod weights;

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};

use airlane_sim::pool::Progress;
use scene::{Runs, Scene};

/// How to measure.
pub struct Bench {
    seeds: u64,
    jobs: usize,
    /// Packets per unit of weight, where they are not the table's own.
    units: Option<Vec<f64>>,
    /// Weights, where they are not the table's own.
    weights: Option<Vec<f64>>,
    /// Round trips in milliseconds, where they are not the table's own.
    rtts: Option<Vec<f64>>,
}

impl Bench {
    /// Packets per unit of weight.
    fn units(&self, own: &[f64]) -> Vec<f64> {
        self.units.clone().unwrap_or_else(|| own.to_vec())
    }

    /// Round trips in milliseconds.
    fn rtts(&self, own: &[f64]) -> Vec<f64> {
        self.rtts.clone().unwrap_or_else(|| own.to_vec())
    }

    /// The outcomes of every scene under every seed.
    pub fn run(&self, scenes: &[Scene]) -> Vec<Runs> {
        scene::run_all(scenes, self.seeds, self.jobs, &Counter::default())
    }
}

/// Millions of packets on the standard error.
#[derive(Default)]
struct Counter {
    done: AtomicU64,
    all: AtomicU64,
}

impl Progress for Counter {
    fn begin(&self, _: &str, units: u64) {
        self.all.store(units, Ordering::Relaxed);
    }

    fn advance(&self, units: u64) {
        self.done.fetch_add(units, Ordering::Relaxed);
    }

    fn finished(&self, label: &str) {
        let millions = |n: &AtomicU64| n.load(Ordering::Relaxed) as f64 / 1e6;
        eprintln!("{:.1} of {:.1} M packets: {label}", millions(&self.done), millions(&self.all));
    }

    fn end(&self) {}
}

/// Prints a table.
type Table = fn(&Bench);

const TABLES: [(&str, Table); 9] = [
    ("ratios", weights::ratios),
    ("crowd", weights::crowd),
    ("changing", weights::changing),
    ("small", weights::small),
    ("variations", weights::variations),
    ("bbr", links::bbr),
    ("pie", links::pie),
    ("response", links::response),
    ("long", weights::long),
];

fn main() -> ExitCode {
    let mut bench = Bench { seeds: 5, jobs: 1, units: None, weights: None, rtts: None };
    let mut wanted = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        if let "--seeds" | "--jobs" = argument.as_str() {
            let given = arguments.next().and_then(|n| n.parse().ok());
            let Some(n) = given.filter(|&n: &u32| n > 0) else {
                eprintln!("{argument}: expected a number above zero");
                return ExitCode::from(2);
            };
            match argument.as_str() {
                "--seeds" => bench.seeds = n.into(),
                _ => bench.jobs = n as usize,
            }
        } else if let "--units" | "--weights" | "--rtts" = argument.as_str() {
            let given = arguments.next().unwrap_or_default();
            let list: Option<Vec<f64>> =
                given.split(',').map(|n| n.parse().ok().filter(|&n| n > 0.0)).collect();
            let Some(list) = list else {
                eprintln!("{argument}: expected numbers above zero, such as 4,10");
                return ExitCode::from(2);
            };
            match argument.as_str() {
                "--units" => bench.units = Some(list),
                "--rtts" => bench.rtts = Some(list),
                _ => bench.weights = Some(list),
            }
        } else if let Some(&(_, table)) = TABLES.iter().find(|(name, _)| *name == argument) {
            wanted.push(table);
        } else {
            let names = TABLES.map(|(name, _)| name).join(", ");
            eprintln!(
                "{argument}: no such table; one of {names}, or --seeds N, --jobs N, --units LIST, --weights LIST, --rtts LIST"
            );
            return ExitCode::from(2);
        }
    }
    if wanted.is_empty() {
        wanted.extend(TABLES.iter().filter(|(name, _)| *name != "long").map(|(_, table)| table));
    }
    for table in wanted {
        table(&bench);
    }
    ExitCode::SUCCESS
}

/// Prints the head of a table in Markdown.
fn header(title: &str, columns: &[String]) {
    println!("\n### {title}\n");
    println!("| {} |", columns.join(" | "));
    println!("|{}", "---|".repeat(columns.len()));
}
