//! `airlane play`: players without a screen.

use airlane_base::InputError;
use airlane_daemon::DaemonError;
use airlane_daemon::play;
use airlane_lab::LabError;

use super::print;
use crate::args::PlayArgs;

/// Plays until all sessions have ended; the exit code.
pub(super) fn play(args: &PlayArgs) -> Result<u8, LabError> {
    crate::terminal::log(args.quiet);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|e| LabError::fault(format!("no threads to play on: {e}")))?;
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
            printing = print(&format!("{}\n", result.line()));
        }
        results.push(result);
    }));
    // Sessions that were stopped have sockets open: nobody waits for them.
    runtime.shutdown_background();
    printing?;
    played.map_err(|e| match e {
        DaemonError::Input(e) => LabError::from(e),
        other => InputError::new(other.to_string(), "").into(),
    })?;
    results.sort_by_key(|r| r.number);
    if let Some(file) = &args.dump {
        play::dump(file, &results).map_err(|e| InputError::new(e.to_string(), ""))?;
    }
    Ok(match results {
        _ if results.len() < expected => 130,
        _ if results.iter().any(|r| r.failure.is_some()) => 1,
        _ => 0,
    })
}
