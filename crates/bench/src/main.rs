//! The bench: every bar of speed and fidelity in one run, ours and the peers' in turn.
//!
//! `make bench`, or `airlane-bench [--only BAR]... [--out DIR] [--quick] [--rounds N] [--strict]`. It prints one
//! table, leaves it as `bench.md`, and leaves `bench.json`, rewritten after each bar: what is there
//! is complete for the bars that finished. A bar that cannot be measured here says why.

mod bar;
mod bars;
mod clock;
mod machine;
mod metrics;
mod noq_bulk;
mod ns3;
mod output;
mod process;
mod scene;
mod script;
mod title;

use std::path::PathBuf;
use std::process::ExitCode;

use airlane_base::InputError;
use airlane_sim::{COMMIT, OutFolder};
use clap::Parser;
use clap::builder::RangedU64ValueParser;
use serde::Serialize;

use crate::bar::{Bar, Problem, Setting};
use crate::output::{Circumstances, Row};

/// As the airlane command has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Measures what Airlane promises about speed and fidelity, and prints one table.
#[derive(Clone, Debug, Parser)]
#[command(name = "airlane-bench", version)]
struct Args {
    /// Measure this bar alone; may be given several times. `soak`, an hour, runs only if it is named.
    #[arg(long, value_name = "BAR")]
    only: Vec<String>,
    /// Folder for bench.json.
    #[arg(long, value_name = "DIR", default_value = "out/bench")]
    out: PathBuf,
    /// The project's folder.
    #[arg(long, value_name = "DIR", default_value = ".")]
    root: PathBuf,
    /// Few rounds and short runs: for a look, not for the record.
    #[arg(long)]
    quick: bool,
    /// Rounds of each measurement that has several, instead of its own number.
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=100))]
    rounds: Option<usize>,
    /// Exit with 1 if a bar misses or is skipped.
    #[arg(long)]
    strict: bool,
    /// Number of flows to run and to tell the cost of: the bench starts itself with it.
    #[arg(long, hide = true, requires = "child_seconds")]
    child_flows: Option<usize>,
    #[arg(long, hide = true)]
    child_seconds: Option<u32>,
    /// Number of them that are at work; the others are connected, and all but silent.
    #[arg(long, hide = true)]
    child_at_work: Option<usize>,
    /// Number of sessions to hold and to tell the cost of: the bench starts itself with it.
    #[arg(long, hide = true, requires = "child_seconds")]
    child_registry: Option<usize>,
    /// Serve by noq.
    #[arg(long, hide = true, value_enum)]
    child_noq: Option<bars::serve::peer::Windows>,
    /// Serve by noq's multipath at this address.
    #[arg(long, hide = true, value_name = "ADDR:PORT")]
    child_multipath: Option<std::net::SocketAddr>,
    /// Fetch from it: JSON.
    #[arg(long, hide = true, value_name = "JSON")]
    child_fetch: Option<bars::tunnel::peer::Fetch>,
}

fn main() -> ExitCode {
    let args = Args::parse();
    if let Some((flows, seconds)) = args.child_flows.zip(args.child_seconds) {
        let at_work = args.child_at_work.unwrap_or(flows);
        return print_json(bars::scale::child(flows, at_work, seconds.into()));
    }
    if let Some((sessions, seconds)) = args.child_registry.zip(args.child_seconds) {
        return print_json(bars::registry::child(sessions, seconds));
    }
    if let Some(windows) = args.child_noq {
        return ended(bars::serve::peer::child(windows));
    }
    if let Some(address) = args.child_multipath {
        return ended(bars::tunnel::peer::serve(address));
    }
    if let Some(wanted) = &args.child_fetch {
        return ended(bars::tunnel::peer::run(wanted));
    }
    match bench(&args) {
        Ok(rows) if args.strict && rows.iter().any(Row::is_open) => ExitCode::from(1),
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("airlane-bench: {error}");
            ExitCode::from(2)
        }
    }
}

fn bench(args: &Args) -> Result<Vec<Row>, InputError> {
    let bars = chosen(&args.only)?;
    let data = std::env::var_os("AIRLANE_DATA")
        .map_or_else(|| args.root.join("../shared/data"), PathBuf::from);
    let setting = Setting { quick: args.quick, rounds: args.rounds, root: args.root.clone(), data };
    let folder = OutFolder::prepare(&args.out)?;
    // Lest an old table pass for this run's, should it be stopped.
    folder.write("bench.md", b"")?;
    let circumstances = Circumstances {
        machine: machine::describe(),
        date: clock::date(),
        commit: COMMIT.to_owned(),
    };
    let mut rows = Vec::new();
    folder.write("bench.json", output::json(&rows).as_bytes())?;
    for (i, bar) in bars.iter().enumerate() {
        eprintln!("[{}/{}] {}: {}", i + 1, bars.len(), bar.name, bar.about);
        let watch = clock::Watch::start();
        rows.extend(circumstances.rows(bar.name, (bar.measure)(&setting)));
        eprintln!("      {:.0} s", watch.elapsed().as_secs_f64());
        folder.write("bench.json", output::json(&rows).as_bytes())?;
    }
    let page = output::page(&rows, &circumstances);
    folder.write("bench.md", page.as_bytes())?;
    print!("{page}");
    println!("{}; {}", output::tally(&rows), folder.path("bench.json").display());
    Ok(rows)
}

/// The bars of these names; if there are none, all but those that must be named.
fn chosen(names: &[String]) -> Result<Vec<Bar>, InputError> {
    if names.is_empty() {
        return Ok(bars::BARS.to_vec());
    }
    let all = || bars::BARS.iter().chain(bars::NAMED);
    let known = || all().map(|b| b.name).collect::<Vec<_>>().join(", ");
    if let Some(name) = names.iter().find(|n| all().all(|b| b.name != n.as_str())) {
        return Err(InputError::new(format!("no bar {name}"), format!("expected {}", known()))
            .at_key("--only"));
    }
    Ok(all().filter(|b| names.iter().any(|n| n == b.name)).copied().collect())
}

/// Prints what a child measured, for the bench that started it.
fn print_json<T: Serialize>(cost: Result<T, Problem>) -> ExitCode {
    match cost {
        Ok(cost) => {
            println!("{}", serde_json::to_string(&cost).expect("plain fields"));
            ExitCode::SUCCESS
        }
        Err(problem) => failed(&problem),
    }
}

fn ended(done: Result<(), Problem>) -> ExitCode {
    done.map_or_else(|problem| failed(&problem), |()| ExitCode::SUCCESS)
}

fn failed(problem: &Problem) -> ExitCode {
    eprintln!("{problem}");
    ExitCode::from(70)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(asked: &[&str]) -> Vec<&'static str> {
        let asked: Vec<String> = asked.iter().map(|&n| n.to_owned()).collect();
        chosen(&asked).expect("bars").iter().map(|b| b.name).collect()
    }

    #[test]
    fn bars_run_that_are_named_or_else_all_but_the_soak() {
        assert_eq!(names(&["soak", "speed"]), ["speed", "soak"]);
        let all = names(&[]);
        assert!(all.contains(&"speed") && all.contains(&"sessions"), "{all:?}");
        assert!(!all.contains(&"soak"), "{all:?}");
        let unknown = chosen(&["speed".to_owned(), "sock".to_owned()]).expect_err("no such bar");
        assert!(unknown.to_string().contains("no bar sock"), "{unknown}");
        assert!(unknown.to_string().contains("sessions, "), "{unknown}");
    }
}
