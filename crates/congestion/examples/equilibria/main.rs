//! Measures who gets what beside whom, and prints the tables of `docs/design/controllers.md`.
//!
//! `cargo run --release -p airlane-congestion --example equilibria -- [--seeds N] [TABLE...]`
//!
//! Tables: ratios, long, textbook, crowd, changing, small, variations, bbr, fast, coupled, abc, cupid, ledbat, prague,
//! scream, bbr3; all of them if none is named. Five seeds if not said otherwise.

mod bbr3;
mod coupled;
mod cupid;
#[path = "../../tests/congestion/harness/mod.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod harness;
mod links;
mod prague;
mod scream;
mod tables;

use std::process::ExitCode;

/// Prints its tables, measured with so many seeds.
type Table = fn(u64);

const TABLES: [(&str, Table); 16] = [
    ("ratios", tables::ratios),
    ("long", tables::long),
    ("textbook", tables::textbook),
    ("crowd", tables::crowd),
    ("changing", tables::changing),
    ("small", tables::small),
    ("variations", tables::variations),
    ("bbr", links::bbr),
    ("fast", links::fast),
    ("coupled", coupled::coupled),
    ("abc", links::abc),
    ("cupid", cupid::cupid),
    ("ledbat", links::ledbat),
    ("prague", prague::prague),
    ("scream", scream::scream),
    ("bbr3", bbr3::bbr3),
];

fn main() -> ExitCode {
    let mut seeds = 5;
    let mut wanted = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        if argument == "--seeds" {
            let given = arguments.next().and_then(|n| n.parse().ok());
            let Some(n) = given.filter(|&n| n > 0) else {
                eprintln!("--seeds: expected a number above zero");
                return ExitCode::from(2);
            };
            seeds = n;
        } else if let Some(&(_, table)) = TABLES.iter().find(|(name, _)| *name == argument) {
            wanted.push(table);
        } else {
            let names = TABLES.map(|(name, _)| name).join(", ");
            eprintln!("{argument}: no such table; one of {names}, or --seeds N");
            return ExitCode::from(2);
        }
    }
    if wanted.is_empty() {
        wanted.extend(TABLES.map(|(_, table)| table));
    }
    for table in wanted {
        table(seeds);
    }
    ExitCode::SUCCESS
}
