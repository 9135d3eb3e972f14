//! The airlane command: reads the command line, calls the laboratory, says how it went.

mod args;
mod clock;
mod error;
mod terminal;
mod verbs;

use std::io::Write;
use std::process::ExitCode;

use airlane_base::printable_lines;
use airlane_lab::summary::{COMMIT, VERSION};
use airlane_lab::{FaultyRun, pool};
use clap::Parser;

use crate::clock::Clock;
use crate::error::CommandError;

/// Worlds allocate a packet here and free it there, on every core at once.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let clock = Clock::start();
    std::panic::set_hook(Box::new(|info| {
        // One inside a run comes back as an error that names the run: `main` prints that.
        if !pool::note_panic(info) {
            print_fault(&pool::describe_panic(info), None);
        }
    }));
    let cli = args::Cli::parse();
    match std::panic::catch_unwind(|| verbs::dispatch(cli, clock)) {
        Ok(Ok(code)) => ExitCode::from(code),
        Ok(Err(error)) => {
            print_error(&error);
            ExitCode::from(error.exit_code())
        }
        // The hook has said what happened.
        Err(_) => ExitCode::from(70),
    }
}

fn print_error(error: &CommandError) {
    match error {
        CommandError::Fault(fault) => print_fault(&fault.what, fault.run.as_ref()),
        other => say(&format!("airlane: {other}")),
    }
}

/// Says that a fault is ours and how to see it again.
fn print_fault(what: &str, run: Option<&FaultyRun>) {
    say(&format!("airlane: this is a fault of Airlane, not of your input: {what}"));
    if let Some(run) = run {
        say(&format!("airlane: in {}", run.label));
    }
    let again = run.map_or_else(|| verbs::command().join(" "), |run| run.command.clone());
    say(&format!("airlane: to see it again: {again} (version {VERSION}, commit {COMMIT})"));
}

/// A line on the standard error; ignored if that is closed.
fn say(line: &str) {
    // A peer's words may be in it.
    let _ = writeln!(std::io::stderr(), "{}", printable_lines(line));
}
