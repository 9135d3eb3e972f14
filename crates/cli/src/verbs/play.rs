//! `airlane play`: players without a screen.

use airlane_base::printable;
use airlane_origin_daemon::play;

use super::{print, threads};
use crate::args::PlayArgs;
use crate::error::CommandError;

/// Plays until all sessions have ended; the exit code.
pub(super) fn play(args: &PlayArgs) -> Result<u8, CommandError> {
    crate::terminal::log(args.quiet);
    let runtime = threads()?;
    let request = args.request();
    let expected = request.sessions;
    let mut results = Vec::new();
    let mut printing = Ok(());
    let stop = async {
        // Where signals cannot be waited for, the first one ends the process.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    let played = runtime.block_on(play::play(request, stop, |result| {
        if printing.is_ok() {
            printing = print(&format!("{}\n", printable(&result.line())));
        }
        results.push(result);
    }));
    // Sessions that were stopped have sockets open: nobody waits for them.
    runtime.shutdown_background();
    printing?;
    played?;
    results.sort_by_key(|r| r.number);
    if let Some(file) = &args.dump {
        play::dump(file, &results)?;
    }
    Ok(match results {
        _ if results.len() < expected => 130,
        _ if results.iter().any(|r| r.failure.is_some()) => 1,
        _ => 0,
    })
}
