//! The airlane command: reads the command line, calls the laboratory, says how it went.

mod args;
#[cfg_attr(
    not(feature = "video"),
    expect(dead_code, reason = "results have a date, tunnels have none")
)]
mod clock;
mod error;
#[cfg(feature = "video")]
mod progress;
mod terminal;
mod verbs;

use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use airlane_base::printable_lines;
#[cfg(feature = "video")]
use airlane_sim::pool;
use clap::Parser;

use crate::clock::Clock;
use crate::error::{CommandError, FaultyRun};

/// Worlds allocate a packet here and free it there, on every core at once.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let clock = Clock::start();
    std::panic::set_hook(Box::new(|info| {
        // One inside a run comes back as an error that names the run: `main` prints that.
        #[cfg(feature = "video")]
        if pool::note_panic(info) {
            return;
        }
        print_fault(&panic_text(info), None);
    }));
    let cli = args::Cli::parse();
    // Nothing that the verb had is used after a panic.
    match catch_unwind(AssertUnwindSafe(|| verbs::dispatch(cli, clock))) {
        Ok(Ok(code)) => ExitCode::from(code),
        Ok(Err(error)) => {
            print_error(&error);
            ExitCode::from(error.exit_code())
        }
        // The hook has said what happened.
        Err(_) => ExitCode::from(70),
    }
}

/// Text of a panic, and its place in the source.
fn panic_text(info: &std::panic::PanicHookInfo<'_>) -> String {
    let what = info.payload_as_str().unwrap_or("a panic without words");
    match info.location() {
        Some(place) => format!("{what} at {}:{}", place.file(), place.line()),
        None => what.to_owned(),
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
    say(&format!("airlane: to see it again: {again} ({})", build()));
}

/// The version of this build, with its commit where the laboratory has noted it down.
fn build() -> String {
    let version = env!("CARGO_PKG_VERSION");
    #[cfg(feature = "video")]
    let version = format!("version {version}, commit {}", airlane_sim::COMMIT);
    #[cfg(not(feature = "video"))]
    let version = format!("version {version}");
    version
}

/// A line on the standard error; ignored if that is closed.
fn say(line: &str) {
    // A peer's words may be in it.
    let _ = writeln!(std::io::stderr(), "{}", printable_lines(line));
}
