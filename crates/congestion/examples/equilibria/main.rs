//! Measures who gets what beside whom, and prints the tables of `docs/controllers.md`.
//!
//! `cargo run --release -p airlane-congestion --example equilibria -- [--quick] [TABLE...]`
//!
//! Tables: ratios, long, textbook, crowd, changing, small, variations, bbr. `--quick` takes two
//! seeds and a third of the time.

#[path = "../../tests/harness/mod.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod harness;
mod tables;

use std::process::ExitCode;

/// How much to measure.
#[derive(Clone, Copy)]
pub struct Effort {
    /// Seeds per cell.
    pub seeds: u64,
    /// Share of the full duration.
    pub time: f64,
}

type Table = fn(Effort);

const TABLES: [(&str, Table); 8] = [
    ("ratios", tables::ratios),
    ("long", tables::long),
    ("textbook", tables::textbook),
    ("crowd", tables::crowd),
    ("changing", tables::changing),
    ("small", tables::small),
    ("variations", tables::variations),
    ("bbr", tables::bbr),
];

fn main() -> ExitCode {
    let mut effort = Effort { seeds: 5, time: 1.0 };
    let mut wanted = Vec::new();
    for argument in std::env::args().skip(1) {
        if argument == "--quick" {
            effort = Effort { seeds: 2, time: 0.34 };
        } else if let Some(&(_, table)) = TABLES.iter().find(|(name, _)| *name == argument) {
            wanted.push(table);
        } else {
            let names = TABLES.map(|(name, _)| name).join(", ");
            eprintln!("{argument}: no such table; one of {names}, or --quick");
            return ExitCode::from(2);
        }
    }
    if wanted.is_empty() {
        wanted.extend(TABLES.map(|(_, table)| table));
    }
    for table in wanted {
        table(effort);
    }
    ExitCode::SUCCESS
}
