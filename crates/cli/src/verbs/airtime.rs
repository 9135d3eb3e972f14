//! `airlane airtime`: who used the air.

use std::io::Write;
use std::time::Duration;

use airlane_airtime::{AirtimeFormat, AirtimeRequest};
use airlane_sim::pool::{self, StopFlag};
use airlane_sim::{COMMIT, RunInfo, VERSION};

use super::laboratory::{host, listen, say};
use super::{command, print};
use crate::args::AirtimeArgs;
use crate::clock::Clock;
use crate::error::CommandError;
use crate::progress;

/// Says who used the air; the exit code.
pub(super) fn airtime(args: AirtimeArgs, clock: Clock) -> Result<u8, CommandError> {
    let stop = StopFlag::default();
    listen(&stop)?;
    let (quiet, format) = (args.quiet, args.format());
    let progress = progress::progress(quiet, clock);
    let elapsed = || clock.elapsed();
    let moment = |line: &str| {
        if !quiet {
            // A closed standard error is ignored.
            let _ = writeln!(std::io::stderr(), "{line}");
        }
    };
    let outcome = airlane_airtime::airtime(&AirtimeRequest {
        source: args.source,
        out: args.out,
        format,
        all: args.all,
        duration: args.duration.map(Duration::from_secs_f64),
        circumstances: RunInfo {
            airlane: VERSION.to_owned(),
            commit: COMMIT.to_owned(),
            host: host(),
            cpus: pool::available_cores(),
            date: clock.date(),
            command: command(),
            jobs: 1,
            ..RunInfo::default()
        },
        elapsed: &elapsed,
        progress: &*progress,
        say: &moment,
        stop,
    })?;
    if format == AirtimeFormat::Table {
        return say(&outcome, quiet);
    }
    // The standard output is for programs.
    print(&format!("{}\n", outcome.table.trim_end()))?;
    moment(&outcome.line);
    Ok(outcome.exit_code())
}
